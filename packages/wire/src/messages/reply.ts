// What the record's decisions give back, as responses.
import { create } from "@bufbuild/protobuf";
import type { AnswerReceipt, StopReceipt } from "@holdfast/pool";
import {
  type CancelTurnResponse,
  CancelTurnResponseSchema,
  type RespondApprovalResponse,
  RespondApprovalResponseSchema,
} from "@holdfast/proto";
import { dispositionFields, recoverableMessage } from "./answer.ts";

export function respondApprovalResponse(receipt: AnswerReceipt): RespondApprovalResponse {
  const { answerId, commandId, turnId, execution, duplicate, openGateIds } = receipt;
  return create(RespondApprovalResponseSchema, {
    answerId,
    commandId,
    turnId,
    execution,
    duplicate,
    ...dispositionFields(receipt.disposition),
    recoverable: recoverableMessage(receipt.recoverable),
    openGateIds: [...openGateIds],
  });
}

export function cancelTurnResponse({ commandId, turnId, execution, duplicate }: StopReceipt): CancelTurnResponse {
  return create(CancelTurnResponseSchema, { commandId, turnId, execution, duplicate });
}
