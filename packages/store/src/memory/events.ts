// Event logs in memory: one array of entries for each session.
import type { EventLog, LogEntry, LogTail, SessionKey } from "@holdfast/pool";
import { checkAppend, checkNumber, checkRead, EMPTY_LOG, judgeAppend, judgeMark } from "../append.ts";
import { type Bell, follow } from "../follow.ts";
import { keyName } from "../key.ts";
import { unknownInstead } from "../unavailable.ts";
import type { Step } from "./store.ts";

type Log = { readonly tail: LogTail; readonly entries: LogEntry[] };

export function memoryEvents(step: Step, bell: Bell): EventLog {
  const logs = new Map<string, Log>();
  const logOf = (key: SessionKey): Log => logs.get(keyName(key)) ?? { tail: EMPTY_LOG, entries: [] };
  const read = (key: SessionKey, after: number, limit: number) => {
    const { tail, entries } = logOf(key);
    const start = Math.max(0, after + 1 - tail.first);
    return entries.slice(start, start + limit);
  };

  return {
    append: async (key, epoch, expectedLast, events) => {
      checkAppend(epoch, expectedLast, events);
      const write = step(() => {
        const log = logOf(key);
        const verdict = judgeAppend(log.tail, epoch, expectedLast, events, (after, limit) => read(key, after, limit));
        if (verdict.kind !== "write") return verdict;
        const { last } = verdict;
        const added = events.map(({ id, body }, index) => ({ seq: expectedLast + 1 + index, epoch, id, body }));
        // In place: a read gives copies, so nobody else holds this list.
        log.entries.push(...added);
        logs.set(keyName(key), { tail: { first: log.tail.first, last, epoch }, entries: log.entries });
        bell.ring(key);
        return { kind: "appended", last } as const;
      });
      return unknownInstead(write);
    },

    mark: async (key, epoch) => {
      checkNumber("epoch", epoch);
      const write = step(() => {
        const log = logOf(key);
        const verdict = judgeMark(log.tail, epoch);
        if (verdict.kind !== "write") return verdict;
        logs.set(keyName(key), { ...log, tail: { ...log.tail, epoch } });
        return { kind: "appended", last: verdict.last } as const;
      });
      return unknownInstead(write);
    },

    tail: (key) => step(() => logOf(key).tail),

    holds: (key, ids) =>
      step(() => {
        const held = new Set(logOf(key).entries.map(({ id }) => id));
        return new Set(ids.filter((id) => held.has(id)));
      }),

    read: async (key, after, limit) => {
      checkRead(after, limit);
      return step(() => read(key, after, limit));
    },

    follow: (key, after, signal) => {
      checkNumber("after", after);
      const watch = async (): Promise<AsyncDisposable> => ({ [Symbol.asyncDispose]: async () => undefined });
      return follow({ bell, read: (...range) => step(() => read(...range)), watch }, key, after, signal);
    },
  };
}
