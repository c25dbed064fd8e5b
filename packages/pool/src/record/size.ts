// How large a record is, and what goes when it becomes too large. A write that may be refused is refused while there is still
// room; closed gates make way for everything; so that a Stop, a loss and an ending always fit.
//
//  Z1  Closed gates go oldest first, by number, by their own size, and by the room that the rest leaves them.
//  Z2  A closed gate whose note is due never goes (C7): NOTES_BYTES bounds them when the answer is taken.
//  Z3  Nothing else is ever dropped for its size.
import { NOTES_BYTES, RECORD_BYTES, TOMBSTONE_BYTES, TOMBSTONES_KEPT } from "../limits.ts";
import type { Gate, SessionRecord, Tombstone } from "./record.ts";
import { committed, dueNote, tombstoneOf } from "./tombstone.ts";

/** Bytes that the store writes for this value: the order of keys, which is all that its encoding changes, adds none. */
export function bytesOf(value: unknown): number {
  return utf8Bytes(JSON.stringify(value));
}

/** JSON has no lone surrogates, so every character has one encoding. */
function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    // A pair of surrogates is two units and four bytes: one more for each of them.
    if (unit >= 0x800) bytes += unit >= 0xd800 && unit <= 0xdfff ? 1 : 2;
    else if (unit >= 0x80) bytes += 1;
  }
  return bytes;
}

/** The record's size without the closed gates that it may drop. */
export function leastBytes(record: SessionRecord): number {
  return bytesOf({ ...record, tombstones: record.tombstones.filter((tombstone) => !mayGo(tombstone)) });
}

/** Z1: what is too much goes, oldest first. */
export function fitted(record: SessionRecord): SessionRecord {
  const droppable = record.tombstones.filter(mayGo);
  if (droppable.length === 0) return record;
  const room = Math.min(TOMBSTONE_BYTES, RECORD_BYTES - leastBytes(record));
  let bytes = bytesOf(droppable);
  const gone = new Set<Tombstone>();
  for (const tombstone of droppable) {
    if (bytes <= room && droppable.length - gone.size <= TOMBSTONES_KEPT) break;
    bytes -= bytesOf(tombstone) + ",".length;
    gone.add(tombstone);
  }
  return gone.size === 0 ? record : { ...record, tombstones: record.tombstones.filter((held) => !gone.has(held)) };
}

/** Z2. */
function mayGo(tombstone: Tombstone): boolean {
  return dueNote(tombstone) === "";
}

/** Whether the notes that agents have still to be told take more than their share. */
export function tooManyNotes(record: SessionRecord): boolean {
  const waiting = record.gates.flatMap((gate) => answeredWithNote(gate, record.updatedAt));
  const due = record.tombstones.filter((tombstone) => !mayGo(tombstone));
  return bytesOf([...waiting, ...due]) > NOTES_BYTES;
}

/** The gate as it will be once its answer is final. */
function answeredWithNote(gate: Gate, closedAt: number): readonly Tombstone[] {
  if (gate.state.kind === "pending" || gate.state.answer.note === "") return [];
  return [tombstoneOf(gate, closedAt, { kind: "answered", answer: committed(gate.state.answer) })];
}
