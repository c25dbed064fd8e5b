// What every record store does before it stores anything: the record becomes the document that is written, or is refused.
import { RECORD_BYTES, type SessionKey, type SessionRecord } from "@holdfast/pool";
import { checkLimit } from "./append.ts";
import { encodeRecord } from "./codec.ts";

/** Records one listing may return at once. */
const LIST_RECORDS = 500;

export type PreparedRecord =
  | { readonly kind: "prepared"; readonly document: string }
  | { readonly kind: "too_large"; readonly bytes: number };

/** Throws when the record is not the key's, or does not list its own operation: it could never recognise itself (S2). */
export function prepareRecord(key: SessionKey, record: SessionRecord, operation: string): PreparedRecord {
  if (record.project !== key.project || record.sessionId !== key.sessionId) {
    throw new TypeError(
      `record ${record.project}/${record.sessionId} was swapped under ${key.project}/${key.sessionId}`,
    );
  }
  if (!record.operations.includes(operation)) {
    throw new TypeError(`record ${key.project}/${key.sessionId} does not list operation ${operation}`);
  }
  const document = encodeRecord(record);
  const bytes = Buffer.byteLength(document);
  return bytes > RECORD_BYTES ? { kind: "too_large", bytes } : { kind: "prepared", document };
}

export function checkListing(limit: number): void {
  checkLimit(limit, LIST_RECORDS);
}
