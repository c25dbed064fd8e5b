// The event log's gate keeper, decided: what an append and a mark answer, from the log's end. Memory and sqlite share it;
// the caller holds whatever makes "read, judge, write" one step.
//
// L1  Numbers start at 1 and have no gap: an append continues exactly at the end, whole or not at all.
// L2  The log's epoch never falls, and no write below it is accepted (S4).
// L3  An append that is in already says so: the same ids at the same numbers from the same epoch (D14).
import { type AppendOutcome, EVENT_BYTES, type LogEntry, type LogEvent, type LogTail } from "@holdfast/pool";

/** Entries one read may return at once. */
const READ_ENTRIES = 1000;

export const EMPTY_LOG: LogTail = { first: 1, last: 0, epoch: 0 };

/** "write": append the events after `tail.last` and set the log's epoch. `entriesAfter` reads what the log holds. */
export function judgeAppend(
  tail: LogTail,
  epoch: number,
  expectedLast: number,
  events: readonly LogEvent[],
  entriesAfter: (after: number, limit: number) => readonly LogEntry[],
): Exclude<AppendOutcome, { kind: "unknown" }> | { readonly kind: "write"; readonly last: number } {
  if (epoch < tail.epoch) return { kind: "fenced", epoch: tail.epoch };
  const last = expectedLast + events.length;
  if (expectedLast === tail.last) return { kind: "write", last };
  if (events.length > 0 && expectedLast < tail.last && last <= tail.last) {
    const there = entriesAfter(expectedLast, events.length);
    const same = events.every((event, index) => there[index]?.id === event.id && there[index]?.epoch === epoch);
    if (same) return { kind: "appended", last };
  }
  return { kind: "conflict", last: tail.last };
}

export function judgeMark(
  tail: LogTail,
  epoch: number,
): { readonly kind: "fenced"; readonly epoch: number } | { readonly kind: "write"; readonly last: number } {
  return epoch < tail.epoch ? { kind: "fenced", epoch: tail.epoch } : { kind: "write", last: tail.last };
}

/** Throws for an append that no caller may ask for: a bug, not a state of the log. */
export function checkAppend(epoch: number, expectedLast: number, events: readonly LogEvent[]): void {
  checkNumber("epoch", epoch);
  checkNumber("expectedLast", expectedLast);
  for (const { id, body } of events) {
    const bytes = Buffer.byteLength(body);
    if (bytes > EVENT_BYTES) throw new RangeError(`event ${id} has ${bytes} bytes; at most ${EVENT_BYTES} fit`);
  }
}

/** Throws for a range of entries that no caller may ask for. */
export function checkRead(after: number, limit: number): void {
  checkNumber("after", after);
  checkLimit(limit, READ_ENTRIES);
}

export function checkNumber(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${name} ${value} is not a number from 0`);
}

export function checkLimit(limit: number, most: number): void {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > most) {
    throw new RangeError(`limit ${limit} is not a number from 1 to ${most}`);
  }
}
