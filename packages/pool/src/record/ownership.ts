// Owners come and go (E1, A12, A20, D10, D13). Every change of owner grows the epoch (R4).
import {
  type ColdMark,
  type Decision,
  DONE,
  type LoseProcess,
  type MarkCold,
  type Moment,
  refused,
  type SettleOwnerless,
  same,
  write,
} from "./command.ts";
import { loseProcess, release } from "./endings.ts";
import { freshAttempts, hasDisposition, openTurn, park, pendingGates, queuedAnswers } from "./moves.ts";
import type { Owner, SessionRecord } from "./record.ts";
import { notOwner } from "./refusals.ts";

/** An owner-less session gets an owner. What a dead owner left was settled before (E10). */
export function claim(held: SessionRecord, owner: Owner): SessionRecord {
  return { ...freshAttempts(held), owner, epoch: held.epoch + 1, lastRunner: owner.runner, process: null };
}

export function losingProcess(held: SessionRecord, command: LoseProcess, { now }: Moment): Decision<typeof DONE> {
  const { reason, outcome, stopReason, error, release: leaves, restarts = false } = command;
  const lost = loseProcess(held, now, { coldReason: reason, outcome, stopReason, error, restarts });
  const goesOn = restarts && openTurn(lost) !== null && lost.execution?.state === "running";
  return write(leaves && !goesOn ? release(lost) : lost, DONE);
}

/**
 * A waiting slot may go (A20): its gates are marked cold before its process ends. Kept instead when its turn waits for no
 * gate, while an answer is queued (it will be admitted), and for memory also while one is being written.
 */
export function markCold(held: SessionRecord, { reason }: MarkCold, { now }: Moment): Decision<ColdMark> {
  const writing = held.gates.some((gate) => hasDisposition(gate, "sending"));
  const working = openTurn(held) !== null && pendingGates(held).length === 0;
  if (queuedAnswers(held).length > 0 || working || (reason === "memory" && writing)) return same({ kind: "kept" });
  const gates = held.gates.map((gate) => ({ ...gate, warm: false }));
  return write(park({ ...held, gates, process: null, coldReason: reason }, now), { kind: "cold" });
}

/** The named owner is dead: whoever finds out settles what it left, in one swap (D10). */
export function settleOwnerless(
  held: SessionRecord,
  { dead }: SettleOwnerless,
  { now }: Moment,
): Decision<typeof DONE> {
  if (held.owner === null) return same(DONE);
  if (held.owner.runner !== dead.runner || held.owner.incarnation !== dead.incarnation) {
    return refused(notOwner(held, dead.incarnation));
  }
  const lost = loseProcess(held, now, {
    coldReason: "owner_dead",
    outcome: "lost",
    stopReason: "owner_dead",
    error: {
      reason: "STREAM_CUT",
      message: `runner ${dead.runner} died while it worked on this turn`,
      nextStep: "run the turn again; check what it may have done before it was lost",
    },
    restarts: false,
  });
  return write(release(lost), DONE);
}
