// Gates open, are taken back, and expire (A6, C4, C6, C10, D3, D13).
import { GATE_ROOM_BYTES, OPEN_GATES_PER_SESSION } from "../limits.ts";
import {
  type Decision,
  DONE,
  type GateDecision,
  type Moment,
  type OpenGate,
  same,
  type WithdrawGate,
  write,
} from "./command.ts";
import { CANCELLED, endTurn } from "./endings.ts";
import {
  answerOf,
  closeGate,
  DELIVERED,
  dispose,
  hasDisposition,
  isPending,
  moot,
  openTurn,
  park,
  pendingGates,
  running,
  SENDING,
  tell,
} from "./moves.ts";
import { resolveChoice } from "./option.ts";
import type { Answer, Gate, SessionRecord } from "./record.ts";
import { leastBytes } from "./size.ts";

export function openGate(held: SessionRecord, command: OpenGate, moment: Moment): Decision<GateDecision> {
  const { now } = moment;
  const turn = openTurn(held);
  if (turn === null || turn.turnId !== command.turnId || held.execution?.state === "stopping") {
    return same({ kind: "not_asked" });
  }
  const stored = storedFor(held, command);
  if (stored !== null) {
    const { gate, answer } = stored;
    const matched = dispose(held, now, gate.gateId, SENDING);
    const { optionId, verdict } = answer;
    return write(park(matched, now), { kind: "matched", gateId: gate.gateId, optionId, verdict });
  }
  const others = supersede(held, command, now);
  if (pendingGates(others).length >= OPEN_GATES_PER_SESSION) return same({ kind: "too_many" });
  const opened = park(addGate(others, command, now), now);
  return leastBytes(opened) > GATE_ROOM_BYTES ? same({ kind: "too_many" }) : write(opened, { kind: "opened" });
}

/** The oldest stored answer whose gate asked for exactly this call (C6), if the agent offers what was chosen (A7). */
function storedFor(held: SessionRecord, command: OpenGate): { gate: Gate; answer: Answer } | null {
  if (!command.bindable) return null;
  const fitting = held.gates.flatMap((gate) => {
    const answer = answerOf(gate);
    const fits = gate.bindable && gate.digest === command.digest && answer?.disposition.kind === "stored";
    return fits && answer !== null && offersStill(gate, answer, command) ? [{ gate, answer }] : [];
  });
  return fitting.sort((one, other) => one.answer.order - other.answer.order)[0] ?? null;
}

/** One option of that id, and of the kind that the human saw: never `always` where `once` was chosen (A8). */
function offersStill(gate: Gate, { optionId }: Answer, { options }: OpenGate): boolean {
  const chosen = resolveChoice(gate.options, { optionId });
  return chosen !== null && chosen.kind === resolveChoice(options, { optionId })?.kind;
}

/** An undecided call that is asked again by another process has one card, not two (C10). */
function supersede(held: SessionRecord, command: OpenGate, now: number): SessionRecord {
  const old = held.gates.find(
    (gate) => isPending(gate) && gate.instance !== command.instance && gate.digest === command.digest,
  );
  return old === undefined ? held : closeGate(held, now, old.gateId, "superseded", command.gateId);
}

function addGate(held: SessionRecord, command: OpenGate, now: number): SessionRecord {
  const { gateId, turnId, instance, callSeq, preview, options, digest, bindable } = command;
  const gate: Gate = {
    gateId,
    turnId,
    instance,
    callSeq,
    preview,
    options,
    digest,
    bindable,
    mayRepeat: uncertainLike(held, digest),
    openedAt: now,
    expiresAt: now + command.approvalExpiryMs,
    warm: true,
    state: { kind: "pending" },
  };
  const { state: _pending, warm: _warm, ...opened } = gate;
  return tell({ ...held, gates: [...held.gates, gate] }, now, gateId, { type: "gate_opened", gate: opened });
}

/** A gate of the same call whose answer may already have run it (D13). */
function uncertainLike(held: SessionRecord, digest: string): string | null {
  const alike = held.tombstones.findLast(
    ({ digest: of, state }) =>
      of === digest && state.kind === "answered" && state.answer.disposition.kind === "uncertain",
  );
  return alike?.gateId ?? null;
}

export function withdrawGate(held: SessionRecord, { gateId }: WithdrawGate, { now }: Moment): Decision<typeof DONE> {
  const gate = held.gates.find((known) => known.gateId === gateId);
  if (gate === undefined || !mayWithdraw(gate)) return same(DONE);
  const withdrawn = isPending(gate)
    ? closeGate(held, now, gateId, "withdrawn")
    : hasDisposition(gate, "sending")
      ? dispose(held, now, gateId, DELIVERED)
      : dispose(held, now, gateId, moot("withdrawn"));
  return write(park(running(withdrawn), now), DONE);
}

/** The process that asked, or the one a stored answer was matched for; of a process that is gone the gate stays (C4). */
function mayWithdraw(gate: Gate): boolean {
  return gate.warm || hasDisposition(gate, "sending");
}

export function expireGates(held: SessionRecord, { now }: Moment): Decision<typeof DONE> {
  const due = pendingGates(held).filter((gate) => gate.expiresAt <= now);
  if (due.length === 0) return same(DONE);
  const expired = due.reduce((record, gate) => closeGate(record, now, gate.gateId, "expired"), held);
  const waiting = expired.gates.length > 0 || expired.process !== null;
  if (waiting) return write(park(expired, now), DONE);
  return write(endTurn(expired, now, { ...CANCELLED, stopReason: "approval_expired" }), DONE);
}
