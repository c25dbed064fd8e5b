// The contract of event logs: numbers without gaps, appends whole or not at all, fenced by epoch (S4), recognised when they
// are sent again (D14).
import { EVENT_BYTES, type EventLog, type LogEntry, type LogEvent, type SessionKey } from "@holdfast/pool";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StoreUnavailable } from "../src/index.ts";
import { events, KEY } from "./sample.ts";
import { type Open, sharedStore } from "./subject.ts";

export function eventContract(open: Open, propertyRuns: number): void {
  describe("a log", () => {
    const shared = sharedStore(open);

    it("is empty at first: its first number is 1, its last 0", () =>
      shared(async ({ events: log }, key) => {
        expect(await log.tail(key)).toEqual({ first: 1, last: 0, epoch: 0 });
        expect(await log.read(key, 0, 10)).toEqual([]);
      }));

    it("numbers its entries from 1 and gives them back with epoch, id and body", () =>
      shared(async ({ events: log }, key) => {
        const odd: LogEvent = { id: "odd", body: 'ü\u{1f9f7}\u2028\u0000"\n' };
        expect(await log.append(key, 3, 0, [...events("a"), odd])).toEqual({ kind: "appended", last: 2 });
        expect(await log.append(key, 4, 2, events("c"))).toEqual({ kind: "appended", last: 3 });
        expect(await log.tail(key)).toEqual({ first: 1, last: 3, epoch: 4 });
        expect(await log.read(key, 0, 10)).toEqual([
          { seq: 1, epoch: 3, ...events("a")[0] },
          { seq: 2, epoch: 3, ...odd },
          { seq: 3, epoch: 4, ...events("c")[0] },
        ]);
      }));

    it("is read after a number, at most as many as asked for", () =>
      shared(async ({ events: log }, key) => {
        await log.append(key, 1, 0, events("a", "b", "c", "d"));
        const numbers = async (after: number, limit: number) =>
          (await log.read(key, after, limit)).map(({ seq }) => seq);
        expect(await numbers(0, 2)).toEqual([1, 2]);
        expect(await numbers(2, 1000)).toEqual([3, 4]);
        expect(await numbers(4, 5)).toEqual([]);
        expect(await numbers(9, 5)).toEqual([]);
        for (const limit of [0, 1001]) await expect(log.read(key, 0, limit)).rejects.toThrow(RangeError);
        await expect(log.read(key, -1, 1)).rejects.toThrow(RangeError);
      }));

    it("is its session's alone", () =>
      shared(async ({ events: log }, key) => {
        const other = { ...key, project: "zenith" };
        await log.append(key, 5, 0, events("a", "b"));
        expect(await log.tail(other)).toEqual({ first: 1, last: 0, epoch: 0 });
        expect(await log.append(other, 1, 0, events("z"))).toEqual({ kind: "appended", last: 1 });
      }));

    it("refuses an append that does not continue at its end, and says where that is", () =>
      shared(async ({ events: log }, key) => {
        await log.append(key, 1, 0, events("a", "b"));
        for (const expectedLast of [0, 1, 3]) {
          expect(await log.append(key, 1, expectedLast, events("x", "y"))).toEqual({ kind: "conflict", last: 2 });
        }
        expect(await log.append(key, 1, 1, [])).toEqual({ kind: "conflict", last: 2 });
        expect(await log.append(key, 1, 2, [])).toEqual({ kind: "appended", last: 2 });
        expect(await idsOf(log, key)).toEqual(["a", "b"]);
      }));

    it("has one winner when several appends continue at one number", () =>
      shared(async ({ events: log }, key) => {
        const outcomes = await Promise.all(
          Array.from({ length: 6 }, (_, writer) => log.append(key, 1, 0, events(`${writer}-a`, `${writer}-b`))),
        );
        const winner = outcomes.findIndex(({ kind }) => kind === "appended");
        expect(outcomes.filter(({ kind }) => kind === "conflict")).toHaveLength(5);
        expect(await idsOf(log, key)).toEqual([`${winner}-a`, `${winner}-b`]);
      }));

    it("recognises an append that is sent again, also when more came after it", () =>
      shared(async ({ events: log }, key) => {
        const first = await log.append(key, 2, 0, events("a", "b"));
        expect(await log.append(key, 2, 0, events("a", "b"))).toEqual(first);
        await log.append(key, 2, 2, events("c"));
        expect(await log.append(key, 2, 0, events("a", "b"))).toEqual(first);
        expect(await idsOf(log, key)).toEqual(["a", "b", "c"]);
      }));

    it("does not take an append for another: other ids, another epoch, or only a part of it there", () =>
      shared(async ({ events: log }, key) => {
        await log.append(key, 2, 0, events("a", "b"));
        expect(await log.append(key, 2, 0, events("a", "x"))).toEqual({ kind: "conflict", last: 2 });
        expect(await log.append(key, 3, 0, events("a", "b"))).toEqual({ kind: "conflict", last: 2 });
        expect(await log.append(key, 2, 0, events("a", "b", "c"))).toEqual({ kind: "conflict", last: 2 });
        expect(await log.tail(key)).toEqual({ first: 1, last: 2, epoch: 2 });
      }));

    it("fences a writer below the highest epoch that has written", () =>
      shared(async ({ events: log }, key) => {
        await log.append(key, 7, 0, events("a"));
        expect(await log.append(key, 6, 1, events("b"))).toEqual({ kind: "fenced", epoch: 7 });
        expect(await log.mark(key, 6)).toEqual({ kind: "fenced", epoch: 7 });
        expect(await idsOf(log, key)).toEqual(["a"]);
      }));

    it("fences by a mark alone, which has no number and is not shown (E5)", () =>
      shared(async ({ events: log }, key) => {
        await log.append(key, 1, 0, events("a"));
        expect(await log.mark(key, 2)).toEqual({ kind: "appended", last: 1 });
        expect(await log.mark(key, 2)).toEqual({ kind: "appended", last: 1 });
        expect(await log.append(key, 1, 1, events("b"))).toEqual({ kind: "fenced", epoch: 2 });
        expect(await log.tail(key)).toEqual({ first: 1, last: 1, epoch: 2 });
        expect(await log.append(key, 2, 1, events("c"))).toEqual({ kind: "appended", last: 2 });
        expect(await idsOf(log, key)).toEqual(["a", "c"]);
      }));

    it("fences also when the mark is all there is, and also an append that is in", () =>
      shared(async ({ events: log }, key) => {
        await log.mark(key, 4);
        expect(await log.append(key, 3, 0, events("a"))).toEqual({ kind: "fenced", epoch: 4 });
        await log.append(key, 4, 0, events("a"));
        await log.mark(key, 5);
        expect(await log.append(key, 4, 0, events("a"))).toEqual({ kind: "fenced", epoch: 5 });
      }));

    it("tells which of some events it holds, wherever they are, and none of another session", () =>
      shared(async ({ events: log }, key) => {
        expect(await log.holds(key, ["a"])).toEqual(new Set());
        await log.append(key, 1, 0, events("a", "b"));
        await log.append(key, 2, 2, events("c"));
        expect(await log.holds(key, ["c", "x", "a", "a"])).toEqual(new Set(["a", "c"]));
        expect(await log.holds(key, [])).toEqual(new Set());
        expect(await log.holds({ ...key, project: "zenith" }, ["a"])).toEqual(new Set());
      }));

    it("takes an event of the largest size and refuses a larger one, with everything beside it", () =>
      shared(async ({ events: log }, key) => {
        const sized = (bytes: number) => ({ id: "big", body: "x".repeat(bytes) });
        await expect(log.append(key, 1, 0, [...events("a"), sized(EVENT_BYTES + 1)])).rejects.toThrow(RangeError);
        expect(await log.tail(key)).toEqual({ first: 1, last: 0, epoch: 0 });
        expect(await log.append(key, 1, 0, [sized(EVENT_BYTES)])).toEqual({ kind: "appended", last: 1 });
      }));

    it("cannot be read after close, and appends are unknown then", async () => {
      const { events: log, close } = await open();
      await close();
      await expect(log.read(KEY, 0, 1)).rejects.toThrow(StoreUnavailable);
      await expect(log.tail(KEY)).rejects.toThrow(StoreUnavailable);
      expect((await log.append(KEY, 1, 0, events("a"))).kind).toBe("unknown");
      expect((await log.mark(KEY, 1)).kind).toBe("unknown");
    });

    it("has no gap and no foreign entry after any sequence of appends and marks", () =>
      fc.assert(
        fc.asyncProperty(fc.array(logStep(), { maxLength: 25 }), (steps) =>
          shared(async ({ events: log }, key) => {
            let epoch = 0;
            let expected: readonly LogEntry[] = [];
            for (const [index, { kind, epoch: by, off, size }] of steps.entries()) {
              const batch = events(...Array.from({ length: size }, (_, part) => `${index}-${part}`));
              const at = Math.max(0, expected.length + off);
              const outcome = kind === "mark" ? await log.mark(key, by) : await log.append(key, by, at, batch);
              if (by < epoch) expect(outcome).toEqual({ kind: "fenced", epoch });
              else if (kind === "mark") expect(outcome).toEqual({ kind: "appended", last: expected.length });
              else if (at !== expected.length) expect(outcome).toEqual({ kind: "conflict", last: expected.length });
              else {
                expected = [...expected, ...batch.map((event, part) => ({ seq: at + 1 + part, epoch: by, ...event }))];
                expect(outcome).toEqual({ kind: "appended", last: expected.length });
              }
              if (outcome.kind === "appended") epoch = by;
            }
            expect(await log.read(key, 0, 1000)).toEqual(expected);
            expect(await log.tail(key)).toEqual({ first: 1, last: expected.length, epoch });
          }),
        ),
        { numRuns: propertyRuns },
      ));
  });
}

function logStep() {
  return fc.record({
    kind: fc.constantFrom("append" as const, "append" as const, "append" as const, "mark" as const),
    epoch: fc.nat({ max: 4 }),
    off: fc.constantFrom(0, 0, 0, -1, -2, 1),
    size: fc.integer({ min: 1, max: 4 }),
  });
}

async function idsOf(log: EventLog, key: SessionKey): Promise<readonly string[]> {
  return (await log.read(key, 0, 1000)).map(({ id }) => id);
}
