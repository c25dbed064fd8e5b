import { Disposition, ErrorReason, FallReason, Outcome, SessionState, Tier } from "@holdfast/proto";
import { fromServiceError } from "@holdfast/wire";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Caller, eventually, type TurnSeen } from "./src/caller.ts";
import { light, scripted } from "./src/catalogue.ts";
import { openFiles } from "./src/processes.ts";
import { Stack } from "./src/stack.ts";

/** An MCP server that SIGTERM does not end: the teardown of its agent's tree takes its bound. */
const DEAF_SERVER = {
  mcpServers: [
    {
      name: "deaf",
      transport: { case: "stdio" as const, value: { command: "sh", args: ["-c", 'trap "" TERM; sleep 600 & wait'] } },
    },
  ],
};

describe("an agent that fails", () => {
  let stack: Stack;
  let caller: Caller;
  let atRest = 0;

  beforeAll(async () => {
    stack = await Stack.start({ agents: [scripted("scripted"), light("light")] });
    caller = stack.caller();
    await caller.turn("first", "say here");
    await caller.api.closeSession({ sessionId: "first" }, caller.options());
    await stack.pool();
    atRest = openFiles(stack.runner.pid);
  });
  afterAll(() => stack.close());

  it("79: the agent fails right after the answer was written to it: no leak, no second process, shown once", async () => {
    const parked = await caller.turn("answered", "ask-die", { agent: "light" });
    const { pid } = await caller.session("answered");
    expect(stack.agentsOf("answered")).toEqual([Number(pid)]);
    await caller.allow("answered", parked.gateId);
    const told = await caller.ended("answered", parked.turnId);
    expect(told.one("ended")).toMatchObject({ outcome: Outcome.LOST, stopReason: "tool_outcome_uncertain" });
    expect(told.one("ended").uncertain).toHaveLength(1);
    expectShownOnce(told);
    await expectNothing("answered", FallReason.AGENT_EXITED);
    const { closedGates } = await caller.session("answered");
    expect(closedGates).toMatchObject([{ gateId: parked.gateId, answer: { disposition: Disposition.UNCERTAIN } }]);
    const again = await caller.allow("answered", parked.gateId);
    expect(again).toMatchObject({ duplicate: true, disposition: Disposition.UNCERTAIN });
    expect(stack.agents()).toEqual([]);
  });

  it("79: the agent fails after it reported on the answered call: the call ran once, on one process", async () => {
    const parked = await caller.turn("reported", "run echo once >> out\nexit 3");
    const { pid } = await caller.session("reported");
    await caller.allow("reported", parked.gateId);
    const told = await caller.ended("reported", parked.turnId);
    expect(told.one("ended")).toMatchObject({ outcome: Outcome.FAILED, uncertain: [], moot: [] });
    expect(told.one("ended").error?.reason).toBe(ErrorReason.AGENT_EXITED);
    expectShownOnce(told);
    await expectNothing("reported", FallReason.AGENT_EXITED);
    expect(stack.ledger("reported")).toMatchObject([{ command: "echo once >> out", pid: Number(pid) }]);
  });

  it("79: the agent fails at its first event: no leak, no second process, shown once", async () => {
    const turn = await caller.turn("first-event", "say-die", { agent: "light" });
    expect(turn.text).toBe("word");
    expect(turn.one("ended").error?.reason).toBe(ErrorReason.AGENT_EXITED);
    const told = await caller.ended("first-event", turn.turnId);
    expect(told.text).toBe("word");
    expectShownOnce(told);
    await expectNothing("first-event", FallReason.AGENT_EXITED);
  });

  it("79: the agent fails before it showed anything: a warm one is replaced once, and the turn goes on", async () => {
    await caller.turn("replaced", "any", { agent: "light" });
    const { pid } = await caller.session("replaced");
    const turn = await caller.turn("replaced", "die-once", { agent: "light" });
    expect(turn.one("ended").outcome).toBe(Outcome.COMPLETED);
    const told = await caller.ended("replaced", turn.turnId);
    expect(told.of("started").map(({ tier }) => tier)).toEqual([Tier.NEW, Tier.WARM, Tier.NEW]);
    expect(told.of("prompt")).toHaveLength(2);
    expect(stack.agentsOf("replaced")).toHaveLength(1);
    expect(stack.agentsOf("replaced")).not.toEqual([Number(pid)]);
    const failed = await caller.turn("replaced", "die", { agent: "light" });
    expect(failed.one("ended")).toMatchObject({ outcome: Outcome.FAILED });
    await expectNothing("replaced", FallReason.AGENT_EXITED);
  });

  it("79: a prompt that comes while a failed agent is being ended does not keep its turn from ending", async () => {
    const config = DEAF_SERVER;
    const first = caller.turn("crossed", "say-die", { agent: "light", config });
    await eventually(
      "it is being ended",
      () => stack.pool(),
      ({ closing }) => closing === 1,
    );
    const second = caller.turn("crossed", "any", { agent: "light", config });
    const outcome = second.then(
      (turn) => turn.last,
      (error: unknown) => fromServiceError(error)?.reason,
    );
    const failed = await first;
    expect(failed.one("ended").outcome).toBe(Outcome.FAILED);
    expect(["ended", "TURN_IN_PROGRESS"]).toContain(await outcome);
    expect((await caller.ended("crossed", failed.turnId)).of("ended")).toHaveLength(1);
    await caller.turn("crossed", "any", { agent: "light", config });
    expect((await caller.session("crossed")).state).toBe(SessionState.IDLE);
    await caller.api.closeSession({ sessionId: "crossed" }, caller.options());
    await expectNothing("crossed", FallReason.CLOSED);
  });

  /** One prompt, one start, one gate and answer at most, one ending. */
  function expectShownOnce(told: TurnSeen): void {
    for (const kind of ["prompt", "started", "ended"] as const) expect(told.of(kind), kind).toHaveLength(1);
    for (const kind of ["gateOpened", "gateAnswered", "continued"] as const) {
      expect(told.of(kind).length, kind).toBeLessThanOrEqual(1);
    }
    const seqs = told.events.map(({ seq }) => Number(seq)).filter((seq) => seq > 0);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  }

  async function expectNothing(sessionId: string, coldReason: FallReason): Promise<void> {
    const session = await caller.session(sessionId);
    expect(session).toMatchObject({ state: SessionState.COLD, coldReason, pid: 0n, gates: [] });
    expect(session.owner).toBeUndefined();
    await eventually(
      "no seat is taken",
      () => stack.pool(),
      ({ starting, busy, waiting, idle, closing }) => starting + busy + waiting + idle + closing === 0,
    );
    expect(stack.agents()).toEqual([]);
    await eventually(
      "nothing is open",
      () => openFiles(stack.runner.pid),
      (open) => open <= atRest,
    );
  }
});
