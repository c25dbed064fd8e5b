// The small moves that decisions are made of. Each takes a record and gives the next one; none of them decides anything.
import type { GateCloseReason, MootReason, Tier } from "../reasons.ts";
import type { StateEvent, Tell } from "./event.ts";
import type { Answer, AnswerDisposition, Gate, Millis, SessionRecord, TombstoneState } from "./record.ts";
import { committed, tombstoneOf } from "./tombstone.ts";

export const QUEUED: AnswerDisposition = { kind: "queued" };
export const STORED: AnswerDisposition = { kind: "stored" };
export const SENDING: AnswerDisposition = { kind: "sending" };
export const APPLIED: AnswerDisposition = { kind: "applied" };
export const DELIVERED: AnswerDisposition = { kind: "delivered" };
export const UNCERTAIN: AnswerDisposition = { kind: "uncertain" };
export const moot = (why: MootReason): AnswerDisposition => ({ kind: "moot", why });

export const answerOf = (gate: Gate): Answer | null => (gate.state.kind === "answered" ? gate.state.answer : null);
export const isPending = (gate: Gate): boolean => gate.state.kind === "pending";
export const hasDisposition = (gate: Gate, kind: AnswerDisposition["kind"]): boolean =>
  answerOf(gate)?.disposition.kind === kind;

/** The turn that is open now, or null. */
export function openTurn(record: SessionRecord) {
  return record.turn !== null && record.turn.ending === null ? record.turn : null;
}

export function pendingGates(record: SessionRecord): readonly Gate[] {
  return record.gates.filter(isPending);
}

export function queuedAnswers(record: SessionRecord): readonly Answer[] {
  return record.gates.flatMap((gate) => {
    const answer = answerOf(gate);
    return answer?.disposition.kind === "queued" ? [answer] : [];
  });
}

/** Puts a state event into the outbox (D14). The same id twice is one event. */
export function tell(record: SessionRecord, now: Millis, about: string, what: Tell): SessionRecord {
  const id = `${what.type}:${about}`;
  if (record.outbox.some((event) => event.id === id)) return record;
  const event: StateEvent = {
    id,
    turnId: record.turn?.turnId ?? "",
    execution: record.execution?.number ?? 0,
    at: now,
    tell: what,
  };
  return { ...record, outbox: [...record.outbox, event] };
}

/** A process goes on with the turn for a command's sake, in the execution that is the newest now. */
export function tellContinued(record: SessionRecord, now: Millis, commandId: string, tier: Tier): SessionRecord {
  return tell(record, now, `${startOf(record)}.${commandId}`, { type: "continued", commandId, tier });
}

/** What `started` and `continued` tell of: one process at one execution, which another process may have to repeat. */
export function startOf({ execution, process }: SessionRecord): string {
  return `${execution?.number ?? 0}.${process?.instance ?? ""}`;
}

export function replaceGate(record: SessionRecord, gateId: string, next: (gate: Gate) => Gate): SessionRecord {
  return { ...record, gates: record.gates.map((gate) => (gate.gateId === gateId ? next(gate) : gate)) };
}

export function withAnswer(gate: Gate, change: (answer: Answer) => Answer): Gate {
  const answer = answerOf(gate);
  return answer === null ? gate : { ...gate, state: { kind: "answered", answer: change(answer) } };
}

function isFinal(disposition: AnswerDisposition): boolean {
  return !["queued", "stored", "sending"].includes(disposition.kind);
}

/**
 * Sets an answer's disposition, by which its command is queued no longer and so not recoverable (D6); a final one turns its
 * gate into a tombstone, and is never changed (R2).
 */
export function dispose(
  record: SessionRecord,
  now: Millis,
  gateId: string,
  disposition: AnswerDisposition,
): SessionRecord {
  const gate = record.gates.find((held) => held.gateId === gateId);
  const answer = gate === undefined ? null : answerOf(gate);
  if (gate === undefined || answer === null) return record;
  const settled: Answer = { ...answer, disposition, recoverable: null };
  if (!isFinal(disposition)) return replaceGate(record, gateId, (held) => withAnswer(held, () => settled));
  return bury(record, now, gate, { kind: "answered", answer: committed(settled) });
}

/** Closes a pending gate without an answer and tells it. */
export function closeGate(
  record: SessionRecord,
  now: Millis,
  gateId: string,
  why: GateCloseReason,
  supersededBy: string | null = null,
): SessionRecord {
  const gate = record.gates.find((held) => held.gateId === gateId);
  if (gate === undefined || !isPending(gate)) return record;
  const buried = bury(record, now, gate, { kind: "closed", why, supersededBy });
  return tell(buried, now, gateId, { type: "gate_closed", gateId, reason: why });
}

function bury(record: SessionRecord, now: Millis, gate: Gate, state: TombstoneState): SessionRecord {
  return {
    ...record,
    gates: record.gates.filter((held) => held.gateId !== gate.gateId),
    tombstones: [...record.tombstones, tombstoneOf(gate, now, state)],
  };
}

/**
 * Writes whether the execution is parked (R6). approval_ttl runs from the moment it becomes so (D4), and a prompt that waited
 * behind the continuation is told of the gates instead of keeping its place (D8).
 */
export function park(record: SessionRecord, now: Millis): SessionRecord {
  const execution = record.execution;
  if (openTurn(record) === null || execution === null) return record;
  if (execution.state !== "running" && execution.state !== "parked") return record;
  const parked = pendingGates(record).length > 0 && queuedAnswers(record).length === 0;
  if (parked === (execution.state === "parked")) return record;
  const state = parked ? "parked" : "running";
  const next = parked ? null : record.next;
  return { ...record, next, execution: { ...execution, state, parkedAt: parked ? now : null } };
}

/** A process works on what was queued; whether that parks is for `park` to say. */
export function running(record: SessionRecord): SessionRecord {
  const { execution } = record;
  return execution?.state === "queued" ? { ...record, execution: { ...execution, state: "running" } } : record;
}

/** Attempts are counted per epoch (D8). */
export function freshAttempts(record: SessionRecord): SessionRecord {
  const gates = record.gates.map((gate) =>
    hasDisposition(gate, "queued") ? withAnswer(gate, (answer) => ({ ...answer, attempts: 0 })) : gate,
  );
  return { ...record, gates };
}

/** Pins every queued answer of the turn to the current execution (D4). */
export function repin(record: SessionRecord): SessionRecord {
  const execution = record.execution?.number ?? 0;
  const gates = record.gates.map((gate) =>
    hasDisposition(gate, "queued") ? withAnswer(gate, (answer) => ({ ...answer, execution })) : gate,
  );
  return { ...record, gates };
}

/** The execution that comes after the current one, in the same turn. */
export function nextExecution(record: SessionRecord, state: "queued" | "running"): SessionRecord {
  const current = record.execution;
  if (current === null) return record;
  const execution = {
    number: current.number + 1,
    turnId: current.turnId,
    parent: current.number,
    state,
    parkedAt: null,
  };
  return repin({ ...record, execution });
}
