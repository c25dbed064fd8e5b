import { describe, expect, test } from "vitest";
import { EVICTION_RECHECK_MS } from "./limits.ts";
import { keyOf, Rehearsal } from "./rehearsal/rehearsal.ts";
import type { PoolEffect } from "./reply.ts";
import { sessionOf } from "./slot.ts";

function measure(play: Rehearsal, usage: Readonly<Record<string, number>>): readonly string[] {
  const bytes = new Map(Object.entries(usage).map(([session, used]) => [keyOf(session), used]));
  play.give({ kind: "memory", usage: bytes, budgetBytes: 100, highBytes: 120 });
  return play.effects.map(told);
}

function told(effect: PoolEffect): string {
  return "reason" in effect ? `${effect.kind} ${sessionOf(effect.key).sessionId} ${effect.reason}` : effect.kind;
}

/** Two idle, two parked, the first of each longer. */
function busyRunner(): Rehearsal {
  const play = new Rehearsal(8);
  for (const prepare of [
    () => play.idle("i1"),
    () => play.idle("i2"),
    () => play.parked("w1"),
    () => play.parked("w2"),
  ]) {
    prepare();
    play.now += 1_000;
  }
  return play;
}

describe("memory over the budget", () => {
  test("ends idle sessions, oldest first, as many as it takes", () => {
    expect(measure(busyRunner(), { i1: 30, i2: 30, w1: 30, w2: 30 })).toEqual(["end i1 memory"]);
    expect(measure(busyRunner(), { i1: 10, i2: 30, w1: 40, w2: 50 })).toEqual(["end i1 memory", "end i2 memory"]);
  });

  test("leaves waiting sessions alone up to the high mark", () => {
    expect(measure(busyRunner(), { w1: 60, w2: 60 })).toEqual(["end i1 memory", "end i2 memory"]);
  });

  test("refuses new sessions until it was given back, and lets live ones go on", () => {
    const play = new Rehearsal(8).parked("w").idle("i").running("r");
    measure(play, { w: 60, r: 60 });
    expect(play.checkout("new")).toMatchObject({ kind: "refused", refusal: { reason: "POOL_FULL" } });
    expect(play.consume("w", "gate-of-w").kind).toBe("done");
    play.settle("r");
    expect(play.checkout("r").kind).toBe("warm");
    measure(play, { w: 60, r: 30 });
    expect(play.checkout("new").kind).toBe("cold");
  });

  test("counts what is closing as given back for evictions, and as used for new sessions", () => {
    const play = new Rehearsal(8).idle("i1").idle("i2");
    expect(measure(play, { i1: 60, i2: 60 })).toEqual(["end i1 memory"]);
    expect(measure(play, { i1: 60, i2: 60 })).toEqual([]);
    expect(play.checkout("new").kind).toBe("refused");
    play.closed("i1");
    expect(play.checkout("new").kind).toBe("cold");
  });
});

describe("memory above the high mark", () => {
  test("proposes waiting sessions that can be loaded again, longest parked first", () => {
    const told = measure(busyRunner(), { w1: 70, w2: 70 });
    expect(told.slice(-1)).toEqual(["propose_eviction w1 memory"]);
  });

  test("never one whose answer is sending, never one that cannot be loaded again", () => {
    const play = new Rehearsal(8)
      .parked("sending", ["g1", "g2"])
      .parked("unloadable", ["g3"], { canLoad: false })
      .parked("loadable", ["g4"]);
    play.consume("sending", "g1");
    expect(measure(play, { sending: 100, unloadable: 100, loadable: 10 })).toEqual([
      "propose_eviction loadable memory",
    ]);
  });

  test("does not ask again for what is proposed or was refused until its gates change or the re-check time is over", () => {
    const play = new Rehearsal(8).parked("w", ["g1", "g2"]);
    expect(measure(play, { w: 200 })).toEqual(["propose_eviction w memory"]);
    expect(measure(play, { w: 200 })).toEqual([]);
    play.give({ kind: "eviction_refused", ...play.named("w") });
    expect(measure(play, { w: 200 })).toEqual([]);
    play.give({ kind: "gate_closed", gateId: "g1", ...play.named("w") });
    expect(measure(play, { w: 200 })).toEqual(["propose_eviction w memory"]);
    play.now += EVICTION_RECHECK_MS;
    expect(measure(play, { w: 200 })).toEqual(["propose_eviction w memory"]);
  });
});
