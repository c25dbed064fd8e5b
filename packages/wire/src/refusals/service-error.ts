// Refusals as grpc-js errors, on the way out and on the way in.
import { toBinary } from "@bufbuild/protobuf";
import { Metadata, type ServiceError, type StatusObject, status } from "@grpc/grpc-js";
import type { Refusal } from "@holdfast/pool";
import { type Status, StatusSchema } from "@holdfast/proto";
import { decodeStatus, refusalStatus, statusRefusal } from "./details.ts";

/** The trailer that carries google.rpc.Status. */
export const STATUS_DETAILS_KEY = "grpc-status-details-bin";

/** An Error that grpc-js turns into exactly this status: for a unary callback, or `emit("error")` on a stream. */
export function toServiceError(refusal: Refusal): ServiceError {
  return statusServiceError(refusalStatus(refusal));
}

/** The same for any google.rpc.Status. */
export function statusServiceError(message: Status): ServiceError {
  const metadata = new Metadata();
  metadata.set(STATUS_DETAILS_KEY, Buffer.from(toBinary(StatusSchema, message)));
  const details = plainText(message.message);
  return Object.assign(new Error(details), { code: message.code as status, details, metadata });
}

/**
 * What a server refused with, read by its client. Null when the error carries no reason of ours: a broken connection, a
 * deadline, another system's error. The text is taken from the details too, so a mangled `grpc-message` changes nothing.
 */
export function fromServiceError(error: unknown): Refusal | null {
  const found = isServiceError(error) ? serviceErrorStatus(error) : null;
  return found === null ? null : statusRefusal(found);
}

/** google.rpc.Status of a grpc-js error, or null when it carries none. */
export function serviceErrorStatus(error: ServiceError): Status | null {
  const [bytes] = error.metadata.get(STATUS_DETAILS_KEY);
  return bytes instanceof Uint8Array ? decodeStatus(bytes) : null;
}

export function isServiceError(error: unknown): error is ServiceError {
  if (!(error instanceof Error)) return false;
  const { code, metadata } = error as Partial<StatusObject>;
  return typeof code === "number" && code in status && metadata instanceof Metadata;
}

/** `grpc-message` survives every stack only as printable ASCII without a percent sign. */
function plainText(text: string): string {
  return text.replace(/[^\x20-\x7e]/gu, "?").replaceAll("%", " percent");
}
