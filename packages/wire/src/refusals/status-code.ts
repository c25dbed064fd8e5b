// The one table from a refusal's reason to the status a caller gets. A caller can act on the code alone: what each proves
// is in the contract's table. Codes are the numbers gRPC and Connect share.
import { status } from "@grpc/grpc-js";
import type { RefusalReason } from "@holdfast/pool";

export const STATUS_CODES = {
  FIELD_INVALID: status.INVALID_ARGUMENT,
  OPTION_NOT_OFFERED: status.INVALID_ARGUMENT,
  AGENT_UNKNOWN: status.INVALID_ARGUMENT,
  CONFIG_TOO_LARGE: status.INVALID_ARGUMENT,
  SESSION_UNKNOWN: status.NOT_FOUND,
  GATE_UNKNOWN: status.FAILED_PRECONDITION,
  GATE_CANCELLED: status.FAILED_PRECONDITION,
  GATE_EXPIRED: status.FAILED_PRECONDITION,
  GATE_SUPERSEDED: status.FAILED_PRECONDITION,
  DIGEST_MISMATCH: status.FAILED_PRECONDITION,
  GATE_ANSWERED_DIFFERENTLY: status.ALREADY_EXISTS,
  IDEMPOTENCY_KEY_REUSED: status.ALREADY_EXISTS,
  STORE_UNAVAILABLE: status.UNAVAILABLE,
  // Damaged or of a newer version (D17): no retry helps, an operator has to look. Not UNAVAILABLE, or clients would retry.
  RECORD_UNREADABLE: status.DATA_LOSS,
  RECORD_TOO_LARGE: status.RESOURCE_EXHAUSTED,
  TURN_IN_PROGRESS: status.FAILED_PRECONDITION,
  GATES_PENDING: status.FAILED_PRECONDITION,
  EXECUTION_ENDED: status.FAILED_PRECONDITION,
  POOL_FULL: status.RESOURCE_EXHAUSTED,
  DRAINING: status.UNAVAILABLE,
  NOT_OWNER: status.FAILED_PRECONDITION,
  STALE_EPOCH: status.FAILED_PRECONDITION,
  AGENT_START_FAILED: status.FAILED_PRECONDITION,
  NOT_RESUMABLE: status.FAILED_PRECONDITION,
  SECRETS_MISSING: status.FAILED_PRECONDITION,
  CURSOR_EXPIRED: status.OUT_OF_RANGE,
  STREAM_CUT: status.UNAVAILABLE,
  WATCHERS_FULL: status.RESOURCE_EXHAUSTED,
  CREDENTIAL_INVALID: status.UNAUTHENTICATED,
  ROLE_MISSING: status.PERMISSION_DENIED,
  RPC_NOT_BUILT: status.UNIMPLEMENTED,
} as const satisfies Record<RefusalReason, status>;

/** How long a caller shall wait when the refusal itself does not say: reasons that pass by themselves. */
export const RETRY_AFTER_MS: Partial<Record<RefusalReason, number>> = {
  POOL_FULL: 1_000,
  DRAINING: 500,
  STORE_UNAVAILABLE: 1_000,
};
