import { readFileSync } from "node:fs";
import { methods } from "@agentclientprotocol/sdk";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Driver, isAlive, writtenPid } from "./driver.ts";
import { HELP, readFlags } from "./flags.ts";
import { readLedger } from "./ledger.ts";

/** Far below what a million unread chunks would take. */
const UNREAD_FLOOD_MAX_GROWTH_MIB = 64;

const started: Driver[] = [];

function start(...args: ConstructorParameters<typeof Driver>): Driver {
  const driver = new Driver(...args);
  started.push(driver);
  return driver;
}

afterEach(async () => {
  for (const driver of started.splice(0)) await driver.end();
});

describe("a process that dies", () => {
  test("with `exit` ends with that code in the middle of the prompt", async () => {
    const driver = start();
    const prompt = driver.prompt(await driver.newSession(), "say bye", "exit 7", "say never");
    await expect(prompt).rejects.toThrow();
    expect(await driver.exitCode()).toBe(7);
    expect(driver.said).toEqual(["bye"]);
  });

  test("with `exit-gated` has opened its gate before", async () => {
    const driver = start();
    const prompt = driver.prompt(await driver.newSession(), "exit-gated echo a");
    await expect(prompt).rejects.toThrow();
    expect(await driver.exitCode()).toBe(1);
    expect((await driver.gate(0)).request.toolCall.title).toBe("echo a");
    expect(readLedger(driver.directory)).toEqual([]);
  });

  test("leaves its grandchild alive in a group of its own", async () => {
    const driver = start();
    await driver.prompt(await driver.newSession(), "grandchild 30");
    const pid = Number(driver.said[0]?.replace("grandchild ", ""));
    driver.child.kill("SIGTERM");
    await driver.exitCode();
    const [, , group, session] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    expect([Number(group), Number(session)]).toEqual([pid, pid]);
    process.kill(pid, "SIGKILL");
  });

  test("by SIGTERM, or because stdin was closed, takes its running command with it", async () => {
    for (const end of [(each: Driver) => each.child.kill("SIGTERM"), (each: Driver) => each.child.stdin?.end()]) {
      const driver = start();
      const prompt = driver.prompt(await driver.newSession(), "run echo $$ > pid; exec sleep 60");
      (await driver.gate(0)).choose("allow-once");
      const command = await writtenPid(driver.directory, "pid");
      end(driver);
      await expect(prompt).rejects.toThrow();
      await driver.exitCode();
      await vi.waitFor(() => expect(isAlive(command)).toBe(false));
    }
  });

  test("ignores SIGTERM with --ignore-sigterm and still ends with its stdin", async () => {
    const driver = start({ flags: ["--ignore-sigterm"] });
    const session = await driver.newSession();
    driver.child.kill("SIGTERM");
    expect((await driver.prompt(session, "say still here")).stopReason).toBe("end_turn");
    driver.child.stdin?.end();
    expect(await driver.exitCode()).toBe(0);
  });
});

describe("a process that comes back", () => {
  async function lived(): Promise<{ directory: string; sessionId: string }> {
    const driver = start();
    const sessionId = await driver.newSession();
    await driver.prompt(sessionId, "remember color dark red");
    const cut = driver.prompt(sessionId, "run echo a");
    await driver.gate(0);
    driver.child.kill("SIGKILL");
    await expect(cut).rejects.toThrow();
    return { directory: driver.directory, sessionId };
  }

  test("replays everything with load, the interrupted call as it was, and has its memory", async () => {
    const { directory, sessionId } = await lived();
    const driver = start({ directory });
    await driver.initialize();
    await driver.agent.request(methods.agent.session.load, { sessionId, cwd: directory, mcpServers: [] });
    expect(driver.updates.map(({ update }) => update)).toMatchObject([
      { sessionUpdate: "user_message_chunk", content: { text: "remember color dark red" } },
      { sessionUpdate: "agent_message_chunk", content: { text: "remembered color" } },
      { sessionUpdate: "user_message_chunk", content: { text: "run echo a" } },
      { sessionUpdate: "tool_call", toolCallId: "call-1", status: "pending" },
    ]);
    const prompt = driver.prompt(sessionId, "recall color", "run echo a");
    expect((await driver.gate(0)).request.toolCall.toolCallId).toBe("call-2");
    driver.gates[0]?.choose("allow-once");
    await prompt;
    expect(driver.said.at(-1)).toBe("color=dark red");
  });

  test("replays nothing with resume, and has its memory", async () => {
    const { directory, sessionId } = await lived();
    const driver = start({ directory });
    await driver.initialize();
    await driver.agent.request(methods.agent.session.resume, { sessionId, cwd: directory, mcpServers: [] });
    expect(driver.updates).toEqual([]);
    await driver.prompt(sessionId, "recall color", "recall size");
    expect(driver.said).toEqual(["color=dark red", "size is not set"]);
  });

  test("sends half of the replay late with --late-replay", async () => {
    const { directory, sessionId } = await lived();
    const driver = start({ directory, flags: ["--late-replay"] });
    await driver.initialize();
    await driver.agent.request(methods.agent.session.load, { sessionId, cwd: directory, mcpServers: [] });
    expect(driver.updates).toHaveLength(2);
    await driver.until(() => driver.updates.length === 4);
  });

  test("does not know the session of another directory", async () => {
    const { sessionId } = await lived();
    const driver = start();
    await driver.initialize();
    const load = { sessionId, cwd: driver.directory, mcpServers: [] };
    await expect(driver.agent.request(methods.agent.session.load, load)).rejects.toMatchObject({ code: -32002 });
  });

  test("offers neither load nor resume with --no-load", async () => {
    const { directory, sessionId } = await lived();
    const driver = start({ directory, flags: ["--no-load"] });
    const { agentCapabilities } = await driver.initialize();
    expect(agentCapabilities?.loadSession).toBe(false);
    expect(agentCapabilities?.sessionCapabilities?.resume).toBeUndefined();
    const load = { sessionId, cwd: directory, mcpServers: [] };
    await expect(driver.agent.request(methods.agent.session.load, load)).rejects.toMatchObject({ code: -32601 });
  });
});

