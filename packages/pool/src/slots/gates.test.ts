import { describe, expect, test } from "vitest";
import { OPEN_GATES_PER_SESSION } from "../limits.ts";
import { keyOf, OPTION_IDS, Rehearsal } from "./rehearsal/rehearsal.ts";

function answered(play: Rehearsal, session: string, gateId: string, optionId: string) {
  return play.give({ kind: "answer", gateId, optionId, ...play.named(session) });
}

describe("an answer", () => {
  test("to an open gate may be admitted", () => {
    const play = new Rehearsal().parked("a", ["g"]);
    expect(answered(play, "a", "g", "yes")).toEqual({ kind: "open" });
  });

  test.each([
    ["an unknown gate", "nonsense", "yes", "GATE_UNKNOWN"],
    ["another session's gate", "gate-of-b", "yes", "GATE_UNKNOWN"],
    ["an option the agent did not offer", "gate-of-a", "maybe", "OPTION_NOT_OFFERED"],
  ])("for %s is refused, and nothing is touched", (_case, gateId, optionId, reason) => {
    const play = new Rehearsal().parked("a").parked("b");
    const before = play.pool;
    expect(answered(play, "a", gateId, optionId)).toMatchObject({ kind: "refused", refusal: { reason } });
    expect(play.pool).toBe(before);
    expect(play.effects).toEqual([]);
  });

  test("to the previous gate after the session parked on another one is refused, and the new gate is open", () => {
    const play = new Rehearsal().parked("a", ["first"]);
    play.consume("a", "first");
    play.open("a", "second");
    expect(answered(play, "a", "first", "yes").kind).toBe("refused");
    expect(answered(play, "a", "second", "yes").kind).toBe("open");
  });

  test("to a running session is refused, and the session stays running", () => {
    const play = new Rehearsal().running("a");
    expect(answered(play, "a", "g", "yes").kind).toBe("refused");
    expect(play.state("a")).toBe("busy");
  });

  test("for a gate of a process that is closing, or of an earlier one, finds it gone", () => {
    const play = new Rehearsal().parked("a", ["g"]);
    const earlier = play.named("a");
    play.give({ kind: "exited", ...earlier });
    expect(play.give({ kind: "answer", gateId: "g", optionId: "yes", ...earlier })).toEqual({ kind: "gone" });
    play.closed("a");
    play.starting("a");
    expect(play.give({ kind: "answer", gateId: "g", optionId: "yes", ...earlier })).toEqual({ kind: "gone" });
  });
});

