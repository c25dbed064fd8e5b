// Event logs in sqlite: a row for each log's end, a row for each entry.
import type { AppendOutcome, LogEntry, LogEvent, LogTail, SessionKey } from "@holdfast/pool";
import { EMPTY_LOG, judgeAppend, judgeMark } from "../append.ts";
import type { Access } from "./desk.ts";

type MarkOutcome = Exclude<AppendOutcome, { kind: "conflict" }>;

export function eventCalls({ db, read, write }: Access) {
  const tailOf = db.prepare("SELECT first, last, epoch FROM logs WHERE project = ? AND session_id = ?");
  const setTail = db.prepare(
    "INSERT INTO logs (project, session_id, first, last, epoch) VALUES (?, ?, ?, ?, ?) " +
      "ON CONFLICT DO UPDATE SET first = excluded.first, last = excluded.last, epoch = excluded.epoch",
  );
  const add = db.prepare("INSERT INTO events (project, session_id, seq, epoch, id, body) VALUES (?, ?, ?, ?, ?, ?)");
  const entriesAfter = db.prepare(
    "SELECT seq, epoch, id, body FROM events WHERE project = ? AND session_id = ? AND seq > ? ORDER BY seq LIMIT ?",
  );
  const idIn = db.prepare("SELECT 1 FROM events WHERE project = ? AND session_id = ? AND id = ? LIMIT 1");

  const readTail = (key: SessionKey): LogTail => {
    const row = tailOf.get(key.project, key.sessionId);
    if (row === undefined) return EMPTY_LOG;
    return { first: Number(row.first), last: Number(row.last), epoch: Number(row.epoch) };
  };
  const readEntries = (key: SessionKey, after: number, limit: number): readonly LogEntry[] =>
    entriesAfter.all(key.project, key.sessionId, after, limit).map((row) => ({
      seq: Number(row.seq),
      epoch: Number(row.epoch),
      id: String(row.id),
      body: String(row.body),
    }));

  return {
    append: (
      key: SessionKey,
      epoch: number,
      expectedLast: number,
      events: readonly LogEvent[],
    ): Promise<AppendOutcome> =>
      write(() => {
        const tail = readTail(key);
        const verdict = judgeAppend(tail, epoch, expectedLast, events, (after, limit) =>
          readEntries(key, after, limit),
        );
        if (verdict.kind !== "write") return verdict;
        for (const [index, { id, body }] of events.entries()) {
          add.run(key.project, key.sessionId, expectedLast + 1 + index, epoch, id, body);
        }
        setTail.run(key.project, key.sessionId, tail.first, verdict.last, epoch);
        return { kind: "appended", last: verdict.last };
      }),

    mark: (key: SessionKey, epoch: number): Promise<MarkOutcome> =>
      write((): MarkOutcome => {
        const tail = readTail(key);
        const verdict = judgeMark(tail, epoch);
        if (verdict.kind !== "write") return verdict;
        setTail.run(key.project, key.sessionId, tail.first, tail.last, epoch);
        return { kind: "appended", last: verdict.last };
      }),

    tail: (key: SessionKey): Promise<LogTail> => read(() => readTail(key)),

    holds: (key: SessionKey, ids: readonly string[]): Promise<ReadonlySet<string>> =>
      read(() => new Set(ids.filter((id) => idIn.get(key.project, key.sessionId, id) !== undefined))),

    readLog: (key: SessionKey, after: number, limit: number): Promise<readonly LogEntry[]> =>
      read(() => readEntries(key, after, limit)),
  };
}
