import { describe, expect, test } from "vitest";
import { CANCEL_BOUND_MS } from "./limits.ts";
import { inShort, Rehearsal } from "./rehearsal/rehearsal.ts";

describe("Stop", () => {
  test("while running: the prompt settles, the session is idle and warm", () => {
    const play = new Rehearsal().running("a");
    expect(play.stop("a")).toEqual({ kind: "stopping", settled: false, gateIds: [] });
    expect(inShort(play.effects)).toEqual(["cancel_prompt"]);
    play.settle("a");
    expect(play.checkout("a")).toMatchObject({ kind: "warm", instance: "process-1" });
  });

  test("while parked: every gate is cancelled at once, before the prompt is, and the session stays warm", () => {
    const play = new Rehearsal().parked("a", ["g1", "g2"]);
    expect(play.stop("a")).toEqual({ kind: "stopping", settled: false, gateIds: ["g1", "g2"] });
    expect(play.effects).toMatchObject([{ kind: "cancel_gates", gateIds: ["g1", "g2"] }, { kind: "cancel_prompt" }]);
    const late = { kind: "answer", gateId: "g1", optionId: "yes", ...play.named("a") } as const;
    expect(play.give(late)).toMatchObject({ kind: "refused" });
    expect(play.consume("a", "g1").kind).toBe("ignored");
    expect(play.settle("a")).toMatchObject({ slot: "idle" });
  });

  test("a gate that arrives while stopping is answered cancelled", () => {
    const play = new Rehearsal().running("a");
    play.stop("a");
    expect(play.open("a", "g")).toEqual({ kind: "gate_cancelled", why: "stopping" });
  });

  test("two Stops are one: the second neither cancels again nor lengthens the bound", () => {
    const play = new Rehearsal().running("a");
    play.stop("a");
    play.wait(CANCEL_BOUND_MS - 1);
    expect(play.stop("a")).toEqual({ kind: "ignored", why: "stopping" });
    expect(play.effects).toEqual([]);
    play.wait(1);
    expect(inShort(play.effects)).toEqual(["end:cancel_unsettled"]);
  });

  test("a report on a sending answer neither lengthens the bound nor undoes the Stop", () => {
    const play = new Rehearsal().parked("a", ["g1", "g2"]);
    play.consume("a", "g1");
    play.stop("a");
    play.report("a", "g1");
    expect(play.open("a", "g3")).toEqual({ kind: "gate_cancelled", why: "stopping" });
    play.wait(CANCEL_BOUND_MS);
    expect(inShort(play.effects)).toEqual(["end:cancel_unsettled"]);
  });

  test("an answer that was not written before the Stop is not open again after it", () => {
    const play = new Rehearsal().parked("a", ["g"]);
    play.consume("a", "g");
    play.stop("a");
    const back = { kind: "answer_handed_back", gateId: "g", ...play.named("a") } as const;
    expect(play.give(back)).toEqual({ kind: "ignored", why: "stopping" });
  });

  test("no further prompt of the turn follows it", () => {
    const play = new Rehearsal().running("a");
    play.stop("a");
    const settled = { kind: "prompt_settled", history: null, more: true, ...play.named("a") } as const;
    expect(play.give(settled)).toMatchObject({ slot: "idle" });
  });

  test("while starting gives the start up", () => {
    const play = new Rehearsal().starting("a");
    expect(play.stop("a")).toMatchObject({ settled: true });
    expect(inShort(play.effects)).toEqual(["end:closed"]);
  });

  test("before the prompt was written has nothing to settle, and the prompt does not follow", () => {
    const play = new Rehearsal().idle("a").due("a");
    play.checkout("a");
    expect(play.stop("a")).toMatchObject({ settled: true });
    expect(play.effects).toEqual([]);
    expect(play.give({ kind: "prompt_started", ...play.named("a") })).toEqual({
      kind: "ignored",
      why: "not_checked_out",
    });
  });

  test("for an ended process never touches its successor", () => {
    const play = new Rehearsal().running("a");
    const first = play.named("a");
    play.give({ kind: "exited", ...first });
    play.closed("a");
    play.running("a");
    const before = play.pool;
    expect(play.give({ kind: "stop", ...first })).toEqual({ kind: "ignored", why: "stale" });
    expect(play.pool).toBe(before);
  });
});
