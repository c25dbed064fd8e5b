// Refusals are values of one closed union. Each proves that nothing was written and nothing was touched; the message says
// what happened to which session, `nextStep` what the caller can do. One table in the wire package maps them to status codes.

/** Every reason this system can refuse with; the names are those of ErrorReason in the contract. */
export const REFUSAL_REASONS = [
  "FIELD_INVALID",
  "OPTION_NOT_OFFERED",
  "AGENT_UNKNOWN",
  "CONFIG_TOO_LARGE",
  "SESSION_UNKNOWN",
  "GATE_UNKNOWN",
  "GATE_CANCELLED",
  "GATE_EXPIRED",
  "GATE_SUPERSEDED",
  "DIGEST_MISMATCH",
  "GATE_ANSWERED_DIFFERENTLY",
  "IDEMPOTENCY_KEY_REUSED",
  "STORE_UNAVAILABLE",
  "RECORD_UNREADABLE",
  "RECORD_TOO_LARGE",
  "TURN_IN_PROGRESS",
  "GATES_PENDING",
  "EXECUTION_ENDED",
  "POOL_FULL",
  "DRAINING",
  "NOT_OWNER",
  "STALE_EPOCH",
  "AGENT_START_FAILED",
  "NOT_RESUMABLE",
  "SECRETS_MISSING",
  "CURSOR_EXPIRED",
  "STREAM_CUT",
  "WATCHERS_FULL",
  "CREDENTIAL_INVALID",
  "ROLE_MISSING",
  "RPC_NOT_BUILT",
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** One invalid field: its path in the request, and what is wrong with it. */
export type FieldViolation = { readonly field: string; readonly description: string };

export type Refusal = {
  readonly reason: RefusalReason;
  /** What happened, to which session. For people; callers branch on the reason. */
  readonly message: string;
  /** What the caller can do now. */
  readonly nextStep: string;
  /** Ids and names a program can act on. Never a secret, a prompt or an argument value. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Only with FIELD_INVALID. */
  readonly violations?: readonly FieldViolation[];
  /** When a retry makes sense, how long to wait, in milliseconds. */
  readonly retryAfterMs?: number;
};

export function refusal(
  reason: RefusalReason,
  message: string,
  nextStep: string,
  metadata: Record<string, string> = {},
): Refusal {
  return { reason, message, nextStep, metadata };
}
