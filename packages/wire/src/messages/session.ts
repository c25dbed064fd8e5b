// A session's record as callers see it, and what it is doing in one word.
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type * as pool from "@holdfast/pool";
import {
  FallReason,
  type Gate,
  type Message,
  Outcome,
  type Session,
  SessionSchema,
  type ToolCall,
  type TurnEvent,
  TurnEventSchema,
} from "@holdfast/proto";
import { fallReasons, outcomes, sessionStates } from "../enums/turn.ts";
import { errorDetail } from "./error-detail.ts";
import { gateMessage, tombstoneMessage } from "./gate.ts";

export type SessionView = {
  /** The number of the session's last event. */
  readonly lastSeq: number;
  /** Only for callers with the role admin. */
  readonly showPid: boolean;
  /** Whole calls by gate id; a gate without one shows its preview. */
  readonly calls?: ReadonlyMap<string, ToolCall>;
  /** The latest turn's closed gates as well (not in lists). */
  readonly closedGates?: boolean;
  /** Names of secrets that the next process needs and nobody has sent. */
  readonly secretsMissing?: readonly string[];
};

export function sessionMessage(record: pool.SessionRecord, view: SessionView): Session {
  return create(SessionSchema, {
    sessionId: record.sessionId,
    agent: record.agent,
    state: sessionStates.toWire(sessionState(record)),
    owner: ownerFields(record),
    turn: turnFields(record),
    gates: record.gates.map((gate) => gateMessage(gate, record, view.calls?.get(gate.gateId) ?? null)),
    lastSeq: BigInt(view.lastSeq),
    pid: view.showPid ? BigInt(record.process?.pid ?? 0) : 0n,
    labels: { ...record.labels },
    secretsMissing: [...(view.secretsMissing ?? [])],
    updatedAt: timestampFromMs(record.updatedAt),
    createdAt: timestampFromMs(record.createdAt),
    coldReason: record.process === null ? fallReasons.toWire(record.coldReason) : FallReason.UNSPECIFIED,
    closedGates: view.closedGates === true ? closedGates(record) : [],
  });
}

/**
 * An open turn shows what its newest execution does. Without one the session is idle while it has a process, else cold.
 * Between two executions of an open turn (a note that waits to be told, C7) it is queued: no process works on it.
 */
export function sessionState(record: pool.SessionRecord): pool.SessionState {
  const { turn, execution } = record;
  if (turn === null || turn.ending !== null) return record.process === null ? "cold" : "idle";
  switch (execution?.state) {
    case "running":
    case "parked":
    case "stopping":
      return execution.state;
    case "queued":
    case "continued":
    case "ended":
    case "lost":
    case undefined:
      return "queued";
  }
}

/** The first message of WatchSession (no seq). */
export type SnapshotView = SessionView & {
  /** The first number still kept; lastSeq + 1 when there is none. */
  readonly firstSeq: number;
  readonly inProgress: Message | null;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
};

export function snapshotEvent(record: pool.SessionRecord, view: SnapshotView): TurnEvent {
  return create(TurnEventSchema, {
    turnId: record.turn?.turnId ?? "",
    execution: record.execution?.number ?? 0,
    time: timestampFromMs(view.nowMs),
    event: {
      case: "snapshot",
      value: {
        session: sessionMessage(record, view),
        firstSeq: BigInt(view.firstSeq),
        lastSeq: BigInt(view.lastSeq),
        messageInProgress: view.inProgress ?? undefined,
      },
    },
  });
}

function ownerFields({ owner, epoch }: pool.SessionRecord) {
  return owner === null ? undefined : { runner: owner.runner, incarnation: owner.incarnation, epoch: BigInt(epoch) };
}

function turnFields({ turn, execution }: pool.SessionRecord) {
  if (turn === null) return undefined;
  const { ending } = turn;
  return {
    turnId: turn.turnId,
    execution: execution?.turnId === turn.turnId ? execution.number : 0,
    outcome: ending === null ? Outcome.UNSPECIFIED : outcomes.toWire(ending.outcome),
    openedAt: timestampFromMs(turn.openedAt),
    stopReason: ending?.stopReason ?? "",
    error: ending?.error ? errorDetail(ending.error) : undefined,
  };
}

function closedGates(record: pool.SessionRecord): Gate[] {
  return record.tombstones
    .filter((tombstone) => tombstone.turnId === record.turn?.turnId)
    .map((tombstone) => tombstoneMessage(tombstone, record));
}
