// WatchSession's request: a session and the last event number seen.
import type { WatchSessionRequest } from "@holdfast/proto";
import { checkSessionId } from "./text.ts";
import { type Validated, Violations } from "./violations.ts";

export type ValidWatchSession = {
  readonly sessionId: string;
  /** Events after this number; 0: from the first one kept. */
  readonly afterSeq: number;
};

export function validateWatchSession(request: WatchSessionRequest): Validated<ValidWatchSession> {
  const found = new Violations();
  checkSessionId(found, "session_id", request.sessionId);
  found.check(request.afterSeq >= 0n, "after_seq", "must not be negative");
  found.check(request.afterSeq <= BigInt(Number.MAX_SAFE_INTEGER), "after_seq", "is larger than 2^53 - 1");
  return found.settle("WatchSession", () => ({ sessionId: request.sessionId, afterSeq: Number(request.afterSeq) }));
}
