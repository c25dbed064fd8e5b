import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { LOG_EVENTS } from "./events.ts";
import { createLog, type LogOptions } from "./log.ts";

function written(options: Partial<LogOptions> = {}): { log: ReturnType<typeof createLog>; lines: () => string[] } {
  const chunks: string[] = [];
  const destination = { write: (chunk: string) => void chunks.push(chunk) };
  return {
    log: createLog({ service: "runner", destination, ...options }),
    lines: () =>
      chunks
        .join("")
        .split("\n")
        .filter((line) => line !== ""),
  };
}

describe("a line", () => {
  it("is one JSON object with time, level, service, event and its fields", () => {
    const { log, lines } = written({ version: "1.2.3" });
    log.info("evict", { session: "s-1", reason: "idle_ttl" }, "the idle session ended");
    expect(lines()).toHaveLength(1);
    expect(JSON.parse(lines()[0] ?? "")).toEqual({
      level: "info",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      service: "runner",
      version: "1.2.3",
      event: "evict",
      session: "s-1",
      reason: "idle_ttl",
      msg: "the idle session ended",
    });
  });

  it("carries the fields of the log it was written through", () => {
    const { log, lines } = written();
    log.with({ project: "p", session: "s" }).with({ turn: "t" }).warn("stop");
    expect(JSON.parse(lines()[0] ?? "")).toMatchObject({
      level: "warn",
      project: "p",
      session: "s",
      turn: "t",
      event: "stop",
    });
  });

  it("names its trace while there is one", () => {
    let trace: { trace_id: string; span_id: string } | null = { trace_id: "abc", span_id: "def" };
    const { log, lines } = written({ trace: () => trace });
    log.info("park");
    trace = null;
    log.info("park");
    expect(JSON.parse(lines()[0] ?? "")).toMatchObject({ trace_id: "abc", span_id: "def" });
    expect(JSON.parse(lines()[1] ?? "")).not.toHaveProperty("trace_id");
  });

  it("tells what was thrown and its cause, without what looks like a secret", () => {
    const { log, lines } = written();
    log.error("crash", { error: new TypeError("refused token=abcdef1", { cause: new Error("sk-abcdefghijkl") }) });
    log.error("crash", { error: "Bearer abcdefghijk" });
    expect(JSON.parse(lines()[0] ?? "").error).toMatchObject({
      name: "TypeError",
      message: "refused token=[redacted]",
      cause: { message: "[redacted]" },
    });
    expect(lines().join()).not.toMatch(/abcdef1|abcdefghijkl|abcdefghijk/);
  });

  it("is not written below the level", () => {
    const { log, lines } = written({ level: "warn" });
    log.info("ready");
    log.warn("drain");
    expect(lines()).toHaveLength(1);
  });
});

it("for people a line is not JSON, and still tells event and fields", () => {
  const { log, lines } = written({ format: "pretty" });
  log.info("listening", { address: "127.0.0.1", port: 7420 }, "ready to serve");
  expect(lines()[0]).toContain("runner listening ready to serve");
  expect(lines().join("\n")).toContain("7420");
});

it("no two events have the same name", () => {
  expect(new Set(LOG_EVENTS).size).toBe(LOG_EVENTS.length);
});

describe("a process that ends right after its last line", () => {
  const url = new URL("./log.ts", import.meta.url).href;
  it.each(["json", "pretty"])("has written it (%s)", async (format) => {
    const script = `import { createLog } from ${JSON.stringify(url)};
      const log = createLog({ service: "local", format: ${JSON.stringify(format)} });
      for (let i = 0; i < 2_000; i++) log.info("ready", { count: i });
      log.flush();
      process.exit(0);`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
    expect(stdout).toContain("1999");
  });
});
