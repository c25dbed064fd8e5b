// Stop is one swap, pinned to an execution (D7); its admission at the owner, and INTERRUPT, which is a Stop with a successor (A9).
import { STOPS_KEPT } from "../limits.ts";
import {
  type AdmitCancel,
  type CancelAdmission,
  type Decision,
  type Moment,
  refused,
  type Stop,
  type StopReceipt,
  same,
  write,
} from "./command.ts";
import { CANCELLED, endTurn } from "./endings.ts";
import { closeGate, dispose, hasDisposition, isPending, moot, openTurn, pendingGates } from "./moves.ts";
import type { Execution, SessionRecord, StopMark, Turn } from "./record.ts";
import { executionEnded, keyReused, turnOpen } from "./refusals.ts";

export function stop(held: SessionRecord, command: Stop, { now }: Moment): Decision<StopReceipt> {
  const known = held.stops.find((mark) => mark.idempotencyKey === command.idempotencyKey);
  if (command.idempotencyKey !== null && known !== undefined) {
    return known.contentDigest === command.contentDigest
      ? same(receipt(known, true))
      : refused(keyReused(held.sessionId, command.idempotencyKey));
  }
  const turn = openTurn(held);
  const execution = held.execution;
  if (turn === null || execution === null) return refused(executionEnded(held, "no turn is open; what was named"));
  if (command.expectedTurn !== null && command.expectedTurn !== turn.turnId) {
    return refused(executionEnded(held, `turn ${command.expectedTurn}`));
  }
  if (command.expectedExecution !== null && command.expectedExecution !== execution.number) {
    return refused(executionEnded(held, `execution ${command.expectedExecution}`));
  }
  if (execution.state === "stopping") return stopAgain(held, command);
  const spared = sparedFrom(command, turn, held);
  if (spared !== null) return refused(executionEnded(held, spared));
  return stopNow(held, turn, execution, command, now);
}

/** A11: a client that left stops only a turn that was opened so; and neither it nor a close takes an open gate away. */
function sparedFrom({ why }: Stop, turn: Turn, held: SessionRecord): string | null {
  if (why === "disconnect" && turn.onDisconnect !== "cancel") return "the turn goes on without its client, which";
  const leaving = why === "disconnect" || why === "close";
  return leaving && pendingGates(held).length > 0 ? "a gate is open, the park wins; what was left or closed" : null;
}

function stopNow(
  held: SessionRecord,
  turn: Turn,
  execution: Execution,
  command: Stop,
  now: number,
): Decision<StopReceipt> {
  const { commandId, principal, channel, why } = command;
  const closing = why === "interrupt" ? "superseded" : "cancelled";
  const closed = held.gates.reduce((record, gate) => {
    if (isPending(gate)) return closeGate(record, now, gate.gateId, closing);
    if (hasDisposition(gate, "sending")) return record;
    return dispose(record, now, gate.gateId, moot("cancelled"));
  }, held);
  const mark = stopMark(command, turn.turnId, execution.number);
  const stopping: SessionRecord = {
    ...closed,
    execution: { ...execution, state: "stopping", parkedAt: null },
    cancel: {
      commandId,
      execution: execution.number,
      reason: why,
      principal,
      channel,
      at: now,
      attempts: held.owner === null ? 0 : 1,
      admitted: null,
    },
    next: command.next ?? held.next,
    stops: [...held.stops, mark].slice(-STOPS_KEPT),
  };
  const done = held.owner === null ? endTurn(stopping, now, CANCELLED) : stopping;
  return write(done, receipt(mark, false));
}

/** Two Stops are one; an interrupting request waits its turn behind the Stop that is already there. */
function stopAgain(held: SessionRecord, command: Stop): Decision<StopReceipt> {
  const first = held.stops.at(-1);
  if (first === undefined) return refused(executionEnded(held, "a Stop that is not recorded"));
  if (command.next !== null && held.next !== null && held.next.turnId !== command.next.turnId) {
    return refused(turnOpen(held));
  }
  const mark = stopMark({ ...command, commandId: first.commandId }, first.turnId, first.execution);
  const stops = command.idempotencyKey === null ? held.stops : [...held.stops, mark].slice(-STOPS_KEPT);
  const next = command.next ?? held.next;
  if (stops === held.stops && next === held.next) return same(receipt(first, true));
  return write({ ...held, stops, next }, receipt(first, true));
}

function stopMark({ commandId, idempotencyKey, contentDigest }: Stop, turnId: string, execution: number): StopMark {
  return { commandId, turnId, execution, idempotencyKey, contentDigest };
}

function receipt({ commandId, turnId, execution }: StopMark, duplicate: boolean): StopReceipt {
  return { commandId, turnId, execution, duplicate };
}

export function admitCancel(held: SessionRecord, command: AdmitCancel, { now }: Moment): Decision<CancelAdmission> {
  const { cancel } = held;
  if (cancel === null || openTurn(held) === null || cancel.commandId !== command.commandId) {
    const known = held.stops.some(({ commandId }) => commandId === command.commandId);
    return known ? same({ kind: "already" }) : refused(executionEnded(held, `cancel command ${command.commandId}`));
  }
  if (!command.live) return write(endTurn(held, now, CANCELLED), { kind: "ended" });
  if (cancel.admitted !== null) return same({ kind: "already" });
  return write({ ...held, cancel: { ...cancel, admitted: command.delivery } }, { kind: "cancel" });
}
