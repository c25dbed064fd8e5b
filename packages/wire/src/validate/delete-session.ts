// DeleteSession's request: what to remove.
import type { DeleteSessionRequest } from "@holdfast/proto";
import { checkSessionId } from "./text.ts";
import { type Validated, Violations } from "./violations.ts";

export type ValidDeleteSession = { readonly sessionId: string };

export function validateDeleteSession(request: DeleteSessionRequest): Validated<ValidDeleteSession> {
  const found = new Violations();
  checkSessionId(found, "session_id", request.sessionId);
  return found.settle("DeleteSession", () => ({ sessionId: request.sessionId }));
}
