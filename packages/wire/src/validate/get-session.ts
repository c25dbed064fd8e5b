// GetSession's request: a session.
import type { GetSessionRequest } from "@holdfast/proto";
import { checkSessionId } from "./text.ts";
import { type Validated, Violations } from "./violations.ts";

export type ValidGetSession = { readonly sessionId: string };

export function validateGetSession(request: GetSessionRequest): Validated<ValidGetSession> {
  const found = new Violations();
  checkSessionId(found, "session_id", request.sessionId);
  return found.settle("GetSession", () => ({ sessionId: request.sessionId }));
}
