import { describe, expect, test } from "vitest";
import { evictionDue } from "./deadlines.ts";
import { EVICTION_RECHECK_MS } from "./limits.ts";
import { inShort, LIMITS, Rehearsal } from "./rehearsal/rehearsal.ts";

function overdue(gateIds: readonly string[] = ["g"]): Rehearsal {
  const play = new Rehearsal().parked("a", gateIds);
  play.wait(LIMITS.approvalTtlMs);
  return play;
}

describe("a proposed eviction", () => {
  test("that is refused leaves the slot as it is, and is proposed again after the re-check time", () => {
    const play = overdue();
    play.give({ kind: "eviction_refused", ...play.named("a") });
    play.wait(EVICTION_RECHECK_MS - 1);
    expect(play.effects).toEqual([]);
    play.wait(1);
    expect(inShort(play.effects)).toEqual(["propose_eviction:approval_ttl"]);
  });

  test("that is never answered is proposed again", () => {
    const play = overdue();
    play.wait(EVICTION_RECHECK_MS);
    expect(inShort(play.effects)).toEqual(["propose_eviction:approval_ttl"]);
  });

  test("has lost its reason when an answer was consumed before its turn in the lane", () => {
    const play = overdue();
    const proposed = { reason: "approval_ttl", ...play.named("a") } as const;
    expect(evictionDue(play.pool, proposed, play.now)).toBe(true);
    play.consume("a", "g");
    expect(evictionDue(play.pool, proposed, play.now)).toBe(false);
    play.give({ kind: "eviction_refused", ...play.named("a") });
    expect(play.state("a")).toBe("busy");
  });

  test("that the record confirmed ends the process whatever it does by now", () => {
    const play = overdue();
    play.consume("a", "g");
    play.give({ kind: "eviction_confirmed", reason: "approval_ttl", ...play.named("a") });
    expect(inShort(play.effects)).toEqual(["end:approval_ttl"]);
  });

  test("confirmed for an ended process never touches its successor", () => {
    const play = overdue();
    const first = play.named("a");
    play.give({ kind: "exited", ...first });
    play.closed("a");
    play.parked("a", ["next"]);
    const before = play.pool;
    play.give({ kind: "eviction_confirmed", reason: "approval_ttl", ...first });
    expect(play.pool).toBe(before);
  });
});

describe("an ending", () => {
  test("an agent that exits while parked frees its slot at once", () => {
    const play = new Rehearsal().parked("a");
    play.give({ kind: "exited", ...play.named("a") });
    expect(inShort(play.effects)).toEqual(["end:agent_exited"]);
    play.closed("a");
    expect(play.pool.slots.size).toBe(0);
  });

  test("happens exactly once: a failure after an exit tears nothing down again", () => {
    const play = new Rehearsal().running("a");
    const named = play.named("a");
    play.give({ kind: "close", reason: "prompt_failed", ...named });
    const before = play.pool;
    expect(play.give({ kind: "exited", ...named })).toEqual({ kind: "ignored", why: "closing" });
    expect(play.give({ kind: "close", reason: "prompt_failed", ...named })).toEqual({
      kind: "ignored",
      why: "closing",
    });
    expect(play.pool).toBe(before);
  });

  test("a late failure never hits a successor, and a settled prompt never resurrects an ended session", () => {
    const play = new Rehearsal().running("a");
    const first = play.named("a");
    play.give({ kind: "exited", ...first });
    play.closed("a");
    const late = { kind: "prompt_settled", history: "old", more: false, ...first } as const;
    expect(play.give(late)).toEqual({ kind: "ignored", why: "stale" });
    play.running("a");
    const before = play.pool;
    expect(play.give({ kind: "close", reason: "prompt_failed", ...first })).toEqual({ kind: "ignored", why: "stale" });
    expect(play.give(late)).toEqual({ kind: "ignored", why: "stale" });
    expect(play.give({ kind: "closed", ...first })).toEqual({ kind: "ignored", why: "stale" });
    expect(play.pool).toBe(before);
  });
});
