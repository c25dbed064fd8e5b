// google.rpc.Status as a Connect error: the same code and the same details as over gRPC.
import { Code, ConnectError } from "@connectrpc/connect";
import type { Status } from "@holdfast/proto";

const TYPE_URL_PREFIX = /^.*\//;

/** Connect's codes are gRPC's numbers, from 1. */
export function statusConnectError({ message, code, details }: Status): ConnectError {
  const error = new ConnectError(message, code in Code && code > 0 ? code : Code.Unknown);
  error.details = details.map((any) => ({ type: any.typeUrl.replace(TYPE_URL_PREFIX, ""), value: any.value }));
  return error;
}
