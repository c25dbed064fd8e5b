// CloseSession's request: whose process to end.
import type { CloseSessionRequest } from "@holdfast/proto";
import { checkKey, checkSessionId, orNull } from "./text.ts";
import { type Validated, Violations } from "./violations.ts";

export type ValidCloseSession = { readonly sessionId: string; readonly idempotencyKey: string | null };

export function validateCloseSession(request: CloseSessionRequest): Validated<ValidCloseSession> {
  const found = new Violations();
  checkSessionId(found, "session_id", request.sessionId);
  checkKey(found, "idempotency_key", request.idempotencyKey);
  return found.settle("CloseSession", () => ({
    sessionId: request.sessionId,
    idempotencyKey: orNull(request.idempotencyKey),
  }));
}
