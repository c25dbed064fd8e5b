// The record's refusals, worded in one place: what happened, to which session, what to do next.
import { LABELS } from "../limits.ts";
import { type Refusal, refusal } from "../refusal.ts";
import { pendingGates } from "./moves.ts";
import type { SessionRecord, Tombstone } from "./record.ts";

export function sessionUnknown(sessionId: string): Refusal {
  return refusal("SESSION_UNKNOWN", `session ${sessionId} does not exist`, "run a turn to create it, naming an agent", {
    session_id: sessionId,
  });
}

export function turnOpen(record: SessionRecord): Refusal {
  const turnId = record.turn?.turnId ?? "";
  const gates = pendingGates(record).map((gate) => gate.gateId);
  const metadata = { session_id: record.sessionId, turn_id: turnId, execution: `${record.execution?.number ?? 0}` };
  if (gates.length > 0) {
    return refusal(
      "GATES_PENDING",
      `session ${record.sessionId} waits for ${gates.length} answer(s) in turn ${turnId}`,
      "answer the gates or stop the turn",
      { ...metadata, gate_ids: gates.join(",") },
    );
  }
  const waits = record.execution?.state === "queued" && record.owner === null;
  return refusal(
    "TURN_IN_PROGRESS",
    waits
      ? `turn ${turnId} of session ${record.sessionId} has an answer that waits for a process`
      : `session ${record.sessionId} is working on turn ${turnId}`,
    waits ? "stop the turn to give the answer up" : "wait for its end, or stop it",
    metadata,
  );
}

/** A turn's labels are added to those of the session. */
export function tooManyLabels(sessionId: string): Refusal {
  const description = `the session would have more than ${LABELS} labels with these`;
  return {
    ...refusal(
      "FIELD_INVALID",
      `session ${sessionId}: labels ${description}`,
      "change the values of labels it has, or leave the new ones out",
      {
        session_id: sessionId,
      },
    ),
    violations: [{ field: "labels", description }],
  };
}

export function keyReused(sessionId: string, key: string): Refusal {
  return refusal(
    "IDEMPOTENCY_KEY_REUSED",
    `key "${key}" of session ${sessionId} was used with other content`,
    "use a new key for a new request",
    { session_id: sessionId, key },
  );
}

export function gateUnknown(sessionId: string, gateId: string): Refusal {
  return refusal("GATE_UNKNOWN", `session ${sessionId} has no gate ${gateId}`, "list the session's open gates", {
    session_id: sessionId,
    gate_id: gateId,
  });
}

export function gateClosed(sessionId: string, tombstone: Tombstone): Refusal {
  const { gateId, state } = tombstone;
  const why = state.kind === "closed" ? state.why : "answered";
  const supersededBy = state.kind === "closed" ? state.supersededBy : null;
  const reason = why === "expired" ? "GATE_EXPIRED" : why === "superseded" ? "GATE_SUPERSEDED" : "GATE_CANCELLED";
  return refusal(
    reason,
    `gate ${gateId} of session ${sessionId} is closed: ${why}`,
    supersededBy === null ? "nothing waits for this answer" : `answer gate ${supersededBy} instead`,
    {
      session_id: sessionId,
      gate_id: gateId,
      turn_id: tombstone.turnId,
      close_reason: why,
      ...(supersededBy === null ? {} : { superseded_by: supersededBy }),
    },
  );
}

/** `hasNote`: whether a shorter one would help. */
export function noRoomForAnswer(record: SessionRecord, gateId: string, hasNote: boolean): Refusal {
  return refusal(
    "RECORD_TOO_LARGE",
    `the record of session ${record.sessionId} has no room for this answer to gate ${gateId}; nothing was written`,
    hasNote ? "answer without a note, or when the notes before it were told" : "stop the turn, or wait for its end",
    { session_id: record.sessionId, gate_id: gateId },
  );
}

export function executionEnded(record: SessionRecord, asked: string): Refusal {
  return refusal(
    "EXECUTION_ENDED",
    `session ${record.sessionId}: ${asked} is not what runs now`,
    "read the session and decide again",
    {
      session_id: record.sessionId,
      turn_id: record.turn?.turnId ?? "",
      execution: `${record.execution?.number ?? 0}`,
      execution_state: record.execution?.state ?? "none",
    },
  );
}

export function notOwner(record: SessionRecord, incarnation: string): Refusal {
  return refusal(
    "NOT_OWNER",
    `session ${record.sessionId} is not owned by incarnation ${incarnation}`,
    "read the session again and address its owner",
    {
      session_id: record.sessionId,
      owner: record.owner?.runner ?? "",
      owner_incarnation: record.owner?.incarnation ?? "",
      epoch: `${record.epoch}`,
    },
  );
}

export function staleEpoch(record: SessionRecord, epoch: number): Refusal {
  return refusal(
    "STALE_EPOCH",
    `session ${record.sessionId} is at epoch ${record.epoch}, not ${epoch}`,
    "read the session again and address its owner",
    { session_id: record.sessionId, epoch: `${record.epoch}`, owner: record.owner?.runner ?? "" },
  );
}
