// Records in sqlite: one row for each session, its document as text.
import type { RecordFound, RecordPage, RecordRead, RecordUnreadable, SessionKey, SwapOutcome } from "@holdfast/pool";
import { decodeRecord } from "../codec.ts";
import { encodeCursor } from "../cursor.ts";
import { type Held, judgeSwap } from "../swap.ts";
import type { Access } from "./desk.ts";

type Row = Readonly<Record<string, unknown>>;

const COLUMNS = "project, session_id AS sessionId, revision, document";
const PAGE = "(project, session_id) > (?, ?) ORDER BY project, session_id LIMIT ?";

export function recordCalls({ db, read, write }: Access) {
  const one = db.prepare(`SELECT ${COLUMNS} FROM records WHERE project = ? AND session_id = ?`);
  const pageOfProject = db.prepare(`SELECT ${COLUMNS} FROM records WHERE project = ? AND ${PAGE}`);
  const pageOfAll = db.prepare(`SELECT ${COLUMNS} FROM records WHERE ${PAGE}`);
  const put = db.prepare(
    "INSERT INTO records (project, session_id, revision, document) VALUES (?, ?, ?, ?) " +
      "ON CONFLICT DO UPDATE SET revision = excluded.revision, document = excluded.document",
  );

  return {
    getRecord: (key: SessionKey): Promise<RecordRead> =>
      read(() => {
        const row = one.get(key.project, key.sessionId);
        return row === undefined ? { kind: "absent" } : found(row);
      }),

    swapRecord: (key: SessionKey, revision: number, document: string, operation: string): Promise<SwapOutcome> =>
      write(() => {
        const row = one.get(key.project, key.sessionId);
        const verdict = judgeSwap(row === undefined ? null : held(row), revision, operation);
        if (verdict.kind !== "write") return verdict;
        put.run(key.project, key.sessionId, verdict.revision, document);
        return { kind: "swapped", revision: verdict.revision };
      }),

    listRecords: (project: string | null, after: SessionKey | null, limit: number): Promise<RecordPage> =>
      read(() => {
        // No id is empty, so this is before all of them.
        const start = [after?.project ?? "", after?.sessionId ?? ""] as const;
        // One more than asked for tells whether there is a next page.
        const rows =
          project === null ? pageOfAll.all(...start, limit + 1) : pageOfProject.all(project, ...start, limit + 1);
        const page = rows.slice(0, limit);
        const last = page.at(-1);
        const next = last === undefined || rows.length <= limit ? null : encodeCursor(keyOf(last));
        return { entries: page.map(found), next };
      }),
  };
}

function keyOf(row: Row): SessionKey {
  return { project: String(row.project), sessionId: String(row.sessionId) };
}

function found(row: Row): RecordFound | RecordUnreadable {
  const key = keyOf(row);
  const decoded = decodeRecord(row.document, key);
  if (decoded.kind === "unreadable") return { kind: "unreadable", key, why: decoded.why };
  return { kind: "found", revision: Number(row.revision), record: decoded.record };
}

function held(row: Row): Held {
  const decoded = decodeRecord(row.document, keyOf(row));
  return {
    revision: Number(row.revision),
    operations: decoded.kind === "read" ? decoded.record.operations : null,
  };
}
