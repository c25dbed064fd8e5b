import { Outcome, SessionState, Tier } from "@holdfast/proto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "./src/caller.ts";
import { Stack } from "./src/stack.ts";

describe("a turn through the pair", () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await Stack.start();
  });
  afterAll(() => stack.close());

  it("1: a cold first turn leaves the session idle; the next turn runs on the same process, warm", async () => {
    const caller = stack.caller();
    const first = await caller.turn("warm", "say one");
    expect(first.one("started").tier).toBe(Tier.NEW);
    expect(first.text).toBe("one");
    expect(first.one("ended").outcome).toBe(Outcome.COMPLETED);
    const before = await caller.session("warm");
    expect(before.state).toBe(SessionState.IDLE);
    const second = await caller.turn("warm", "pid");
    expect(second.one("started").tier).toBe(Tier.WARM);
    expect(second.text).toContain(`${before.pid}`);
    expect((await caller.session("warm")).pid).toBe(before.pid);
  });

  it("18: allow runs the held call once, on the same pid; the turn goes on to its end", async () => {
    const caller = stack.caller();
    const parked = await caller.turn("allow", "run echo held >> out.txt\nsay after");
    expect(parked.last).toBe("parked");
    expect(stack.ledger("allow")).toEqual([]);
    const { pid } = await caller.session("allow");
    await caller.allow("allow", parked.gateId);
    const ended = await caller.ended("allow", parked.turnId);
    expect(ended.one("ended").outcome).toBe(Outcome.COMPLETED);
    expect(ended.text).toContain("after");
    expect(stack.ledger("allow")).toMatchObject([{ command: "echo held >> out.txt", pid: Number(pid) }]);
  });

  it("42: Stop while parked: every gate cancelled, tool not run, session warm", async () => {
    const caller = stack.caller();
    const parked = await caller.turn("stop", "both echo a && echo b");
    expect(parked.gateIds).toHaveLength(2);
    const { pid } = await caller.session("stop");
    await caller.stop("stop");
    const ended = await caller.ended("stop", parked.turnId);
    expect(ended.one("ended").outcome).toBe(Outcome.CANCELLED);
    expect(
      ended
        .of("gateClosed")
        .map(({ gateId }) => gateId)
        .sort(),
    ).toEqual([...parked.gateIds].sort());
    expect(stack.ledger("stop")).toEqual([]);
    await eventually(
      "idle",
      () => caller.session("stop"),
      ({ state }) => state === SessionState.IDLE,
    );
    expect((await caller.turn("stop", "pid")).text).toContain(`${pid}`);
  });
});
