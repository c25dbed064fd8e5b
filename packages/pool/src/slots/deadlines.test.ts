import { describe, expect, test } from "vitest";
import { nextDeadline } from "./deadlines.ts";
import * as limits from "./limits.ts";
import { inShort, LIMITS, Rehearsal } from "./rehearsal/rehearsal.ts";

describe("the idle TTL", () => {
  test("ends an idle session, reason idle_ttl", () => {
    const play = new Rehearsal().idle("a");
    play.wait(LIMITS.idleTtlMs - 1);
    expect(play.state("a")).toBe("idle");
    play.wait(1);
    expect(inShort(play.effects)).toEqual(["end:idle_ttl"]);
    expect(play.checkout("a")).toEqual({ kind: "wait", reason: "idle_ttl" });
  });

  test("of 0 keeps nothing between turns", () => {
    const play = new Rehearsal().running("a", { limits: { ...LIMITS, idleTtlMs: 0 } });
    expect(play.settle("a")).toMatchObject({ slot: "closing" });
    expect(inShort(play.effects)).toEqual(["end:idle_ttl"]);
  });

  test("does not end a session that was checked out in time", () => {
    const play = new Rehearsal().idle("a");
    play.wait(LIMITS.idleTtlMs - 1);
    play.checkout("a");
    play.wait(1);
    expect(play.state("a")).toBe("busy");
  });
});

describe("the turn limit", () => {
  test("ends a running turn, reason turn_limit", () => {
    const play = new Rehearsal().running("a");
    play.wait(LIMITS.turnLimitMs - 1);
    expect(play.state("a")).toBe("busy");
    play.wait(1);
    expect(inShort(play.effects)).toEqual(["end:turn_limit"]);
  });

  test("stands still while only a gate is open, and goes on from where it stood", () => {
    const play = new Rehearsal().running("a", { limits: { ...LIMITS, turnLimitMs: 10_000 } });
    play.wait(4_000);
    play.open("a", "g");
    play.wait(100_000);
    play.consume("a", "g");
    play.wait(5_999);
    expect(play.state("a")).toBe("busy");
    play.wait(1);
    expect(inShort(play.effects)).toEqual(["end:turn_limit"]);
  });

  test("goes on over the prompts of one turn, and begins anew with the next turn", () => {
    const play = new Rehearsal().running("a", { limits: { ...LIMITS, turnLimitMs: 10_000 } });
    play.wait(6_000);
    play.give({ kind: "prompt_settled", history: null, more: true, ...play.named("a") });
    play.give({ kind: "prompt_started", ...play.named("a") });
    play.wait(3_999);
    play.settle("a");
    play.checkout("a", { limits: { ...LIMITS, turnLimitMs: 10_000 } });
    play.give({ kind: "prompt_started", ...play.named("a") });
    play.wait(9_999);
    expect(play.state("a")).toBe("busy");
    play.wait(1);
    expect(play.state("a")).toBe("closing");
  });
});

describe("the approval TTL", () => {
  test("proposes the eviction of a parked session and leaves it waiting until the record agrees", () => {
    const play = new Rehearsal().parked("a");
    play.wait(LIMITS.approvalTtlMs - 1);
    expect(play.effects).toEqual([]);
    play.wait(1);
    expect(inShort(play.effects)).toEqual(["propose_eviction:approval_ttl"]);
    expect(play.state("a")).toBe("waiting");
    play.give({ kind: "eviction_confirmed", reason: "approval_ttl", ...play.named("a") });
    expect(inShort(play.effects)).toEqual(["end:approval_ttl"]);
  });

  test("does not run while an answer is sending, and runs anew from the next park", () => {
    const play = new Rehearsal().parked("a", ["g1", "g2"]);
    play.wait(LIMITS.approvalTtlMs - 1);
    play.consume("a", "g1");
    play.wait(LIMITS.approvalTtlMs);
    play.report("a", "g1");
    expect(nextDeadline(play.pool)).toBe(play.now + LIMITS.approvalTtlMs);
  });

  test("runs from the park: a second gate does not lengthen it", () => {
    const play = new Rehearsal().parked("a", ["g1"]);
    play.wait(1_000);
    play.open("a", "g2");
    expect(nextDeadline(play.pool)).toBe(play.now - 1_000 + LIMITS.approvalTtlMs);
  });

  test("of 0 makes a gate cold at once", () => {
    const play = new Rehearsal().parked("a", ["g"], { limits: { ...LIMITS, approvalTtlMs: 0 } });
    play.wait(0);
    expect(inShort(play.effects)).toEqual(["propose_eviction:approval_ttl"]);
  });
});

test("an empty pool, and one that only ends processes, has no deadline", () => {
  expect(nextDeadline(new Rehearsal().pool)).toBeNull();
  expect(nextDeadline(new Rehearsal().closing("a").pool)).toBeNull();
});

test("the defaults and maxima are those of the contract", () => {
  expect({ ...limits }).toEqual({
    IDLE_TTL_MS: 60_000,
    APPROVAL_TTL_MS: 5 * 60_000,
    TURN_LIMIT_MS: 30 * 60_000,
    START_LIMIT_MS: 60_000,
    IDLE_TTL_MAX_MS: 24 * 3_600_000,
    APPROVAL_TTL_MAX_MS: 24 * 3_600_000,
    TURN_LIMIT_MAX_MS: 4 * 3_600_000,
    CANCEL_BOUND_MS: 10_000,
    EVICTION_RECHECK_MS: 5_000,
    ROOM_CLAIM_MS: 10_000,
  });
});
