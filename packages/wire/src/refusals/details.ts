// What every error carries besides its code: google.rpc details with one ErrorInfo of domain `holdfast`, and, where it
// applies, BadRequest, PreconditionFailure or RetryInfo. One content for gRPC, gRPC-Web and Connect.
//
// F1  The reason is in the details only; the message text is for people (some HTTP/2 stacks mangle it).
// F2  Details fit in a response header every common gRPC client accepts (8 KiB with base64), so they are bounded here:
//     violations are cut from the end, and ErrorInfo says how many there were.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Any, anyPack, anyUnpack, durationFromMs, durationMs } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import type { FieldViolation, Refusal, RefusalReason } from "@holdfast/pool";
import {
  type BadRequest,
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  RetryInfoSchema,
  type Status,
  StatusSchema,
} from "@holdfast/proto";
import { errorReasons } from "../enums/error-reason.ts";
import { RETRY_AFTER_MS, STATUS_CODES } from "./status-code.ts";

export const ERROR_DOMAIN = "holdfast";
/** Encoded size of google.rpc.Status in a response header. */
export const STATUS_DETAILS_BYTES = 5 * 1024;
/** The text of an error, for people. */
export const ERROR_MESSAGE_CHARACTERS = 1_024;
/** One value of ErrorInfo's metadata. */
const ERROR_METADATA_CHARACTERS = 1_024;
/** How short texts get, step by step, when all of them together are too much for a header. */
const TIGHTER_CHARACTERS = [256, 64, 16] as const;
const ERROR_METADATA_ENTRIES = 16;

/** Keys of ErrorInfo's metadata that this file owns. */
const NEXT_STEP_KEY = "next_step";
const VIOLATIONS_KEY = "violations";

/** google.rpc.Status for a refusal: code, text, details. At most STATUS_DETAILS_BYTES encoded. */
export function refusalStatus(refusal: Refusal): Status {
  const violations = refusal.violations ?? [];
  for (let kept = violations.length; kept > 0; kept = Math.floor(kept / 2)) {
    const built = buildStatus(refusal, violations.slice(0, kept), ERROR_METADATA_CHARACTERS);
    if (fits(built)) return built;
  }
  for (const characters of [ERROR_METADATA_CHARACTERS, ...TIGHTER_CHARACTERS]) {
    const built = buildStatus(refusal, [], characters);
    if (fits(built)) return built;
  }
  return buildStatus({ ...refusal, metadata: {} }, [], 16);
}

function fits(message: Status): boolean {
  return toBinary(StatusSchema, message).byteLength <= STATUS_DETAILS_BYTES;
}

/** The code that tells a caller what to do. */
export function refusalCode(refusal: Refusal): number {
  return STATUS_CODES[refusal.reason];
}

/** The refusal a status carries, or null when it is not one of ours. Reads the details, never the outer message. */
export function statusRefusal(message: Status): Refusal | null {
  const info = find(message, (any) => anyUnpack(any, ErrorInfoSchema));
  if (info === null || info.domain !== ERROR_DOMAIN || !isReason(info.reason)) return null;
  const { [NEXT_STEP_KEY]: nextStep = "", [VIOLATIONS_KEY]: _count, ...metadata } = info.metadata;
  const badRequest = find(message, (any) => anyUnpack(any, BadRequestSchema));
  const retry = find(message, (any) => anyUnpack(any, RetryInfoSchema));
  return {
    reason: info.reason,
    message: message.message,
    nextStep,
    metadata,
    ...(badRequest === null ? {} : { violations: readViolations(badRequest) }),
    ...(retry?.retryDelay === undefined ? {} : { retryAfterMs: durationMs(retry.retryDelay) }),
  };
}

/** google.rpc.Status from the bytes of `grpc-status-details-bin`; null when they are not one. */
export function decodeStatus(bytes: Uint8Array): Status | null {
  try {
    return fromBinary(StatusSchema, bytes);
  } catch (error) {
    // Bytes of another system's making: whatever they are, they hold no reason of ours.
    if (error instanceof Error) return null;
    throw error;
  }
}

function buildStatus(refusal: Refusal, violations: readonly FieldViolation[], characters: number): Status {
  const details: Any[] = [anyPack(ErrorInfoSchema, errorInfo(refusal, violations.length, characters))];
  if (violations.length > 0) {
    details.push(
      anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations: violations.map(copyViolation) })),
    );
  }
  if (refusalCode(refusal) === status.FAILED_PRECONDITION) {
    const subject = refusal.metadata.gate_id ?? refusal.metadata.turn_id ?? refusal.metadata.session_id ?? "";
    const violation = {
      type: refusal.reason,
      subject: cut(subject, characters),
      description: cut(refusal.message, 256),
    };
    details.push(anyPack(PreconditionFailureSchema, create(PreconditionFailureSchema, { violations: [violation] })));
  }
  const retryMs = refusal.retryAfterMs ?? RETRY_AFTER_MS[refusal.reason];
  if (retryMs !== undefined) {
    details.push(anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay: durationFromMs(retryMs) })));
  }
  const text = cut(refusal.message, Math.min(characters, ERROR_MESSAGE_CHARACTERS));
  return create(StatusSchema, { code: refusalCode(refusal), message: text, details });
}

function errorInfo(refusal: Refusal, violationsKept: number, characters: number): ErrorInfo {
  const metadata: Record<string, string> = {};
  for (const [key, value] of Object.entries(refusal.metadata).slice(0, ERROR_METADATA_ENTRIES)) {
    metadata[cut(key, 64)] = cut(value, characters);
  }
  if (refusal.nextStep !== "") metadata[NEXT_STEP_KEY] = cut(refusal.nextStep, characters);
  const total = refusal.violations?.length ?? 0;
  if (total > violationsKept) metadata[VIOLATIONS_KEY] = `${violationsKept} of ${total} shown`;
  return create(ErrorInfoSchema, { domain: ERROR_DOMAIN, reason: refusal.reason, metadata });
}

/** Cut to so many UTF-16 units, and well-formed: a lone surrogate would make the encoders throw. */
function cut(text: string, characters: number): string {
  return (text.length <= characters ? text : `${text.slice(0, characters - 3)}...`).toWellFormed();
}

function copyViolation(violation: FieldViolation): FieldViolation {
  return { field: cut(violation.field, 256), description: cut(violation.description, 512) };
}

function readViolations(badRequest: BadRequest): readonly FieldViolation[] {
  return badRequest.fieldViolations.map(({ field, description }) => ({ field, description }));
}

function isReason(reason: string): reason is RefusalReason {
  return (errorReasons.names as readonly string[]).includes(reason);
}

function find<T>(message: Status, read: (any: Any) => T | undefined): T | null {
  for (const any of message.details) {
    const found = readAny(any, read);
    if (found !== undefined) return found;
  }
  return null;
}

function readAny<T>(any: Any, read: (any: Any) => T | undefined): T | undefined {
  try {
    return read(any);
  } catch (error) {
    // A detail with damaged bytes is a detail we do not have.
    if (error instanceof Error) return undefined;
    throw error;
  }
}
