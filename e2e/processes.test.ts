import { type ChildProcess, spawn } from "node:child_process";
import { FallReason, GateState, Outcome, SessionState, Tier } from "@holdfast/proto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Caller, eventually } from "./src/caller.ts";
import { light, scripted } from "./src/catalogue.ts";
import { isAlive } from "./src/processes.ts";
import { Stack } from "./src/stack.ts";

/** Six agents and what they leave, on a machine that is busy. */
const TEST_BOUND_MS = 180_000;
/** SIGTERM and SIGKILL have 2 s each and the grace is 0; the rest is for a machine that is busy. */
const SHUTDOWN_BOUND_MS = 30_000;
const DEAF = [scripted("scripted"), scripted("stubborn", "--ignore-sigterm"), light("deaf", "--deaf")];

/** The process that an agent says it left behind. */
function grandchildIn(text: string): number {
  const pid = Number(/grandchild (\d+)/.exec(text)?.[1]);
  expect(isAlive(pid)).toBe(true);
  return pid;
}

describe("a runner that is told to end", { timeout: TEST_BOUND_MS }, () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await Stack.start({ agents: [...DEAF, light("stuck", "--at", "initialize:hang")] });
  });
  afterAll(() => stack.close());

  it("15: shutdown ends every process, bounded in time, also when a teardown hangs", async () => {
    const caller = stack.caller();
    const left = [
      grandchildIn((await caller.turn("idle", "grandchild 600")).text),
      grandchildIn((await caller.turn("parked", "grandchild 600\nrun echo held")).text),
      grandchildIn((await caller.turn("stubborn", "grandchild 600", { agent: "stubborn" })).text),
    ];
    await caller.turn("deaf", "ask", { agent: "deaf" });
    const busy = caller.turn("busy", "sleep 600000", { agent: "stubborn" });
    const starting = caller.turn("starting", "any", { agent: "stuck" });
    await eventually(
      "all are at their work",
      () => stack.pool(),
      (pool) => pool.idle === 2 && pool.waiting === 2 && pool.busy === 1 && pool.starting === 1,
    );
    const processes = [...stack.agents()];
    expect(processes).toEqual(expect.arrayContaining(left));
    expect(processes).toHaveLength(left.length + 6);

    const begunAt = Date.now();
    await stack.runner.end("SIGTERM");
    expect(Date.now() - begunAt).toBeLessThan(SHUTDOWN_BOUND_MS);
    expect(processes.filter(isAlive)).toEqual([]);
    expect(stack.agents()).toEqual([]);
    expect(stack.runner.lines.at(-1)).toMatchObject({ event: "closed", exit_code: 0 });

    for (const turn of [busy, starting]) {
      expect((await turn).one("ended")).toMatchObject({ outcome: Outcome.CANCELLED, stopReason: "drain" });
    }
    for (const id of ["idle", "stubborn", "busy", "starting"]) {
      expect(await caller.session(id)).toMatchObject({ state: SessionState.COLD, coldReason: FallReason.DRAIN });
    }
    for (const id of ["parked", "deaf"]) {
      const session = await caller.session(id);
      expect(session).toMatchObject({ state: SessionState.PARKED, coldReason: FallReason.DRAIN, pid: 0n });
      expect(session.gates).toMatchObject([{ state: GateState.PENDING, warm: false }]);
    }
    expect(stack.ledger("parked")).toEqual([]);
  });
});

describe("a runner that was killed", { timeout: TEST_BOUND_MS }, () => {
  let stack: Stack;
  let caller: Caller;
  let stranger: ChildProcess;
  beforeEach(async () => {
    stack = await Stack.start({ runners: 2, agents: DEAF });
    caller = stack.caller();
  });
  afterEach(async () => {
    stranger.kill("SIGKILL");
    await stack.close();
  });

  it("16: it leaves orphans; the next one on that host ends them all, and nothing else", async () => {
    // One session after the other: each goes to the runner that has fewer.
    await caller.turn("deaf-1", "ask", { agent: "deaf" });
    await caller.turn("deaf-2", "ask", { agent: "deaf" });
    const first = grandchildIn((await caller.turn("left-1", "remember colour blue\ngrandchild 600")).text);
    const second = grandchildIn((await caller.turn("left-2", "grandchild 600")).text);
    expect(await ownersOf(["deaf-1", "left-1", "deaf-2", "left-2"])).toEqual([
      "runner-1",
      "runner-1",
      "runner-2",
      "runner-2",
    ]);
    const [deaf = 0] = stack.agentsOf("deaf-1");
    const others = [...stack.agentsOf("deaf-2"), ...stack.agentsOf("left-2")];
    expect(others).toContain(second);
    // In the very directory of an orphan, with its surroundings; not ours.
    const home = `${stack.directoryOf("deaf-1")}/home`;
    stranger = spawn("sleep", ["600"], { cwd: home, env: { PATH: process.env.PATH ?? "", HOME: home } });

    await stack.runner.end("SIGKILL");
    expect([deaf, first].filter(isAlive)).toEqual([deaf, first]);
    await stack.runner.restart();
    expect([deaf, first].filter(isAlive)).toEqual([]);
    expect(stack.agentsOf("left-1")).toEqual([]);
    expect(stack.agentsOf("deaf-1")).toEqual([stranger.pid]);
    expect(others.filter(isAlive)).toEqual(others);
    expect(stack.runner.lines).toContainEqual(expect.objectContaining({ event: "cleanup", runner: "runner-1" }));

    const cold = await caller.turn("left-1", "recall colour");
    expect(cold.one("started")).toMatchObject({ tier: Tier.LOAD, coldReason: FallReason.OWNER_DEAD });
    expect(cold.text).toBe("colour=blue");
    expect((await caller.turn("left-2", "say warm")).one("started").tier).toBe(Tier.WARM);
    expect(await caller.session("deaf-1")).toMatchObject({ state: SessionState.PARKED, pid: 0n });
  });

  async function ownersOf(sessionIds: readonly string[]): Promise<readonly (string | undefined)[]> {
    const sessions = await Promise.all(sessionIds.map((id) => caller.session(id)));
    return sessions.map(({ owner }) => owner?.runner);
  }
});
