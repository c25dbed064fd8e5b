// The closed sets: every reason, state and outcome the product can name. A value that is not listed here does not exist;
// the contract's enums, the metrics' label values and the tests are all made from these lists.

/** Why the pool ended a live process (A15). */
export const EVICTION_REASONS = [
  "idle_ttl",
  "approval_ttl",
  "lru",
  "memory",
  "config_changed",
  "history_changed",
  "credentials_changed",
  "credentials_expired",
  "workspace_lost",
  "agent_exited",
  "prompt_failed",
  "cancel_unsettled",
  "turn_limit",
  "owner_lost",
  "drain",
  "closed",
  "start_failed",
] as const;
export type EvictionReason = (typeof EVICTION_REASONS)[number];

/** Why no live process could be used (A15): every eviction reason, and three that no process ever had. */
export const COLD_REASONS = [...EVICTION_REASONS, "first_turn", "owner_dead", "not_resumable"] as const;
export type ColdReason = (typeof COLD_REASONS)[number];

/** Where a turn's memory came from (C1), best first. */
export const TIERS = ["warm", "load", "replay", "new"] as const;
export type Tier = (typeof TIERS)[number];

/** The single ending of a turn (D6). */
export const OUTCOMES = ["completed", "cancelled", "failed", "lost"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** What became of a committed answer (D12); the last four are final. */
export const DISPOSITIONS = ["queued", "stored", "sending", "applied", "delivered", "uncertain", "moot"] as const;
export type Disposition = (typeof DISPOSITIONS)[number];
export const FINAL_DISPOSITIONS: readonly Disposition[] = ["applied", "delivered", "uncertain", "moot"];

/** Why an answer never reached an agent (D12). */
export const MOOT_REASONS = ["cancelled", "turn_ended", "withdrawn", "not_reissued", "expired"] as const;
export type MootReason = (typeof MOOT_REASONS)[number];

/** Why a gate closed without an answer. */
export const GATE_CLOSE_REASONS = ["cancelled", "turn_ended", "withdrawn", "superseded", "expired"] as const;
export type GateCloseReason = (typeof GATE_CLOSE_REASONS)[number];

/** Why a permission request was answered with its reject option instead of becoming a gate (A6, B9). */
export const GATE_REFUSED_REASONS = ["too_large", "too_many"] as const;
export type GateRefusedReason = (typeof GATE_REFUSED_REASONS)[number];

/** The four kinds of option that ACP knows. */
export const OPTION_KINDS = ["allow_once", "allow_always", "reject_once", "reject_always"] as const;
export type OptionKind = (typeof OPTION_KINDS)[number];

export const VERDICTS = ["allow", "reject"] as const;
export type Verdict = (typeof VERDICTS)[number];

/** What a session is doing, as callers see it. `cold` is idle without a live process. */
export const SESSION_STATES = ["queued", "running", "parked", "stopping", "idle", "cold"] as const;
export type SessionState = (typeof SESSION_STATES)[number];
