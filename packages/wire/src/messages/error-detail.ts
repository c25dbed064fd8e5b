// Why a turn ended badly, as a message. The record keeps the reason as a word; the contract's enum has the same words, and
// one that it does not know stays readable in the metadata.
import { create } from "@bufbuild/protobuf";
import type { TurnError } from "@holdfast/pool";
import { type ErrorDetail, ErrorDetailSchema, ErrorReason, ErrorReasonSchema } from "@holdfast/proto";

export function errorDetail(error: TurnError): ErrorDetail {
  const { message, nextStep } = error;
  const reason = errorReason(error.reason);
  const metadata: Record<string, string> = reason === ErrorReason.UNSPECIFIED ? { reason: error.reason } : {};
  return create(ErrorDetailSchema, { reason, message, nextStep, metadata });
}

/** By its name without the prefix, in either case; UNSPECIFIED when the contract has no such name. */
function errorReason(name: string): ErrorReason {
  const found = ErrorReasonSchema.values.find((value) => value.localName === name.toUpperCase());
  return (found?.number ?? ErrorReason.UNSPECIFIED) as ErrorReason;
}
