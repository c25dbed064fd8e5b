// Records in memory: encoded documents under their keys.
import type { RecordFound, RecordStore, RecordUnreadable, SessionKey } from "@holdfast/pool";
import { decodeRecord } from "../codec.ts";
import { decodeCursor, encodeCursor } from "../cursor.ts";
import { compareKeys, keyName } from "../key.ts";
import { checkListing, prepareRecord } from "../record-write.ts";
import { judgeSwap } from "../swap.ts";
import { unknownInstead } from "../unavailable.ts";
import type { Step } from "./store.ts";

/** A record as it lies in a store: its document may be of any format, and damaged. */
export type StoredRecord = { readonly key: SessionKey; readonly document: string };
type Row = { readonly key: SessionKey; readonly revision: number; readonly document: string };

export function memoryRecords(step: Step, begin: readonly StoredRecord[]): RecordStore {
  const rows = new Map<string, Row>(begin.map(({ key, document }) => [keyName(key), { key, revision: 1, document }]));

  return {
    get: (key) =>
      step(() => {
        const row = rows.get(keyName(key));
        return row === undefined ? { kind: "absent" } : read(row);
      }),

    swap: async (key, revision, record, operation) => {
      const prepared = prepareRecord(key, record, operation);
      if (prepared.kind === "too_large") return prepared;
      const write = step(() => {
        const row = rows.get(keyName(key));
        const verdict = judgeSwap(row === undefined ? null : held(row), revision, operation);
        if (verdict.kind !== "write") return verdict;
        const { project, sessionId } = key;
        const next = { key: { project, sessionId }, revision: verdict.revision, document: prepared.document };
        rows.set(keyName(key), next);
        return { kind: "swapped", revision: verdict.revision } as const;
      });
      return unknownInstead(write);
    },

    list: async (project, after, limit) => {
      checkListing(limit);
      const start = after === null ? null : decodeCursor(after);
      return step(() => {
        const wanted = [...rows.values()]
          .filter((row) => project === null || row.key.project === project)
          .filter((row) => start === null || compareKeys(row.key, start) > 0)
          .sort((one, other) => compareKeys(one.key, other.key));
        const page = wanted.slice(0, limit);
        const last = page.at(-1);
        const next = last === undefined || page.length === wanted.length ? null : encodeCursor(last.key);
        return { entries: page.map(read), next };
      });
    },
  };
}

function read(row: Row): RecordFound | RecordUnreadable {
  const decoded = decodeRecord(row.document, row.key);
  if (decoded.kind === "unreadable") return { kind: "unreadable", key: row.key, why: decoded.why };
  return { kind: "found", revision: row.revision, record: decoded.record };
}

function held(row: Row) {
  const found = read(row);
  return { revision: row.revision, operations: found.kind === "found" ? found.record.operations : null };
}
