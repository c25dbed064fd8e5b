import { describe, expect, test } from "vitest";
import { describePool } from "./describe.ts";
import { isDrained } from "./drain.ts";
import { EVICTION_RECHECK_MS } from "./limits.ts";
import { inShort, keyOf, Rehearsal } from "./rehearsal/rehearsal.ts";

const GRACE_MS = 30_000;

function drained(play: Rehearsal): Rehearsal {
  play.give({ kind: "drain", graceMs: GRACE_MS });
  return play;
}

describe("a draining pool", () => {
  test("ends idle sessions at once and starts nothing new", () => {
    const play = drained(new Rehearsal().idle("a"));
    expect(inShort(play.effects)).toEqual(["end:drain"]);
    expect(play.checkout("b")).toMatchObject({ kind: "refused", refusal: { reason: "DRAINING" } });
    expect(play.checkout("a")).toMatchObject({ kind: "refused", refusal: { reason: "DRAINING" } });
    play.closed("a");
    expect(isDrained(play.pool)).toBe(true);
  });

  test("lets a running turn finish, and ends its process then", () => {
    const play = drained(new Rehearsal().running("a"));
    expect(play.effects).toEqual([]);
    expect(play.settle("a")).toMatchObject({ slot: "closing" });
    expect(inShort(play.effects)).toEqual(["end:drain"]);
  });

  test("ends what still runs at the end of the grace", () => {
    const play = drained(new Rehearsal().running("a").starting("b"));
    play.wait(GRACE_MS - 1);
    expect(play.effects).toEqual([]);
    play.wait(1);
    expect(inShort(play.effects)).toEqual(["end:drain", "end:drain"]);
  });

  test("proposes waiting sessions last: when nothing runs any more", () => {
    const play = drained(new Rehearsal().parked("w").running("r"));
    expect(play.effects).toEqual([]);
    play.settle("r");
    expect(inShort(play.effects)).toEqual(["end:drain", "propose_eviction:drain"]);
  });

  test("proposes waiting sessions at the end of the grace at the latest, and again while they are refused", () => {
    const play = drained(new Rehearsal().parked("w").running("r"));
    play.wait(GRACE_MS);
    expect(inShort(play.effects)).toEqual(["propose_eviction:drain", "end:drain"]);
    play.give({ kind: "eviction_refused", ...play.named("w") });
    play.wait(EVICTION_RECHECK_MS);
    expect(inShort(play.effects)).toEqual(["propose_eviction:drain"]);
  });

  test("lets an answered gate finish within the grace", () => {
    const play = drained(new Rehearsal().parked("w", ["g"]));
    expect(inShort(play.effects)).toEqual(["propose_eviction:drain"]);
    play.give({ kind: "eviction_refused", ...play.named("w") });
    play.consume("w", "g");
    play.report("w", "g");
    expect(play.state("w")).toBe("busy");
    expect(play.settle("w")).toMatchObject({ slot: "closing" });
  });

  test("tells those who wait for room to ask elsewhere", () => {
    const play = new Rehearsal(1).closing("a");
    play.checkout("b");
    drained(play);
    expect(play.effects).toEqual([{ kind: "ask_again", key: keyOf("b") }]);
  });

  test("does not begin its grace anew", () => {
    const play = drained(new Rehearsal().running("a"));
    play.wait(GRACE_MS - 1);
    expect(play.give({ kind: "drain", graceMs: GRACE_MS })).toEqual({ kind: "ignored", why: "draining" });
    play.wait(1);
    expect(play.state("a")).toBe("closing");
  });
});

test("a pool is described by state, memory and capacity", () => {
  const play = new Rehearsal(8).starting("s").running("r").parked("w").idle("i").closing("c");
  play.give({ kind: "memory", usage: new Map([[keyOf("r"), 7]]), budgetBytes: 100, highBytes: 100 });
  expect(describePool(play.pool)).toEqual({
    maxLive: 8,
    states: { starting: 1, busy: 1, waiting: 1, idle: 1, closing: 1 },
    memoryBytes: 7,
    draining: false,
  });
});
