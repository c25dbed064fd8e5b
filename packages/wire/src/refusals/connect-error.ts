// Refusals as Connect errors: the same content as over gRPC. A grpc-js error thrown through a Connect handler would become
// INTERNAL without details, so every one is converted here.
import { Code, ConnectError } from "@connectrpc/connect";
import type { ServiceError } from "@grpc/grpc-js";
import type { Refusal } from "@holdfast/pool";
import type { Status } from "@holdfast/proto";
import { refusalStatus } from "./details.ts";
import { isServiceError, serviceErrorStatus } from "./service-error.ts";

const TYPE_URL_PREFIX = /^.*\//;

export function toConnectError(refusal: Refusal): ConnectError {
  return statusConnectError(refusalStatus(refusal));
}

/** Any error a grpc-js client threw, as a Connect error with the same code and details. */
export function connectErrorFrom(error: unknown): ConnectError {
  if (!isServiceError(error)) return ConnectError.from(error, Code.Internal);
  const found = serviceErrorStatus(error);
  return found === null ? bareConnectError(error) : statusConnectError(found, error);
}

/** The same for any google.rpc.Status. Connect's codes are gRPC's numbers, from 1. */
export function statusConnectError(message: Status, cause?: unknown): ConnectError {
  const error = new ConnectError(message.message, connectCode(message.code), undefined, undefined, cause);
  error.details = message.details.map((any) => ({ type: any.typeUrl.replace(TYPE_URL_PREFIX, ""), value: any.value }));
  return error;
}

function bareConnectError(error: ServiceError): ConnectError {
  return new ConnectError(error.details, connectCode(error.code), undefined, undefined, error);
}

function connectCode(code: number): Code {
  return code in Code && code > 0 ? code : Code.Unknown;
}
