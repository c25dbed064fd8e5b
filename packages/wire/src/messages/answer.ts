// A committed answer as callers see it.
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type * as pool from "@holdfast/pool";
import {
  type Answer,
  AnswerSchema,
  type Disposition,
  MootReason,
  type Recoverable,
  RecoverableSchema,
} from "@holdfast/proto";
import { dispositions, mootReasons, verdicts } from "../enums/gate.ts";

/** One on its way may be recoverable; one of a closed gate is not. */
export function answerMessage(answer: pool.CommittedAnswer & Partial<pool.Answer>): Answer {
  return create(AnswerSchema, {
    answerId: answer.answerId,
    optionId: answer.optionId,
    verdict: verdicts.toWire(answer.verdict),
    principal: answer.principal,
    channel: answer.channel,
    at: timestampFromMs(answer.at),
    ...dispositionFields(answer.disposition),
    recoverable: recoverableMessage(answer.recoverable ?? null),
  });
}

/** The two fields that tell a disposition, in Answer and in RespondApprovalResponse alike. */
export function dispositionFields(disposition: pool.AnswerDisposition): {
  readonly disposition: Disposition;
  readonly mootReason: MootReason;
} {
  return {
    disposition: dispositions.toWire(disposition.kind),
    mootReason: disposition.kind === "moot" ? mootReasons.toWire(disposition.why) : MootReason.UNSPECIFIED,
  };
}

/** Undefined while delivery goes on. */
export function recoverableMessage(reason: string | null): Recoverable | undefined {
  return reason === null ? undefined : create(RecoverableSchema, { reason, nextStep: nextStep(reason) });
}

function nextStep(reason: string): string {
  return reason === "SECRETS_MISSING"
    ? "Send the secrets that Session.secrets_missing names, with RunTurn or with the same answer again."
    : "Send the same answer again, or the next RunTurn: either delivers it first.";
}
