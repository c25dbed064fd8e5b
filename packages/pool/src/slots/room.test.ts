import { describe, expect, test } from "vitest";
import { ROOM_CLAIM_MS } from "./limits.ts";
import { inShort, keyOf, Rehearsal } from "./rehearsal/rehearsal.ts";

describe("a full pool", () => {
  test("evicts the session idle longest, reason lru, and gives its seat when the teardown is over", () => {
    const play = new Rehearsal(3).idle("old").running("busy");
    play.now += 1_000;
    play.idle("young");
    expect(play.checkout("new")).toEqual({ kind: "wait", reason: null });
    expect(play.effects).toMatchObject([{ kind: "end", key: keyOf("old"), reason: "lru" }]);
    expect(play.state("young")).toBe("idle");
    play.closed("old");
    expect(play.effects).toEqual([{ kind: "ask_again", key: keyOf("new") }]);
    expect(play.checkout("new").kind).toBe("cold");
    expect(play.pool.slots.size).toBe(3);
  });

  test("of busy and waiting sessions refuses a new one POOL_FULL, and still parks", () => {
    const play = new Rehearsal(2).running("busy").parked("waiting");
    const before = play.pool;
    const reply = play.checkout("new");
    expect(reply).toMatchObject({ kind: "refused", refusal: { reason: "POOL_FULL", retryAfterMs: 1_000 } });
    expect(play.pool).toBe(before);
    expect(play.open("busy", "g")).toEqual({ kind: "opened" });
    expect(play.give({ kind: "answer", gateId: "g", optionId: "yes", ...play.named("busy") })).toEqual({
      kind: "open",
    });
  });

  test("counts closing processes: a seat is free when the teardown is over", () => {
    const play = new Rehearsal(1).closing("a");
    expect(play.checkout("b")).toEqual({ kind: "wait", reason: null });
    expect(play.checkout("b")).toEqual({ kind: "wait", reason: null });
    expect(play.state("b")).toBe("none");
  });
});

describe("a checkout that waits for room", () => {
  test("costs one idle session, however often it asks", () => {
    const play = new Rehearsal(2).idle("a").idle("b");
    play.checkout("c");
    play.checkout("c");
    expect(inShort(play.effects)).toEqual([]);
    expect([play.state("a"), play.state("b")]).toEqual(["closing", "idle"]);
  });

  test("does not lose its seat to one that comes later", () => {
    const play = new Rehearsal(2).idle("a").running("b");
    play.checkout("first");
    play.closed("a");
    expect(play.checkout("second")).toMatchObject({ kind: "refused", refusal: { reason: "POOL_FULL" } });
    expect(play.checkout("first").kind).toBe("cold");
  });

  test("shares no closing seat with the session that is closing there", () => {
    const play = new Rehearsal(1).idle("a");
    play.checkout("b");
    expect(play.checkout("a")).toMatchObject({ kind: "refused", refusal: { reason: "POOL_FULL" } });
  });

  test("that is given up leaves its seat to the next", () => {
    const play = new Rehearsal(1).closing("a");
    play.checkout("b");
    play.give({ kind: "wait_given_up", key: keyOf("b") });
    play.closed("a");
    expect(play.effects).toEqual([]);
    expect(play.checkout("c").kind).toBe("cold");
  });

  test("that never comes back keeps its seat for a bounded time", () => {
    const play = new Rehearsal(1).closing("a");
    play.checkout("b");
    play.closed("a");
    play.wait(ROOM_CLAIM_MS - 1);
    expect(play.checkout("c").kind).toBe("refused");
    play.wait(1);
    expect(play.effects).toEqual([{ kind: "ask_again", key: keyOf("b") }]);
    expect(play.checkout("c").kind).toBe("cold");
  });

  test("is served in the order it came", () => {
    const play = new Rehearsal(2).closing("a").closing("b");
    play.checkout("first");
    play.checkout("second");
    play.closed("b");
    expect(play.effects).toEqual([{ kind: "ask_again", key: keyOf("first") }]);
    expect(play.checkout("second")).toEqual({ kind: "wait", reason: null });
    play.closed("a");
    expect(play.effects).toEqual([{ kind: "ask_again", key: keyOf("second") }]);
  });
});
