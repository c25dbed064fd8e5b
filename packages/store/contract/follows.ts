// The contract of following a log (P9): what is there, then what comes, each entry once and in order.
import type { EventLog, LogEntry, SessionKey } from "@holdfast/pool";
import { describe, expect, it } from "vitest";
import { events, KEY } from "./sample.ts";
import { type Open, sharedStore } from "./subject.ts";

export function followContract(open: Open): void {
  describe("a follow", () => {
    const shared = sharedStore(open);

    it("gives what is there after a number, then what comes, without gap or double", () =>
      shared(async ({ events: log }, key) => {
        await log.append(key, 1, 0, events("a", "b"));
        const reader = log.follow(key, 1, new AbortController().signal)[Symbol.asyncIterator]();
        expect(await seqOf(reader)).toBe(2);
        for (const last of [2, 3, 4]) {
          const next = seqOf(reader);
          await log.append(key, 1, last, events(`n-${last}`));
          expect(await next).toBe(last + 1);
        }
      }));

    it("sees every entry while the log is appended to as fast as it can be", () =>
      shared(async ({ events: log }, key) => {
        const total = 300;
        const writing = (async () => {
          for (let last = 0; last < total; last += 3) {
            await log.append(key, 1, last, events(`${last}-a`, `${last}-b`, `${last}-c`));
          }
        })();
        const readers = [0, 0, 150].map((after) => take(log, key, after, total));
        await writing;
        for (const numbers of await Promise.all(readers)) {
          expect(numbers).toEqual(
            Array.from({ length: numbers.length }, (_, index) => total - numbers.length + 1 + index),
          );
        }
      }));

    it("that begins beyond the end waits for the entry after its number", () =>
      shared(async ({ events: log }, key) => {
        const first = take(log, key, 2, 3);
        for (const last of [0, 1, 2]) await log.append(key, 1, last, events(`n-${last}`));
        expect(await first).toEqual([3]);
      }));

    it("shows no mark", () =>
      shared(async ({ events: log }, key) => {
        const entries = take(log, key, 0, 2);
        await log.append(key, 1, 0, events("a"));
        await log.mark(key, 2);
        await log.append(key, 2, 1, events("b"));
        expect(await entries).toEqual([1, 2]);
      }));

    it("ends when its signal aborts, while it waits and before it began, and leaves the others alone", () =>
      shared(async ({ events: log }, key) => {
        const abort = new AbortController();
        const ending = take(log, key, 0, 9, abort.signal);
        const staying = take(log, key, 0, 1);
        abort.abort();
        expect(await ending).toEqual([]);
        expect(await take(log, key, 0, 9, AbortSignal.abort())).toEqual([]);
        await log.append(key, 1, 0, events("a"));
        expect(await staying).toEqual([1]);
      }));

    it("ends when the store closes", async () => {
      const store = await open();
      const abort = new AbortController();
      const reader = store.events.follow(KEY, 0, abort.signal)[Symbol.asyncIterator]();
      await store.events.append(KEY, 1, 0, events("a"));
      expect(await seqOf(reader)).toBe(1);
      const waiting = reader.next();
      await store.close();
      expect(await waiting).toEqual({ done: true, value: undefined });
      expect(await take(store.events, KEY, 0, 1)).toEqual([]);
    });
  });
}

/** The numbers a follow gives until the number `until`, or until it ends. */
async function take(
  log: EventLog,
  key: SessionKey,
  after: number,
  until: number,
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly number[]> {
  const numbers: number[] = [];
  for await (const { seq } of log.follow(key, after, signal)) {
    numbers.push(seq);
    if (seq === until) break;
  }
  return numbers;
}

async function seqOf(reader: AsyncIterator<LogEntry>): Promise<number | undefined> {
  const next = await reader.next();
  return next.done === true ? undefined : next.value.seq;
}
