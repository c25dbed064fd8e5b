// What a handler sees of a grpc-js call.
import type { DescMethod } from "@bufbuild/protobuf";
import type { ServerUnaryCall, ServerWritableStream } from "@grpc/grpc-js";
import { deadlineMs } from "./deadline.ts";
import type { ServedCall } from "./handlers.ts";
import { headerOf } from "./metadata.ts";

export function servedCall(
  method: DescMethod,
  call: ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>,
): ServedCall {
  const gone = new AbortController();
  call.on("cancelled", () => gone.abort());
  if (call.cancelled) gone.abort();
  return {
    rpc: `${method.parent.name}/${method.name}`,
    signal: gone.signal,
    deadlineMs: deadlineMs(call.getDeadline()),
    header: (name) => headerOf(call.metadata, name),
  };
}
