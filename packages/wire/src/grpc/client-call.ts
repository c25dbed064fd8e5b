// One unary call, as a promise.
import type { DescMethod, Message } from "@bufbuild/protobuf";
import { type Client, type CallOptions as GrpcCallOptions, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { fromServiceError, isServiceError } from "../refusals/service-error.ts";
import type { CallOptions } from "./client.ts";
import { decoder, encoder, methodPath } from "./definition.ts";
import { rpcName } from "./handlers.ts";
import { traceCarrier } from "./metadata.ts";
import type { RpcSpan, RpcTracing } from "./tracing.ts";

/** A connection to one server. */
export type Line = {
  readonly client: Client;
  readonly address: string;
  readonly tracing: RpcTracing;
  /** Of calls that have none of their own; null: none. */
  readonly metadata: Metadata | null;
};

export function callUnary(line: Line, method: DescMethod, request: unknown, options: CallOptions): Promise<Message> {
  return new Promise((resolve, reject) => {
    options.signal?.throwIfAborted();
    const { metadata, span } = beginCall(line, method, options);
    const cancel = () => call.cancel();
    const settled = (error: ServiceError | null, response?: Message) => {
      options.signal?.removeEventListener("abort", cancel);
      settleSpan(span, error);
      if (error === null && response !== undefined) resolve(response);
      else reject(error ?? new Error(`${method.name} gave neither a response nor an error`));
    };
    const call = line.client.makeUnaryRequest<unknown, Message>(
      methodPath(method),
      encoder(method.input),
      decoder(method.output),
      request,
      metadata,
      grpcOptions(options),
      settled,
    );
    options.signal?.addEventListener("abort", cancel, { once: true });
  });
}

/** The given metadata are left alone: trace context goes into a copy. */
export function beginCall(line: Line, method: DescMethod, options: CallOptions) {
  const metadata = (options.metadata ?? line.metadata)?.clone() ?? new Metadata();
  const span = line.tracing.call({ ...rpcName(method), address: line.address }, traceCarrier(metadata));
  return { metadata, span };
}

export function grpcOptions({ deadlineMs }: CallOptions): GrpcCallOptions {
  return deadlineMs === undefined || deadlineMs === null ? {} : { deadline: deadlineMs };
}

export function settleSpan(span: RpcSpan, error: unknown): void {
  if (error === null) span.settle(status.OK, null);
  else span.settle(isServiceError(error) ? error.code : status.UNKNOWN, fromServiceError(error)?.reason ?? null);
}
