// One unary call over grpc-js.
import type { DescMethod } from "@bufbuild/protobuf";
import type { ServerUnaryCall, sendUnaryData } from "@grpc/grpc-js";
import { TOO_LARGE_REASON, tooLargeStatus } from "../refusals/exceptions.ts";
import { statusServiceError } from "../refusals/service-error.ts";
import { OversizedRequest } from "./definition.ts";
import {
  type Ending,
  type Reply,
  type RpcEdge,
  refusedEnding,
  rpcName,
  type ServedCall,
  settledCode,
  thrownEnding,
} from "./handlers.ts";
import { traceCarrier } from "./metadata.ts";
import { servedCall } from "./served-call.ts";

export type UnaryHandler = (request: unknown, call: ServedCall) => Promise<Reply<unknown>>;
type Outcome = { readonly message: unknown } | { readonly ending: Ending };

export function serveUnary(method: DescMethod, handler: UnaryHandler, edge: RpcEdge) {
  return (call: ServerUnaryCall<unknown, unknown>, callback: sendUnaryData<unknown>): void => {
    const served = servedCall(method, call);
    void edge.tracing.serve(rpcName(method), traceCarrier(call.metadata), async (span) => {
      const outcome = await settle(handler, call.request, served, edge);
      const ending = "ending" in outcome ? outcome.ending : null;
      span.settle(settledCode(ending), ending?.reason ?? null);
      if ("ending" in outcome) callback(statusServiceError(outcome.ending.status));
      else callback(null, outcome.message);
    });
  };
}

async function settle(handler: UnaryHandler, request: unknown, call: ServedCall, edge: RpcEdge): Promise<Outcome> {
  if (request instanceof OversizedRequest) return { ending: oversizedEnding(request) };
  try {
    const reply = await handler(request, call);
    return "refusal" in reply ? { ending: refusedEnding(reply.refusal) } : { message: reply.ok };
  } catch (error) {
    return { ending: thrownEnding(edge, call.rpc, error) };
  }
}

export function oversizedEnding({ bytes, limitBytes }: OversizedRequest): Ending {
  return { status: tooLargeStatus(bytes, limitBytes), reason: TOO_LARGE_REASON };
}