describe("gates", () => {
  test("two open: answered in either order, one answered leaves the other open", () => {
    for (const [one, other] of [
      ["g1", "g2"],
      ["g2", "g1"],
    ] as const) {
      const play = new Rehearsal().parked("a", ["g1", "g2"]);
      play.consume("a", one);
      expect(play.state("a")).toBe("waiting");
      expect(answered(play, "a", other, "yes").kind).toBe("open");
      play.consume("a", other);
      expect(play.state("a")).toBe("busy");
    }
  });

  test("are consumed once", () => {
    const play = new Rehearsal().parked("a", ["g", "other"]);
    play.consume("a", "g");
    const before = play.pool;
    expect(play.consume("a", "g")).toEqual({ kind: "ignored", why: "gate_not_open" });
    expect(answered(play, "a", "g", "yes").kind).toBe("refused");
    expect(play.pool).toBe(before);
  });

  test("an id that is already held is not a second gate, nor after its answer was written", () => {
    const play = new Rehearsal().parked("a", ["g"]);
    expect(play.open("a", "g")).toEqual({ kind: "ignored", why: "gate_known" });
    play.consume("a", "g");
    expect(play.open("a", "g")).toEqual({ kind: "ignored", why: "gate_known" });
  });

  test("above the limit are refused too_many, and the others stay open", () => {
    const ids = Array.from({ length: OPEN_GATES_PER_SESSION }, (_, index) => `g${index}`);
    const play = new Rehearsal().parked("a", ids);
    const before = play.pool;
    expect(play.open("a", "one-more")).toEqual({ kind: "gate_refused", why: "too_many" });
    expect(play.pool).toBe(before);
    play.consume("a", "g0");
    expect(play.open("a", "one-more")).toEqual({ kind: "opened" });
  });

  test("handed back are open as before, and can be consumed again", () => {
    const play = new Rehearsal().parked("a", ["g"]);
    play.consume("a", "g");
    play.give({ kind: "answer_handed_back", gateId: "g", ...play.named("a") });
    expect(play.state("a")).toBe("waiting");
    expect(answered(play, "a", "g", "no").kind).toBe("open");
    expect(play.consume("a", "g").kind).toBe("done");
  });

  test("withdrawn by the agent close; the session goes on when it was the last", () => {
    const play = new Rehearsal().parked("a", ["g1", "g2"]);
    play.give({ kind: "gate_closed", gateId: "g1", ...play.named("a") });
    expect(play.state("a")).toBe("waiting");
    play.give({ kind: "gate_closed", gateId: "g2", ...play.named("a") });
    expect(play.state("a")).toBe("busy");
    expect(play.give({ kind: "gate_closed", gateId: "g2", ...play.named("a") }).kind).toBe("ignored");
  });

  test("withdrawn while their answer is sending are no longer waited for", () => {
    const play = new Rehearsal().parked("a", ["g1", "g2"]);
    play.consume("a", "g1");
    play.give({ kind: "gate_closed", gateId: "g1", ...play.named("a") });
    expect(play.slot("a")).toMatchObject({ state: "waiting", sending: [], clock: { runs: false } });
  });

  test("still open when the prompt settles close with it", () => {
    const play = new Rehearsal().parked("a", ["g1", "g2"]);
    play.consume("a", "g1");
    expect(play.settle("a")).toEqual({ kind: "settled", slot: "idle", gateIds: ["g2"], sendingGateIds: ["g1"] });
  });
});

describe("an agent that asks outside a running prompt is answered cancelled", () => {
  test.each([
    ["before its session is ready", (play: Rehearsal) => play.starting("a"), "no_prompt"],
    ["before its first prompt", (play: Rehearsal) => play.due("a"), "no_prompt"],
    ["between turns", (play: Rehearsal) => play.idle("a"), "no_prompt"],
    ["while its process is ended", (play: Rehearsal) => play.closing("a"), "closing"],
  ] as const)("%s", (_case, prepare, why) => {
    const play = prepare(new Rehearsal());
    const before = play.pool;
    expect(play.open("a", "g")).toEqual({ kind: "gate_cancelled", why });
    expect(play.pool).toBe(before);
  });

  test("a process that is gone has nothing to be answered", () => {
    const play = new Rehearsal();
    const reply = play.give({
      kind: "gate_opened",
      key: keyOf("a"),
      instance: "gone",
      gateId: "g",
      optionIds: OPTION_IDS,
    });
    expect(reply).toEqual({ kind: "ignored", why: "stale" });
  });
});

describe("a batch whose allowed call reports only after its sibling's gate is answered", () => {
  test("parks at once when the sibling needed no gate, and no turn limit fires", () => {
    const play = new Rehearsal(4).parked("a", ["g"], {
      limits: { turnLimitMs: 10_000, idleTtlMs: 60_000, approvalTtlMs: 300_000 },
    });
    play.wait(299_999);
    expect(play.state("a")).toBe("waiting");
    expect(play.effects).toEqual([]);
  });

  test("is bounded by the turn limit when the sibling had a gate of its own and was allowed first", () => {
    const play = new Rehearsal(4).parked("a", ["g1", "g2"], {
      limits: { turnLimitMs: 10_000, idleTtlMs: 60_000, approvalTtlMs: 300_000 },
    });
    play.consume("a", "g1");
    play.wait(9_999);
    expect(play.effects).toEqual([]);
    play.wait(1);
    expect(play.effects).toMatchObject([{ kind: "propose_eviction", reason: "turn_limit" }]);
  });
});
