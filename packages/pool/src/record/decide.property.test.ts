// Random lives of one session: commands of owners, claimants, gateways and former owners, fitting and not, while time passes.
// What must hold is in test-promises.ts.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DISPOSITIONS, GATE_CLOSE_REASONS, MOOT_REASONS, OUTCOMES } from "../reasons.ts";
import type { RecordCommand, Writer } from "./command.ts";
import { decide, isWritten } from "./decide.ts";
import { openTurn, pendingGates } from "./moves.ts";
import type { SessionRecord } from "./record.ts";
import { Witness } from "./test-promises.ts";
import { anAnswer, aPrompt, aSettlement, aStop, claimant, GATEWAY, HEIR, Ledger } from "./test-record.ts";
import { STEP_KINDS, type Step, type StepKind, Walk } from "./test-walk.ts";

const RUNS = 3_000;
const STEPS_PER_RUN = 60;
/** The run that has to come across everything is always the same one. */
const FIXED_SEED = 20_261_130;

/** What happens often in a session's life; the rest has weight 1. */
const WEIGHTS: Partial<Record<StepKind, number>> = {
  prompt: 4,
  claim: 2,
  ready: 3,
  ask: 7,
  answer: 7,
  admit: 6,
  attempt: 3,
  report: 2,
  settle: 2,
  deposed: 2,
};

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(...STEP_KINDS.map((kind) => ({ arbitrary: fc.constant(kind), weight: WEIGHTS[kind] ?? 1 }))),
  pick: fc.nat({ max: 10_000 }),
  twist: fc.nat({ max: 3 }),
});
const life = fc.array(step, { minLength: 1, maxLength: STEPS_PER_RUN, size: "max" });

/** Leads one life and looks at each decision of it; `each` sees what was decided on what. */
function live(
  steps: readonly Step[],
  each: (before: SessionRecord | null, by: Writer, command: RecordCommand, ledger: Ledger) => void = () => undefined,
): { ledger: Ledger; witness: Witness } {
  const ledger = new Ledger();
  const walk = new Walk(ledger);
  const witness = new Witness();
  for (const taken of steps) {
    const before = freeze(ledger.held);
    const move = walk.move(taken);
    if (move === null) continue;
    each(before, move.by, move.command, ledger);
    witness.watch(before, move, ledger.give(move.by, move.command, move.appended), ledger);
  }
  return { ledger, witness };
}

/** A decision that changes what it was given throws. */
function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  Object.values(value).forEach(freeze);
  return value;
}

describe("whatever happens to a session", () => {
  it("one owner writes, gates are consumed once, answers keep one true disposition, turns end once", () => {
    fc.assert(
      fc.property(life, (steps) => void live(steps)),
      { numRuns: RUNS },
    );
  });

  it("deciding twice with one operation is deciding once (D1)", () => {
    const decidedTwice = (before: SessionRecord | null, by: Writer, command: RecordCommand, { now }: Ledger) => {
      const operation = { id: "twice", by, appended: [] };
      const once = decide(before, command, now, operation);
      expect(decide(before, command, now, operation)).toEqual(once);
      expect(isWritten(before, operation)).toBe(false);
      if (once.kind === "write") expect(isWritten(once.record, operation)).toBe(true);
    };
    fc.assert(
      fc.property(life, (steps) => void live(steps, decidedTwice)),
      { numRuns: RUNS / 5 },
    );
  });

  it("the same answer again has the ids of the first and changes no disposition (P3)", () => {
    fc.assert(
      fc.property(life, (steps) => {
        const { ledger } = live(steps);
        const held = [...ledger.record.gates, ...ledger.record.tombstones];
        for (const { gateId, state } of held) {
          if (state.kind !== "answered") continue;
          const { answerId, commandId, optionId, disposition } = state.answer;
          const again = ledger.give(GATEWAY, anAnswer(gateId, { choice: { optionId }, answerId: "x", commandId: "y" }));
          expect(again).toMatchObject({ result: { answerId, commandId, optionId, disposition, duplicate: true } });
        }
      }),
      { numRuns: RUNS / 5 },
    );
  });

  it("an answer that matches nothing is the identity (P4)", () => {
    fc.assert(
      fc.property(life, (steps) => {
        const { ledger } = live(steps);
        const before = ledger.record;
        const unmatched = [
          anAnswer("nowhere"),
          ...pendingGates(before).flatMap(({ gateId }) => [
            anAnswer(gateId, { choice: { optionId: "nonsense" } }),
            anAnswer(gateId, { digest: "of another call" }),
          ]),
          ...before.tombstones.flatMap(({ gateId, state }) => (state.kind === "closed" ? [anAnswer(gateId)] : [])),
        ];
        for (const answer of unmatched) expect(ledger.give(GATEWAY, answer).kind).toBe("refused");
        expect(ledger.record).toBe(before);
      }),
      { numRuns: RUNS / 5 },
    );
  });

  it("a dead owner's record is settled, and then a Stop, an answer and a prompt all work (E10, 86)", () => {
    fc.assert(
      fc.property(life, fc.boolean(), (steps, answersFirst) => {
        const { ledger } = live(steps);
        const { owner } = ledger.record;
        if (owner !== null) ledger.must(GATEWAY, { type: "settle_ownerless", dead: owner });
        const [gate] = pendingGates(ledger.record).filter(({ expiresAt }) => expiresAt > ledger.now);
        if (answersFirst && gate) ledger.must(GATEWAY, anAnswer(gate.gateId, { choice: { optionId: "allow-always" } }));
        if (openTurn(ledger.record) !== null) ledger.must(GATEWAY, aStop());
        const { next } = ledger.record;
        ledger.must(claimant(ledger, HEIR), aPrompt(next?.turnId ?? "the last one"));
        ledger.must(ledger.owner, aSettlement(ledger.record.turn?.turnId));
        expect(ledger.record.turn?.ending?.outcome).toBe("completed");
      }),
      { numRuns: RUNS / 5 },
    );
  });

  it("and the walks come across every disposition, outcome and reason there is", () => {
    const seen = new Set<string>();
    const gather = fc.property(life, (steps) => {
      for (const one of live(steps).witness.seen) seen.add(one);
    });
    fc.assert(gather, { numRuns: RUNS / 3, seed: FIXED_SEED });
    const reached = [
      ...DISPOSITIONS.filter((kind) => kind !== "moot"),
      ...MOOT_REASONS.filter((why) => why !== "expired").map((why) => `moot:${why}`),
      ...GATE_CLOSE_REASONS,
      ...OUTCOMES,
      ...["owner_dead", "tool_outcome_uncertain", "approval_expired", "STALE_EPOCH", "NOT_OWNER", "EXECUTION_ENDED"],
      ...["GATE_UNKNOWN", "GATE_CANCELLED", "GATE_EXPIRED", "GATE_SUPERSEDED", "GATE_ANSWERED_DIFFERENTLY"],
      ...["DIGEST_MISMATCH", "OPTION_NOT_OFFERED", "IDEMPOTENCY_KEY_REUSED", "TURN_IN_PROGRESS", "GATES_PENDING"],
    ];
    expect(reached.filter((one) => !seen.has(one))).toEqual([]);
  });
});
