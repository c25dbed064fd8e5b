// The durable machine of one session. `decide` is pure: what is held, what is asked, when, by whom -> what to write, or why
// not. The shell reads, decides, swaps, and on a conflict reads and decides again; recovery is the same code.
//
//   command             given by   changes
//   open_turn           owner or claimant   a turn opens (with the claim in the same swap)
//   claim               claimant   an owner-less session gets an owner, epoch + 1
//   ready               owner      the process of a cold start, and `started` or `continued`
//   open_gate           owner      a gate opens, or a stored answer applies to the call
//   answer              gateway    answer, execution change and continue command, in one swap
//   stop                gateway    the execution is stopping, its gates close, its unsent answers are moot
//   attempt             gateway    a delivery is counted before it is sent
//   return_attempt      gateway    a delivery that proved nothing ran does not count
//   admit               owner      the answer is sending (or stored, or moot) before a byte goes to the agent
//   admit_cancel        owner      the Stop is at the process, or the turn ends
//   hand_back           owner      the write was not made: queued again
//   report_answer       owner      applied
//   withdraw_gate       owner      the agent took its question back
//   expire_gates        owner; gateway when there is none
//   settle_prompt       owner      the turn ends, or its denial notes go out
//   lose_process        owner      the process is gone, the session released
//   mark_cold           owner      a waiting slot may be evicted
//   settle_ownerless    gateway    what a dead owner left is settled, epoch + 1, owner none
//   drop_appended       owner; gateway when there is none
//
// D1  A write that is already in (its operation is in the record) is not made twice.
// D2  An owner's write checks the epoch and who holds it; the swap checks the revision.
// The record's own invariants R1 to R6 are asserted on everything that is about to be written.
import { OPERATIONS_KEPT } from "../limits.ts";
import { giveAnswer } from "./answer.ts";
import { assertRecord } from "./assert.ts";
import {
  type Decision,
  type DecisionOf,
  DONE,
  type Moment,
  type Operation,
  type RecordCommand,
  type Results,
  refused,
  same,
  type Writer,
  write,
} from "./command.ts";
import { admit, attempt, handBack, reportAnswer, returnAttempt } from "./delivery.ts";
import { expireGates, openGate, withdrawGate } from "./gate.ts";
import { claim, losingProcess, markCold, settleOwnerless } from "./ownership.ts";
import type { Millis, SessionRecord } from "./record.ts";
import { notOwner, sessionUnknown, staleEpoch } from "./refusals.ts";
import { fitted } from "./size.ts";
import { admitCancel, stop } from "./stop.ts";
import { openTurnOf, ready, settlePrompt } from "./turn.ts";

type AnyDecision = Decision<Results[keyof Results]>;

/** `held` is null when the session does not exist yet. */
export function decide<C extends RecordCommand>(
  held: SessionRecord | null,
  command: C,
  now: Millis,
  operation: Operation,
): DecisionOf<C> {
  const decision = ruled(held, command, { now, by: operation.by });
  if (decision.kind !== "write") return decision as DecisionOf<C>;
  const record = sealed(decision.record, now, operation);
  assertRecord(held, record);
  return { ...decision, record } as DecisionOf<C>;
}

/** Whether this very operation has been written already: the caller keeps the result of its first deciding (D1). */
export function isWritten(held: SessionRecord | null, operation: Operation): boolean {
  return held?.operations.includes(operation.id) ?? false;
}

function sealed(record: SessionRecord, now: Millis, operation: Operation): SessionRecord {
  return fitted({
    ...record,
    updatedAt: now,
    outbox: record.outbox.filter((event) => !operation.appended.includes(event.id)),
    operations: [...record.operations, operation.id].slice(-OPERATIONS_KEPT),
  });
}

function ruled(held: SessionRecord | null, command: RecordCommand, moment: Moment): AnyDecision {
  if (held === null) {
    if (command.type === "open_turn" && moment.by.kind === "claimant" && moment.by.fromEpoch === 0) {
      return openTurnOf(null, command, moment);
    }
    return refused(sessionUnknown("sessionId" in command ? command.sessionId : ""));
  }
  const barred = mayNotWrite(held, moment.by, command.type);
  return barred ?? rule(held, command, moment);
}

const CLAIMANTS: readonly RecordCommand["type"][] = ["open_turn", "claim"];
const GATEWAYS: readonly RecordCommand["type"][] = [
  "answer",
  "stop",
  "attempt",
  "return_attempt",
  "expire_gates",
  "settle_ownerless",
  "drop_appended",
];

/**
 * P1: an owner's write is accepted only at the current epoch, a claim only of what nobody owns, and what takes an owner's
 * authority from nobody else. An owner may give every command.
 */
function mayNotWrite(held: SessionRecord, by: Writer, type: RecordCommand["type"]): AnyDecision | null {
  switch (by.kind) {
    case "gateway":
      return GATEWAYS.includes(type) ? null : refused(notOwner(held, "none"));
    case "owner":
      if (held.epoch !== by.epoch) return refused(staleEpoch(held, by.epoch));
      return held.owner?.incarnation === by.incarnation ? null : refused(notOwner(held, by.incarnation));
    case "claimant":
      if (held.epoch !== by.fromEpoch) return refused(staleEpoch(held, by.fromEpoch));
      return held.owner === null && CLAIMANTS.includes(type) ? null : refused(notOwner(held, by.owner.incarnation));
  }
}

function rule(held: SessionRecord, command: RecordCommand, moment: Moment): AnyDecision {
  switch (command.type) {
    case "open_turn":
      return openTurnOf(held, command, moment);
    case "claim":
      return moment.by.kind === "claimant" ? write(claim(held, moment.by.owner), DONE) : same(DONE);
    case "ready":
      return ready(held, command, moment);
    case "open_gate":
      return openGate(held, command, moment);
    case "answer":
      return giveAnswer(held, command, moment);
    case "stop":
      return stop(held, command, moment);
    case "attempt":
      return attempt(held, command, moment);
    case "return_attempt":
      return returnAttempt(held, command);
    case "admit":
      return admit(held, command, moment);
    case "admit_cancel":
      return admitCancel(held, command, moment);
    case "hand_back":
      return handBack(held, command, moment);
    case "report_answer":
      return reportAnswer(held, command, moment);
    case "withdraw_gate":
      return withdrawGate(held, command, moment);
    case "expire_gates":
      return isOwnersAffair(held, moment.by) ? same(DONE) : expireGates(held, moment);
    case "settle_prompt":
      return settlePrompt(held, command, moment);
    case "lose_process":
      return losingProcess(held, command, moment);
    case "mark_cold":
      return markCold(held, command, moment);
    case "settle_ownerless":
      return settleOwnerless(held, command, moment);
    case "drop_appended":
      return isOwnersAffair(held, moment.by) ? same(DONE) : write(held, DONE);
  }
}

/** A living owner closes its own gates and appends its own events; a gateway does it where there is none. */
function isOwnersAffair(held: SessionRecord, by: Writer): boolean {
  return by.kind === "gateway" && held.owner !== null;
}
