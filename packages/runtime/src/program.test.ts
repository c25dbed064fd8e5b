import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, it } from "vitest";

const PROGRAM = new URL("./program.ts", import.meta.url).href;
const children = new Set<ChildProcess>();

afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
});

/** A real service whose start is `body`; resolves with what it said and how it ended. `signal` is sent once it says "up". */
async function service(body: string, env: Record<string, string>, signal?: NodeJS.Signals) {
  const script = `
    import { runProgram } from ${JSON.stringify(PROGRAM)};
    await runProgram({ name: "gateway", service: "gateway", async start({ settings, log, telemetry, life }) { ${body} } });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    env: { PATH: process.env.PATH, ...env },
  });
  children.add(child);
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => {
    said.out += chunk.toString();
    if (signal !== undefined && chunk.includes("up\n")) child.kill(signal);
  });
  child.stderr.on("data", (chunk: Buffer) => {
    said.err += chunk.toString();
  });
  const [code] = await once(child, "close");
  return { code: code as number, ...said };
}

it("a service with settings that cannot be used says which, starts nothing and ends with 2", async () => {
  const { code, out, err } = await service(`process.stdout.write("started")`, {
    HOLDFAST_PORT: "x",
    HOLDFAST_TYPO: "1",
  });
  expect(code).toBe(2);
  expect(err).toMatch(/HOLDFAST_PORT is not a whole number\n.*HOLDFAST_TYPO is not a setting\n$/);
  expect(out).toBe("");
});

it("a service lives until a signal ends it, its lines name their trace, and telemetry is served until then", async () => {
  const body = `
    life.closing("server", () => process.stdout.write("server closed\\n"));
    const timer = setInterval(() => undefined, 1_000);
    const scrape = await fetch("http://127.0.0.1:" + telemetry.metricsPort + "/metrics");
    telemetry.span("holdfast.session.park", {}, () => log.info("ready", { status: String(scrape.status), port: settings.port }));
    process.stdout.write("up\\n");`;
  const env = { HOLDFAST_METRICS_PORT: "0", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:9/v1/traces" };
  const { code, out } = await service(body, env, "SIGTERM");
  expect(code).toBe(0);
  expect(out).toContain("server closed");
  const line = out.split("\n").find((text) => text.includes('"event":"ready"'));
  expect(JSON.parse(line ?? "")).toMatchObject({
    service: "gateway",
    status: "200",
    port: 7420,
    trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
  });
});

it("a service that cannot start says why, closes what it had begun and ends with 1", async () => {
  const { code, out } = await service(
    `life.closing("server", () => process.stdout.write("server closed\\n")); throw new Error("port 7420 is taken");`,
    {},
  );
  expect(code).toBe(1);
  expect(out).toContain("port 7420 is taken");
  expect(out).toContain("server closed");
});
