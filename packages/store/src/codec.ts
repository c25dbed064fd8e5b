// The encoding of session records (D, D17). The rules are those of `document.ts`.
import { RECORD_FORMAT, type SessionKey, type SessionRecord } from "@holdfast/pool";
import { decodeDocument, encodeDocument } from "./document.ts";
import { recordShape } from "./shape/record.ts";

export type DecodedRecord =
  | { readonly kind: "read"; readonly record: SessionRecord }
  /** Damaged, cut short or of a newer format; `why` names what is wrong. */
  | { readonly kind: "unreadable"; readonly why: string };

/** Canonical JSON on one line. Throws when the record breaks its own type: that is a bug of the caller. */
export function encodeRecord(record: SessionRecord): string {
  return encodeDocument(recordShape, record, `record ${record.project}/${record.sessionId}`);
}

/** `key` is the name it was found under: a document that names another session is damage too. */
export function decodeRecord(text: unknown, key?: SessionKey): DecodedRecord {
  const decoded = decodeDocument<SessionRecord>(recordShape, RECORD_FORMAT, text);
  if (decoded.kind === "unreadable") return decoded;
  const record = decoded.value;
  if (key !== undefined && (record.project !== key.project || record.sessionId !== key.sessionId)) {
    return { kind: "unreadable", why: `it says it is session ${record.sessionId} of project ${record.project}` };
  }
  return { kind: "read", record };
}
