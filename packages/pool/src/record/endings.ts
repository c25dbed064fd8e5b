// How turns end and processes are lost: the parts that several decisions share, so that an ending is the same whoever
// brings it about, the first time or after a crash.
import { ERROR_MESSAGE_CHARACTERS } from "../limits.ts";
import type { ColdReason, GateCloseReason, MootReason, Outcome } from "../reasons.ts";
import {
  closeGate,
  dispose,
  freshAttempts,
  hasDisposition,
  isPending,
  moot,
  openTurn,
  queuedAnswers,
  repin,
  replaceGate,
  tell,
  UNCERTAIN,
  withAnswer,
} from "./moves.ts";
import type { AgentSession, Millis, SessionRecord, TurnError } from "./record.ts";
import { withoutNotes } from "./tombstone.ts";

export type GateEnding = {
  /** Why the gates that are still pending close. */
  readonly gates: GateCloseReason;
  /** What becomes of answers that no agent has seen. */
  readonly queued: MootReason;
  readonly stored: MootReason;
};
export type EndingWanted = GateEnding & {
  readonly outcome: Outcome;
  readonly stopReason: string;
  readonly error: TurnError | null;
  /** The agent's own session, if the prompt settled; any other ending leaves none to load (C2). */
  readonly agentSession?: AgentSession | null;
};

/** The gates' endings when a prompt settles by itself (C9). */
export const PROMPT_OVER: GateEnding = { gates: "turn_ended", queued: "turn_ended", stored: "not_reissued" };

export const CANCELLED: EndingWanted = {
  outcome: "cancelled",
  stopReason: "cancelled",
  error: null,
  gates: "cancelled",
  queued: "cancelled",
  stored: "cancelled",
};

/** Closes every gate; an answer still being written has no report to come and is uncertain. */
export function settleGates(record: SessionRecord, now: Millis, ending: GateEnding): SessionRecord {
  return record.gates.reduce((held, gate) => {
    if (isPending(gate)) return closeGate(held, now, gate.gateId, ending.gates);
    if (hasDisposition(gate, "queued")) return dispose(held, now, gate.gateId, moot(ending.queued));
    if (hasDisposition(gate, "stored")) return dispose(held, now, gate.gateId, moot(ending.stored));
    return dispose(held, now, gate.gateId, UNCERTAIN);
  }, record);
}

/** The turn's one ending (R3): every gate closes, every answer has a final disposition, no command stays open (D16). */
export function endTurn(record: SessionRecord, now: Millis, wanted: EndingWanted): SessionRecord {
  const turn = openTurn(record);
  if (turn === null || record.execution === null) return record;
  const closed = withoutNotes(settleGates(record, now, wanted));
  const { outcome, stopReason } = wanted;
  const error = wanted.error && { ...wanted.error, message: wanted.error.message.slice(0, ERROR_MESSAGE_CHARACTERS) };
  const ended: SessionRecord = {
    ...closed,
    turn: { ...turn, ending: { outcome, stopReason, at: now, error } },
    execution: { ...record.execution, state: outcome === "lost" ? "lost" : "ended", parkedAt: null },
    cancel: null,
    agentSession: wanted.agentSession ?? null,
  };
  return tell(ended, now, turn.turnId, {
    type: "ended",
    outcome,
    stopReason,
    error,
    moot: answersWith(ended, turn.turnId, "moot"),
    uncertain: answersWith(ended, turn.turnId, "uncertain"),
  });
}

function answersWith(record: SessionRecord, turnId: string, kind: "moot" | "uncertain"): string[] {
  return record.tombstones.flatMap((tombstone) =>
    tombstone.turnId === turnId &&
    tombstone.state.kind === "answered" &&
    tombstone.state.answer.disposition.kind === kind
      ? [tombstone.state.answer.answerId]
      : [],
  );
}

export type Loss = {
  readonly coldReason: ColdReason;
  /** How the turn ends if nothing is left to wait for; an uncertain answer makes it LOST whatever is said here (A18). */
  readonly outcome: Outcome;
  readonly stopReason: string;
  readonly error: TurnError | null;
  /** A new process begins the prompt again at once: a turn that lost nothing goes on (A18). */
  readonly restarts: boolean;
};

/**
 * The process that served this session is gone (D13): an answer that was being written is uncertain and never run again, a
 * stored one was never seen and is queued again. Then, in this order: a committed Stop ends the turn; queued answers wait
 * for a new process; pending gates stay answerable, cold; a turn that is begun again goes on; else the turn ends.
 */
export function loseProcess(record: SessionRecord, now: Millis, loss: Loss): SessionRecord {
  const settled = record.gates.reduce((held, gate) => {
    if (hasDisposition(gate, "sending")) return dispose(held, now, gate.gateId, UNCERTAIN);
    if (hasDisposition(gate, "stored")) {
      return replaceGate(held, gate.gateId, (stored) =>
        withAnswer(stored, (answer) => ({ ...answer, disposition: { kind: "queued" }, admitted: null, attempts: 0 })),
      );
    }
    return held;
  }, record);
  const cold: SessionRecord = {
    ...settled,
    gates: settled.gates.map((gate) => ({ ...gate, warm: false })),
    process: null,
    coldReason: loss.coldReason,
  };
  if (openTurn(cold) === null || cold.execution === null) return cold;
  if (cold.execution.state === "stopping") return endTurn(cold, now, CANCELLED);
  if (queuedAnswers(cold).length > 0) {
    return repin({ ...cold, execution: { ...cold.execution, state: "queued", parkedAt: null } });
  }
  if (cold.gates.some(isPending)) {
    const execution = { ...cold.execution, state: "parked" as const, parkedAt: cold.execution.parkedAt ?? now };
    return { ...cold, execution, next: null };
  }
  const uncertain = answersWith(cold, cold.execution.turnId, "uncertain").length > 0;
  if (loss.restarts && !uncertain)
    return { ...cold, execution: { ...cold.execution, state: "running", parkedAt: null } };
  const ending = uncertain
    ? { outcome: "lost" as const, stopReason: "tool_outcome_uncertain", error: loss.error }
    : { outcome: loss.outcome, stopReason: loss.stopReason, error: loss.error };
  return endTurn(cold, now, { ...PROMPT_OVER, ...ending });
}

/** Nobody owns the session any more (E1): the epoch grows, so whoever held it writes nothing again. */
export function release(record: SessionRecord): SessionRecord {
  return {
    ...freshAttempts(record),
    epoch: record.epoch + 1,
    owner: null,
    // Whoever waited to go on with the process waits for nothing any more: the next prompt may come from anyone.
    next: null,
    lastRunner: record.owner?.runner ?? record.lastRunner,
  };
}