describe("a start", () => {
  test("fails at once with --fail-start, with a line on stderr", async () => {
    const driver = start({ flags: ["--fail-start"] });
    expect(await driver.exitCode()).toBe(3);
    await vi.waitFor(() => expect(driver.stderr).toContain("failing to start"));
  });

  test("answers nothing with --hang-start, and ends with its stdin", async () => {
    const driver = start({ flags: ["--hang-start"] });
    const initialize = driver.initialize();
    driver.child.stdin?.end();
    await expect(initialize).rejects.toThrow();
    expect(await driver.exitCode()).toBe(0);
  });

  test("waits with --slow-start", async () => {
    const before = performance.now();
    await start({ flags: ["--slow-start", "700"] }).initialize();
    expect(performance.now() - before).toBeGreaterThan(700);
  });

  test("answers with the version of --protocol-version", async () => {
    const driver = start({ flags: ["--protocol-version", "99"] });
    expect((await driver.initialize()).protocolVersion).toBe(99);
  });

  test("asks before the first prompt with --early-gate, and runs nothing when it is cancelled", async () => {
    const driver = start({ flags: ["--early-gate"] });
    await driver.newSession();
    (await driver.gate(0)).cancel();
    await driver.until(() => driver.statuses("call-1").includes("failed"));
    expect(readLedger(driver.directory)).toEqual([]);
  });

  test("prints its help, and refuses a flag it does not know", async () => {
    const helped = start({ flags: ["--help"] });
    expect(await helped.exitCode()).toBe(0);
    await vi.waitFor(() => expect(helped.junk.join("\n")).toContain("--slow-start MS"));
    const refused = start({ flags: ["--nonsense"] });
    expect(await refused.exitCode()).toBe(2);
    await vi.waitFor(() => expect(refused.stderr).toContain("--nonsense"));
  });

  test("names every flag in its help and refuses a number that is none", () => {
    const names = ["fail-start", "hang-start", "slow-start", "protocol-version", "no-load", "late-replay"];
    for (const name of [...names, "early-gate", "ignore-sigterm"]) expect(HELP).toContain(`--${name}`);
    expect(() => readFlags(["--slow-start", "soon"])).toThrow("--slow-start takes a whole number");
    expect(() => readFlags(["--protocol-version", "65536"])).toThrow("up to 65535");
  });
});

describe("a client that stops reading", () => {
  test("stops a flood; the agent's memory does not grow and a cancel still gets through", async () => {
    const driver = start();
    const session = await driver.newSession();
    const numberIn = (file: string, field: RegExp) =>
      Number(field.exec(readFileSync(`/proc/${driver.child.pid}/${file}`, "utf8"))?.[1]);
    const memoryMib = () => numberIn("status", /VmRSS:\s+(\d+)/) / 1_024;
    const prompt = driver.prompt(session, "flood 10000000");
    await driver.until(() => driver.updates.length > 1_000);
    const before = memoryMib();
    driver.stopReading();
    let written = 0;
    const hasStopped = () => {
      const last = written;
      written = numberIn("io", /wchar: (\d+)/);
      expect(written).toBe(last);
    };
    await vi.waitFor(hasStopped, { interval: 200, timeout: 5_000 });
    expect(memoryMib() - before).toBeLessThan(UNREAD_FLOOD_MAX_GROWTH_MIB);
    await driver.cancel(session);
    driver.goOnReading();
    expect((await prompt).stopReason).toBe("cancelled");
    expect(driver.updates.length).toBeLessThan(1_000_000);
  });
});
