// Sessions and turns: where memory came from, why a process fell, how a turn ended.
import type * as pool from "@holdfast/pool";
import { FallReason, Outcome, SessionState, Tier } from "@holdfast/proto";
import { enumTable } from "./enum-table.ts";

export const tiers = enumTable<pool.Tier, Tier>({
  warm: Tier.WARM,
  load: Tier.LOAD,
  replay: Tier.REPLAY,
  new: Tier.NEW,
});

/** Eviction reasons are a part of the cold reasons, so one table serves both. */
export const fallReasons = enumTable<pool.ColdReason, FallReason>({
  idle_ttl: FallReason.IDLE_TTL,
  approval_ttl: FallReason.APPROVAL_TTL,
  lru: FallReason.LRU,
  memory: FallReason.MEMORY,
  config_changed: FallReason.CONFIG_CHANGED,
  history_changed: FallReason.HISTORY_CHANGED,
  credentials_changed: FallReason.CREDENTIALS_CHANGED,
  credentials_expired: FallReason.CREDENTIALS_EXPIRED,
  workspace_lost: FallReason.WORKSPACE_LOST,
  agent_exited: FallReason.AGENT_EXITED,
  prompt_failed: FallReason.PROMPT_FAILED,
  cancel_unsettled: FallReason.CANCEL_UNSETTLED,
  turn_limit: FallReason.TURN_LIMIT,
  owner_lost: FallReason.OWNER_LOST,
  drain: FallReason.DRAIN,
  closed: FallReason.CLOSED,
  start_failed: FallReason.START_FAILED,
  first_turn: FallReason.FIRST_TURN,
  owner_dead: FallReason.OWNER_DEAD,
  not_resumable: FallReason.NOT_RESUMABLE,
});

export const outcomes = enumTable<pool.Outcome, Outcome>({
  completed: Outcome.COMPLETED,
  cancelled: Outcome.CANCELLED,
  failed: Outcome.FAILED,
  lost: Outcome.LOST,
});

export const sessionStates = enumTable<pool.SessionState, SessionState>({
  queued: SessionState.QUEUED,
  running: SessionState.RUNNING,
  parked: SessionState.PARKED,
  stopping: SessionState.STOPPING,
  idle: SessionState.IDLE,
  cold: SessionState.COLD,
});
