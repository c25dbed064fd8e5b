// What is left of a closed gate (D5): enough to recognise a retry, to say what was decided, and to tell the agent a denial
// note that it has not seen (C7).
import type { Answer, CommittedAnswer, Gate, Millis, SessionRecord, Tombstone, TombstoneState } from "./record.ts";

/** A closed gate is named by at most so much of its title. */
const TITLE_CHARACTERS = 120;

export function tombstoneOf(gate: Gate, closedAt: Millis, state: TombstoneState): Tombstone {
  return {
    gateId: gate.gateId,
    turnId: gate.turnId,
    toolCallId: gate.preview.toolCallId,
    title: gate.preview.title.slice(0, TITLE_CHARACTERS),
    digest: gate.digest,
    openedAt: gate.openedAt,
    closedAt,
    options: gate.options.map(({ optionId, kind }) => ({ optionId, kind })),
    state,
  };
}

/** An answer without what only its delivery needed. The note of one that never reached the agent is not told either. */
export function committed(answer: Answer): CommittedAnswer {
  const {
    traceparent: _traceparent,
    attempts: _attempts,
    recoverable: _recoverable,
    admitted: _admitted,
    ...kept
  } = answer;
  return kept.disposition.kind === "moot" ? { ...kept, note: "" } : kept;
}

/** The note that the agent has still to be told, or "". */
export function dueNote({ state }: Tombstone): string {
  return state.kind === "answered" ? state.answer.note : "";
}

/** Every note was told, or the turn is over and none will be. */
export function withoutNotes(record: SessionRecord): SessionRecord {
  const tombstones = record.tombstones.map((tombstone) => {
    const { state } = tombstone;
    if (state.kind === "closed" || state.answer.note === "") return tombstone;
    return { ...tombstone, state: { ...state, answer: { ...state.answer, note: "" } } };
  });
  return { ...record, tombstones };
}
