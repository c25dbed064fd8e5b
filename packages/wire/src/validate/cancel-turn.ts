// CancelTurn's request: a Stop, maybe pinned to a turn or to one execution of it (D7).
import type { CancelTurnRequest } from "@holdfast/proto";
import { CHANNEL_CHARACTERS, MINTED_ID_CHARACTERS } from "./limits.ts";
import { checkKey, checkSessionId, checkText, orNull } from "./text.ts";
import { type Validated, Violations } from "./violations.ts";

export type ValidCancelTurn = {
  readonly sessionId: string;
  /** Null: the turn that is open. */
  readonly expectedTurn: string | null;
  /** Null: whichever is current. */
  readonly expectedExecution: number | null;
  readonly idempotencyKey: string | null;
  /** "" when the caller said nothing. */
  readonly channel: string;
};

export function validateCancelTurn(request: CancelTurnRequest): Validated<ValidCancelTurn> {
  const found = new Violations();
  checkSessionId(found, "session_id", request.sessionId);
  checkText(found, "expected_turn", request.expectedTurn, MINTED_ID_CHARACTERS);
  checkKey(found, "idempotency_key", request.idempotencyKey);
  checkText(found, "channel", request.channel, CHANNEL_CHARACTERS);
  return found.settle("CancelTurn", () => ({
    sessionId: request.sessionId,
    expectedTurn: orNull(request.expectedTurn),
    expectedExecution: request.expectedExecution === 0 ? null : request.expectedExecution,
    idempotencyKey: orNull(request.idempotencyKey),
    channel: request.channel,
  }));
}
