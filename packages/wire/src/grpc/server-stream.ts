// One server stream over grpc-js.
//
// W1  The next message is asked for only after write() had room, or after `drain`: a reader that stops reading holds back its
//     handler, not our memory.
// W2  A stream that ends with an error ends by emit("error"): destroy() leaves the client hanging.
// W3  When the caller is gone the handler's generator is returned, so its `finally` runs; nothing is written any more.
import type { DescMethod } from "@bufbuild/protobuf";
import { type ServerWritableStream, status } from "@grpc/grpc-js";
import { statusServiceError } from "../refusals/service-error.ts";
import { OversizedRequest } from "./definition.ts";
import {
  type Ending,
  type ReplyStream,
  type RpcEdge,
  refusedEnding,
  rpcName,
  type ServedCall,
  settledCode,
  thrownEnding,
} from "./handlers.ts";
import { traceCarrier } from "./metadata.ts";
import { servedCall } from "./served-call.ts";
import { oversizedEnding } from "./unary.ts";

export type StreamHandler = (request: unknown, call: ServedCall) => ReplyStream<unknown>;
type Sink = ServerWritableStream<unknown, unknown>;

export function serveStream(method: DescMethod, handler: StreamHandler, edge: RpcEdge) {
  return (sink: Sink): void => {
    const served = servedCall(method, sink);
    void edge.tracing.serve(rpcName(method), traceCarrier(sink.metadata), async (span) => {
      const ending = await settle(handler, sink, served, edge);
      span.settle(served.signal.aborted ? status.CANCELLED : settledCode(ending), ending?.reason ?? null);
      if (ending === null) sink.end();
      else sink.emit("error", statusServiceError(ending.status));
    });
  };
}

async function settle(handler: StreamHandler, sink: Sink, call: ServedCall, edge: RpcEdge): Promise<Ending | null> {
  const { request } = sink;
  if (request instanceof OversizedRequest) return oversizedEnding(request);
  try {
    const refusal = await pump(handler(request, call), sink, call.signal);
    return refusal === null ? null : refusedEnding(refusal);
  } catch (error) {
    return thrownEnding(edge, call.rpc, error);
  }
}

async function pump(replies: ReplyStream<unknown>, sink: Sink, signal: AbortSignal) {
  for (;;) {
    const next = await replies.next();
    if (next.done === true) return next.value ?? null;
    if (!signal.aborted && !sink.write(next.value)) await drained(sink, signal);
    if (signal.aborted) {
      await replies.return(null);
      return null;
    }
  }
}

function drained(sink: Sink, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      sink.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    sink.on("drain", done);
    signal.addEventListener("abort", done);
  });
}
