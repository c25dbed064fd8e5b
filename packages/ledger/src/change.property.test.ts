// Several writers change one record at once, each over a network of its own that fails as fast-check has it.
import type { Store } from "@holdfast/pool";
import fc from "fast-check";
import { expect, test } from "vitest";
import { changeRecord } from "./change.ts";
import { faults } from "./fixture/faults.ts";
import { FaultyStore } from "./fixture/faulty-store.ts";
import {
  A_STOP,
  anAnswer,
  answerIn,
  GATEWAY,
  KEY,
  must,
  parked,
  recordOf,
  running,
  worldOf,
} from "./fixture/session.ts";

const RUNS = { numRuns: 150 };

/** Writes something that matters to nobody. */
function rivalOf(store: Store) {
  let made = 0;
  return async () => {
    const read = await store.records.get(KEY);
    if (read.kind !== "found") throw new Error(read.kind);
    const operation = `rival-${++made}`;
    const labels = { ...read.record.labels, rival: `${made}` };
    const record = { ...read.record, labels, operations: [...read.record.operations, operation].slice(-8) };
    await store.records.swap(KEY, read.revision, record, operation);
  };
}

test("an operation applies at most once, and exactly once when it says written", () =>
  fc.assert(
    fc.asyncProperty(fc.array(faults(), { minLength: 1, maxLength: 5 }), async (schedules) => {
      const { store } = await running();
      await must(worldOf(store, "scene"), A_STOP, GATEWAY);
      const rival = rivalOf(store);
      const networks = schedules.map((schedule) => new FaultyStore(store, schedule, rival));
      const outcomes = await Promise.all(
        networks.map(async (network, writer) => {
          const world = worldOf(network, `w${writer}`);
          const count = { type: "attempt", commandId: A_STOP.commandId } as const;
          return [await changeRecord(world, KEY, count, GATEWAY), await changeRecord(world, KEY, count, GATEWAY)];
        }),
      );
      for (const network of networks) await network.settle();
      const told = outcomes.flat();
      const written = told.filter(({ kind }) => kind === "written");
      const unknown = told.flatMap((changed) => (changed.kind === "refused" ? [changed.refusal.reason] : []));
      const counted = ((await recordOf(store)).cancel?.attempts ?? 0) - 1;
      expect(counted).toBeGreaterThanOrEqual(written.length);
      expect(counted).toBeLessThanOrEqual(written.length + unknown.length);
      expect(written.length + unknown.length).toBe(told.length);
      expect(new Set(unknown).difference(new Set(["STORE_UNAVAILABLE"]))).toEqual(new Set());
      const revisions = written.map(({ held }) => held?.revision);
      expect(new Set(revisions).size).toBe(written.length);
    }),
    RUNS,
  ));

test("what is told of an answer is what the record has, and every gate has one winner", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(faults(), fc.constantFrom("yes", "no")), { minLength: 2, maxLength: 3 }),
      async (humans) => {
        const { store } = await parked("g1", "g2");
        const rival = rivalOf(store);
        const networks = humans.map(([schedule]) => new FaultyStore(store, schedule, rival));
        const told = await Promise.all(
          humans.flatMap(([, optionId], human) =>
            ["g1", "g2"].map(async (gateId) => {
              const network = networks[human] as FaultyStore;
              const command = anAnswer(gateId, `${gateId}-${human}`, optionId);
              const changed = await changeRecord(worldOf(network, command.answerId), KEY, command, GATEWAY);
              return { gateId, optionId, own: command.answerId, changed };
            }),
          ),
        );
        for (const network of networks) await network.settle();
        const record = await recordOf(store);
        for (const { gateId, optionId, own, changed } of told) {
          const answer = answerIn(record, gateId);
          if (changed.kind !== "refused") {
            const { result } = changed;
            expect([result.answerId, result.optionId]).toEqual([answer?.answerId, answer?.optionId]);
            if (!result.duplicate) expect(result.answerId).toBe(own);
            expect(result.optionId).toBe(optionId);
          } else if (changed.refusal.reason === "GATE_ANSWERED_DIFFERENTLY") {
            expect(changed.refusal.metadata.answer_id).toBe(answer?.answerId);
            expect(answer?.optionId).not.toBe(optionId);
          } else expect(changed.refusal.reason).toBe("STORE_UNAVAILABLE");
        }
        const answered = ["g1", "g2"].filter((gateId) => answerIn(record, gateId) !== null);
        expect(record.answerCount).toBe(answered.length);
      },
    ),
    RUNS,
  ));
