// The two ways an answer comes to a gateway: gRPC, and Connect's JSON over HTTP/1.1, which is what curl and pages send. What
// comes back is put into one form, so that one table of statuses holds for both.
import { fromBinary, fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  RespondApprovalRequestSchema,
  RespondApprovalResponseSchema,
  RetryInfoSchema,
  SessionService,
  StatusSchema,
} from "@holdfast/proto";
import { bearerMetadata, createRpcClient, isServiceError } from "@holdfast/wire";
import { CALL_BOUND_MS } from "./caller.ts";

export type Answered = { readonly code: "OK"; readonly reply: JsonObject };
export type Refused = {
  /** As gRPC names it, on either road. */
  readonly code: string;
  readonly domain: string;
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Of BadRequest. */
  readonly fields: readonly string[];
  /** `TYPE subject` of PreconditionFailure. */
  readonly preconditions: readonly string[];
  /** Of RetryInfo; null when a retry is no use. */
  readonly retryMs: number | null;
};
export type Told = Answered | Refused;

export type Road = {
  readonly name: string;
  /** `request` in its JSON form. */
  readonly answer: (address: string, request: JsonObject, token: string | null) => Promise<Told>;
};

export const ROADS: readonly Road[] = [
  { name: "gRPC", answer: overGrpc },
  { name: "Connect JSON", answer: overConnect },
];

async function overGrpc(address: string, request: JsonObject, token: string | null): Promise<Told> {
  const client = createRpcClient(SessionService, { address });
  try {
    const reply = await client.rpc.respondApproval(fromJson(RespondApprovalRequestSchema, request), {
      deadlineMs: Date.now() + CALL_BOUND_MS,
      ...(token === null ? {} : { metadata: bearerMetadata(token) }),
    });
    return answered(toJson(RespondApprovalResponseSchema, reply) as JsonObject);
  } catch (error) {
    if (!isServiceError(error)) throw error;
    const [bytes] = error.metadata.get("grpc-status-details-bin");
    if (!(bytes instanceof Uint8Array)) throw error;
    const { details } = fromBinary(StatusSchema, bytes);
    return refused(
      status[error.code],
      details.map(({ typeUrl, value }) => ({ type: typeUrl.split("/").at(-1) ?? "", value })),
    );
  } finally {
    client.close();
  }
}

async function overConnect(address: string, request: JsonObject, token: string | null): Promise<Told> {
  const response = await fetch(`http://${address}/holdfast.v1.SessionService/RespondApproval`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(request),
    signal: AbortSignal.timeout(CALL_BOUND_MS),
  });
  if (response.ok) return answered((await response.json()) as JsonObject);
  const { code, details = [] } = (await response.json()) as ConnectFailure;
  return refused(
    code.toUpperCase(),
    details.map(({ type, value }) => ({ type, value: Buffer.from(value, "base64") })),
  );
}

/** An error's body, as Connect defines it. */
type ConnectFailure = {
  readonly code: string;
  readonly details?: readonly { readonly type: string; readonly value: string }[];
};

function answered(reply: JsonObject): Answered {
  return { code: "OK", reply };
}

type Detail = { readonly type: string; readonly value: Uint8Array };

function refused(code: string, details: readonly Detail[]): Refused {
  const bytesOf = (type: string) => details.find((detail) => detail.type === type)?.value ?? new Uint8Array();
  const info = fromBinary(ErrorInfoSchema, bytesOf("google.rpc.ErrorInfo"));
  const badRequest = fromBinary(BadRequestSchema, bytesOf("google.rpc.BadRequest"));
  const precondition = fromBinary(PreconditionFailureSchema, bytesOf("google.rpc.PreconditionFailure"));
  const { retryDelay } = fromBinary(RetryInfoSchema, bytesOf("google.rpc.RetryInfo"));
  return {
    code,
    domain: info.domain,
    reason: info.reason,
    metadata: info.metadata,
    fields: badRequest.fieldViolations.map(({ field }) => field),
    preconditions: precondition.violations.map(({ type, subject }) => `${type} ${subject}`),
    retryMs: retryDelay === undefined ? null : durationMs(retryDelay),
  };
}
