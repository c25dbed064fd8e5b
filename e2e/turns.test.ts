import { Outcome, SessionState, Tier } from "@holdfast/proto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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
});
