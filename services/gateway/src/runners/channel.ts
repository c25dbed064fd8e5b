// The way to one address: a connection that is kept, with this gateway's token and the trace in every call. What comes of a
// call is a value: the reply, what the runner refused with, or that it could not be reached.
//
// N1  A stream's messages are handed on as bytes; a reader that does not read holds the runner back, not our memory.
// N2  Whoever stops reading a stream cancels the call behind it.
import { status } from "@grpc/grpc-js";
import type { Refusal } from "@holdfast/pool";
import { RunnerService } from "@holdfast/proto";
import type { Clock, Telemetry } from "@holdfast/runtime";
import {
  bearerMetadata,
  createRpcClient,
  fromServiceError,
  isServiceError,
  type RpcClient,
  rpcTracing,
} from "@holdfast/wire";
import type { Frame } from "../rpc/call.ts";

export type Unreachable = { readonly kind: "unreachable"; readonly why: string };
export type Refused = { readonly kind: "refused"; readonly refusal: Refusal };
export type RunnerReply<Reply> = { readonly kind: "reply"; readonly reply: Reply } | Refused | Unreachable;
/** How a stream ended; `over`: with OK. */
export type StreamEnd = { readonly kind: "over" } | Refused | Unreachable;

export type RunnerChannel = RpcClient<typeof RunnerService>;

export type ChannelWorld = {
  readonly clock: Pick<Clock, "now">;
  readonly telemetry: Pick<Telemetry, "rpcServerSpan" | "rpcClientSpan">;
  /** Null where runners ask for none. */
  readonly token: string | null;
};

export function openChannel(address: string, { telemetry, token }: ChannelWorld): RunnerChannel {
  return createRpcClient(RunnerService, {
    address,
    tracing: rpcTracing(telemetry),
    ...(token === null ? {} : { metadata: bearerMetadata(token) }),
  });
}

/** Never rejects. */
export async function replyOf<Reply>(call: Promise<Reply>): Promise<RunnerReply<Reply>> {
  try {
    return { kind: "reply", reply: await call };
  } catch (error) {
    return failureOf(error);
  }
}

/** Begins at the first `next()`, and never throws. */
export async function* framesOf(
  call: AsyncGenerator<Frame, void, undefined>,
): AsyncGenerator<Frame, StreamEnd, undefined> {
  try {
    yield* call;
    return { kind: "over" };
  } catch (error) {
    return failureOf(error);
  }
}

function failureOf(error: unknown): Refused | Unreachable {
  const refusal = fromServiceError(error);
  // Our credential, not the caller's: it must not read as if theirs were bad.
  if (refusal?.reason === "CREDENTIAL_INVALID")
    return { kind: "unreachable", why: "it does not accept this gateway's token" };
  if (refusal !== null) return { kind: "refused", refusal };
  if (!isServiceError(error))
    return { kind: "unreachable", why: error instanceof Error ? error.message : String(error) };
  return { kind: "unreachable", why: `${status[error.code]}: ${error.details}` };
}
