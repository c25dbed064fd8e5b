import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";

const PROCESS = new URL("./process.ts", import.meta.url).href;
const LOG = new URL("./log/log.ts", import.meta.url).href;
const children = new Set<ChildProcess>();

afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
});

/** A real process that supervises itself, runs `body`, and says "up" when it has. */
async function processWith(
  body: string,
): Promise<{ child: ChildProcess; ended: Promise<{ code: number; out: string }> }> {
  const script = `
    import { createLog } from ${JSON.stringify(LOG)};
    import { superviseProcess } from ${JSON.stringify(PROCESS)};
    const life = superviseProcess(createLog({ service: "test" }));
    setInterval(() => undefined, 1_000);
    const say = (text) => process.stdout.write(text + "\\n");
    ${body}
    say("up");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.add(child);
  let out = "";
  const up = Promise.withResolvers<void>();
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
    if (out.includes("up\n")) up.resolve();
  });
  const ended = once(child, "close").then(([code]) => ({ code: code as number, out }));
  await Promise.race([up.promise, ended]);
  return { child, ended };
}

describe("the first signal", () => {
  it.each(["SIGINT", "SIGTERM"] as const)("%s runs the closers in reverse and ends with 0", async (signal) => {
    const { child, ended } = await processWith(`
      life.closing("first", () => say("first closed"));
      life.closing("second", async () => { await null; say("second closed"); });
      life.ending.addEventListener("abort", () => say("ending " + life.ending.reason));`);
    child.kill(signal);
    const { code, out } = await ended;
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`ending ${signal}[\\s\\S]*second closed[\\s\\S]*first closed`));
    expect(out).toContain('"event":"closed"');
  });

  it("is not kept from the other closers by one that hangs or fails, and the code says that one did", async () => {
    const { child, ended } = await processWith(`
      life.closing("first", () => say("first closed"));
      life.closing("failing", () => { throw new Error("no"); });
      life.closing("hanging", () => new Promise(() => undefined), 50);`);
    child.kill("SIGTERM");
    const { code, out } = await ended;
    expect(code).toBe(1);
    expect(out).toMatch(/"reason":"timeout","key":"hanging"[\s\S]*"reason":"failed","key":"failing"/);
    expect(out).toContain("first closed");
  });
});

it("a second signal ends the process at once, after its last acts", async () => {
  const { child, ended } = await processWith(`
    life.lastAct("children", () => say("children ended"));
    life.closing("hanging", () => { say("hanging"); return new Promise(() => undefined); }, 60_000);`);
  const hanging = new Promise<void>((resolve) => {
    child.stdout?.on("data", (chunk: Buffer) => chunk.includes("hanging") && resolve());
  });
  child.kill("SIGTERM");
  await hanging;
  child.kill("SIGINT");
  const { code, out } = await ended;
  expect(code).toBe(130);
  expect(out).toContain("children ended");
});

describe("a bug", () => {
  it.each([
    ["a rejection nobody handled", `Promise.reject(new Error("forgotten"));`],
    ["an exception nobody caught", `setImmediate(() => { throw new Error("forgotten"); });`],
  ])("(%s) is told of and ends the process with 1, after its last acts", async (_, bug) => {
    const { ended } = await processWith(`
      life.lastAct("broken", () => { throw new Error("also broken"); });
      life.lastAct("children", () => say("children ended"));
      ${bug}`);
    const { code, out } = await ended;
    expect(code).toBe(1);
    expect(out).toMatch(/"event":"crash"[\s\S]*forgotten/);
    expect(out).toContain("children ended");
    expect(out).toContain("also broken");
  });
});

it("a service can end itself, with a code", async () => {
  const { ended } = await processWith(
    `life.closing("first", () => say("first closed")); void life.end("start_failed", 1);`,
  );
  const { code, out } = await ended;
  expect(code).toBe(1);
  expect(out).toContain("first closed");
  expect(out).toContain('"reason":"start_failed"');
});
