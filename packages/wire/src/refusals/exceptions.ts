// Errors that are no refusals, and what an exception stands for. Of our own failure a caller is told a code and an id to
// find it in the log, nothing else: no stack, no text of the exception, which may hold anything.
import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import { type Refusal, refusal } from "@holdfast/pool";
import { ErrorInfoSchema, type ErrorReason, type Status, StatusSchema } from "@holdfast/proto";
import { ERROR_DOMAIN, statusRefusal } from "./details.ts";
import { isServiceError, serviceErrorStatus } from "./service-error.ts";

/** ErrorInfo's reason for a bug of ours: not a refusal, since it proves nothing. */
export const INTERNAL_REASON = "INTERNAL_BUG" satisfies keyof typeof ErrorReason;
/** ErrorInfo's reason for a request above MAX_REQUEST_BYTES. */
export const TOO_LARGE_REASON = "MESSAGE_TOO_LARGE" satisfies keyof typeof ErrorReason;

/** `incident`: the correlation id under which the log has the cause. */
export function internalStatus(incident: string): Status {
  const message = `Internal error. The server's log has it as incident ${incident}.`;
  return bareStatus(status.INTERNAL, INTERNAL_REASON, message, { incident });
}

export function tooLargeStatus(bytes: number, limitBytes: number): Status {
  const message = `The request has ${bytes} bytes; at most ${limitBytes} are taken. Nothing was read of it.`;
  const metadata = { bytes: String(bytes), limit_bytes: String(limitBytes) };
  return bareStatus(status.RESOURCE_EXHAUSTED, TOO_LARGE_REASON, message, metadata);
}

function bareStatus(code: status, reason: string, message: string, metadata: Record<string, string>): Status {
  const info = create(ErrorInfoSchema, { domain: ERROR_DOMAIN, reason, metadata });
  return create(StatusSchema, { code, message, details: [anyPack(ErrorInfoSchema, info)] });
}

/**
 * The refusal an exception stands for, or null when it is a bug: the store could not be reached (whatever was written is
 * unknown, a retry with the same key is safe), or another server of ours refused and nobody on the way caught it.
 */
export function refusalOfException(error: unknown): Refusal | null {
  if (error instanceof Error && error.name === "StoreUnavailable") {
    return refusal(
      "STORE_UNAVAILABLE",
      "The store did not answer in time: it is unknown whether anything was written.",
      "Retry with the same idempotency_key or request_id.",
    );
  }
  if (!isServiceError(error)) return null;
  const found = serviceErrorStatus(error);
  return found === null ? null : statusRefusal(found);
}
