// The contract of records: compare-and-set (S1), writes that recognise themselves (S2), reads that are never old.
import { OPERATIONS_KEPT, RECORD_BYTES, type RecordStore, type SessionKey, type SessionRecord } from "@holdfast/pool";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StoreUnavailable } from "../src/index.ts";
import { countOf, firstRecord, fullRecord, KEY, nextRecord } from "./sample.ts";
import { type Open, sharedStore } from "./subject.ts";

const WRITERS = 8;

export function recordContract(open: Open, propertyRuns: number): void {
  describe("a record", () => {
    const shared = sharedStore(open);

    it("is absent until it is created at revision 0, and comes back as it was given", () =>
      shared(async ({ records }, key) => {
        expect(await records.get(key)).toEqual({ kind: "absent" });
        const created = await records.swap(key, 0, fullRecord(key), "op-1");
        expect(created).toEqual({ kind: "swapped", revision: expect.any(Number) });
        expect(await records.get(key)).toEqual({ ...created, kind: "found", record: fullRecord(key) });
      }));

    it("keeps fields of a newer release when it is written again", () =>
      shared(async ({ records }, key) => {
        const turn = { ...fullRecord(key).turn, mood: "calm" };
        const newer = { ...fullRecord(key), turn, sharedWith: ["bob"] } as unknown as SessionRecord;
        const revision = await swapped(records, key, 0, newer, "op-1");
        const read = await found(records, key);
        await swapped(records, key, revision, nextRecord(read.record, "op-2"), "op-2");
        expect((await found(records, key)).record).toMatchObject({ sharedWith: ["bob"], turn: { mood: "calm" } });
      }));

    it("has one winner when several writers swap at one revision", () =>
      shared(async ({ records }, key) => {
        const revision = await swapped(records, key, 0, firstRecord(key, "op-1"), "op-1");
        const outcomes = await Promise.all(
          Array.from({ length: WRITERS }, (_, writer) =>
            records.swap(key, revision, nextRecord(firstRecord(key, "op-1"), `w-${writer}`), `w-${writer}`),
          ),
        );
        const winners = outcomes.flatMap((outcome, writer) => (outcome.kind === "swapped" ? [`w-${writer}`] : []));
        expect(winners).toHaveLength(1);
        expect(outcomes.filter(({ kind }) => kind === "conflict")).toHaveLength(WRITERS - 1);
        expect((await found(records, key)).record.operations.at(-1)).toBe(winners[0]);
      }));

    it("is neither created twice nor swapped at a revision that it does not have", () =>
      shared(async ({ records }, key) => {
        expect(await records.swap(key, 3, firstRecord(key, "op-1"), "op-1")).toEqual({ kind: "conflict" });
        const revision = await swapped(records, key, 0, firstRecord(key, "op-1"), "op-1");
        expect(await records.swap(key, 0, firstRecord(key, "op-2"), "op-2")).toEqual({ kind: "conflict" });
        expect(await records.swap(key, revision + 1, firstRecord(key, "op-2"), "op-2")).toEqual({ kind: "conflict" });
        expect((await found(records, key)).record).toEqual(firstRecord(key, "op-1"));
      }));

    it("answers a write that is sent again as it did the first time, and writes it once (S2)", () =>
      shared(async ({ records }, key) => {
        const first = await records.swap(key, 0, firstRecord(key, "op-1"), "op-1");
        expect(await records.swap(key, 0, firstRecord(key, "op-1"), "op-1")).toEqual(first);
        expect(await records.get(key)).toMatchObject({ ...first, kind: "found" });
      }));

    it("recognises a write after others wrote, without giving away their revision (S2)", () =>
      shared(async ({ records }, key) => {
        const one = firstRecord(key, "op-1");
        const revision = await swapped(records, key, 0, one, "op-1");
        const two = nextRecord(one, "op-2");
        await swapped(records, key, revision, two, "op-2");
        const again = await swapped(records, key, 0, one, "op-1");
        expect(await records.swap(key, again, nextRecord(one, "op-3"), "op-3")).toEqual({ kind: "conflict" });
        expect((await found(records, key)).record).toEqual(two);
      }));

    it("no longer recognises a write that left its list of operations", () =>
      shared(async ({ records }, key) => {
        let record = firstRecord(key, "op-0");
        let revision = await swapped(records, key, 0, record, "op-0");
        for (let write = 1; write <= OPERATIONS_KEPT; write += 1) {
          record = nextRecord(record, `op-${write}`);
          revision = await swapped(records, key, revision, record, `op-${write}`);
        }
        expect(await records.swap(key, 0, firstRecord(key, "op-0"), "op-0")).toEqual({ kind: "conflict" });
      }));

    it("is never read older than the last acknowledged swap", () =>
      shared(async ({ records }, key) => {
        let revision = 0;
        for (let write = 1; write <= 40; write += 1) {
          const record = { ...firstRecord(key, `op-${write}`), answerCount: write };
          revision = await swapped(records, key, revision, record, `op-${write}`);
          const [read, page] = await Promise.all([records.get(key), records.list(key.project, null, 500)]);
          expect(read).toEqual({ kind: "found", revision, record });
          expect(page.entries).toContainEqual(read);
        }
      }));

    it("loses no change when several writers read, change and swap it until they succeed", () =>
      shared(async ({ records }, key) => {
        await swapped(records, key, 0, firstRecord(key, "op-1"), "op-1");
        const changes = 10;
        const writer = async (name: string) => {
          for (let change = 0; change < changes; ) {
            const { revision, record } = await found(records, key);
            const operation = `${name}-${change}`;
            const outcome = await records.swap(key, revision, nextRecord(record, operation), operation);
            if (outcome.kind === "swapped") change += 1;
          }
        };
        await Promise.all(Array.from({ length: WRITERS }, (_, index) => writer(`w-${index}`)));
        expect(countOf((await found(records, key)).record)).toBe(WRITERS * changes);
      }));

    it("is refused above the size limit, with its size, and nothing is stored", () =>
      shared(async ({ records }, key) => {
        const sized = (bytes: number): SessionRecord => {
          const record = firstRecord(key, "op-1");
          const rest = JSON.stringify(record).length;
          return { ...record, config: { ...record.config, systemPrompt: "x".repeat(bytes - rest) } };
        };
        const over = await records.swap(key, 0, sized(RECORD_BYTES + 1), "op-1");
        expect(over).toEqual({ kind: "too_large", bytes: RECORD_BYTES + 1 });
        expect(await records.get(key)).toEqual({ kind: "absent" });
        await swapped(records, key, 0, sized(RECORD_BYTES), "op-1");
        expect((await found(records, key)).record).toEqual(sized(RECORD_BYTES));
      }));

    it("is its project's alone: the same session id elsewhere is another record", () =>
      shared(async ({ records }, key) => {
        const other = { project: "zenith", sessionId: key.sessionId };
        await swapped(records, key, 0, firstRecord(key, "op-1"), "op-1");
        expect(await records.get(other)).toEqual({ kind: "absent" });
        expect((await records.swap(other, 0, firstRecord(other, "op-2"), "op-2")).kind).toBe("swapped");
        expect((await found(records, key)).record).toEqual(firstRecord(key, "op-1"));
      }));

    it("is not written by a caller who breaks the contract", () =>
      shared(async ({ records }, key) => {
        const record = firstRecord(key, "op-1");
        await expect(records.swap(key, 0, record, "op-2")).rejects.toThrow("does not list operation op-2");
        await expect(records.swap({ ...key, project: "zenith" }, 0, record, "op-1")).rejects.toThrow(TypeError);
        await expect(records.swap(key, 0, { ...record, epoch: Number.NaN }, "op-1")).rejects.toThrow("epoch");
        await expect(records.swap(key, -1, record, "op-1")).rejects.toThrow(RangeError);
        expect(await records.get(key)).toEqual({ kind: "absent" });
      }));

    it("cannot be read after close, a swap is unknown then, and closing again is nothing", async () => {
      const store = await open();
      await store.close();
      await store.close();
      await expect(store.records.get(KEY)).rejects.toThrow(StoreUnavailable);
      const outcome = await store.records.swap(KEY, 0, firstRecord(KEY, "op-1"), "op-1");
      expect(outcome).toEqual({ kind: "unknown", why: expect.stringContaining("closed") });
    });

    it("answers any sequence of swaps as one counter of revisions would", () =>
      fc.assert(
        fc.asyncProperty(fc.array(swapStep(), { maxLength: 25 }), (steps) =>
          shared(async ({ records }, key) => {
            let sent: { readonly at: number; readonly record: SessionRecord; readonly operation: string }[] = [];
            let held: { readonly revision: number; readonly record: SessionRecord } | null = null;
            for (const [index, step] of steps.entries()) {
              const resent = step.kind === "resend" ? sent.at(-1 - step.back) : undefined;
              const at: number =
                resent?.at ?? Math.max(0, (held?.revision ?? 0) - (step.kind === "swap" ? step.old : 0));
              const operation = resent?.operation ?? `op-${index}`;
              const record: SessionRecord =
                resent?.record ?? nextRecord(held?.record ?? firstRecord(key, "op"), operation);
              const outcome = await records.swap(key, at, record, operation);
              const isIn: boolean =
                at < (held?.revision ?? 0) && (held?.record.operations.includes(operation) ?? false);
              expect(outcome.kind).toBe(isIn || at === (held?.revision ?? 0) ? "swapped" : "conflict");
              if (outcome.kind === "swapped" && !isIn) held = { revision: outcome.revision, record };
              sent = [...sent, { at, record, operation }];
              const expected = held === null ? { kind: "absent" } : { kind: "found", ...held };
              expect(await records.get(key)).toEqual(expected);
            }
          }),
        ),
        { numRuns: propertyRuns },
      ));
  });
}

/** A swap at the current revision or an older one, or an earlier swap sent again. */
function swapStep() {
  return fc.oneof(
    fc.record({ kind: fc.constant("swap" as const), old: fc.constantFrom(0, 0, 0, 1, 2) }),
    fc.record({ kind: fc.constant("resend" as const), back: fc.nat({ max: 10 }) }),
  );
}

async function swapped(
  records: RecordStore,
  key: SessionKey,
  revision: number,
  record: SessionRecord,
  operation: string,
) {
  const outcome = await records.swap(key, revision, record, operation);
  if (outcome.kind !== "swapped") throw new Error(`expected a swap, got ${JSON.stringify(outcome)}`);
  return outcome.revision;
}

async function found(records: RecordStore, key: SessionKey) {
  const read = await records.get(key);
  if (read.kind !== "found") throw new Error(`expected a record, got ${JSON.stringify(read)}`);
  return read;
}
