// A typed client over grpc-js for any service of ours.
//
// C1  A unary call rejects with grpc-js' ServiceError; fromServiceError tells the refusal in it.
// C2  A stream begins when it is first asked for a message, reads no further ahead than grpc-js' own small buffer, and ends
//     the call when its reader stops early.
// C3  Nothing is retried here: who calls knows whether a second attempt is safe.
import type {
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { type ChannelCredentials, Client, connectivityState, credentials, type Metadata } from "@grpc/grpc-js";
import { callUnary } from "./client-call.ts";
import { readStream } from "./client-stream.ts";
import { decoder } from "./definition.ts";
import {
  KEEPALIVE_MS,
  KEEPALIVE_TIMEOUT_MS,
  MAX_RESPONSE_BYTES,
  RECONNECT_MAX_MS,
  RECONNECT_MIN_MS,
} from "./limits.ts";
import { NO_TRACING, type RpcTracing } from "./tracing.ts";

export type CallOptions = {
  /** Milliseconds since 1970. Without one a call may wait for ever. */
  readonly deadlineMs?: number | null;
  readonly metadata?: Metadata;
  /** Cancels the call; it then fails with CANCELLED. */
  readonly signal?: AbortSignal;
};

export type RpcMethods<Desc extends DescService> = {
  readonly [Name in keyof Desc["method"]]: Desc["method"][Name] extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>, options?: CallOptions) => Promise<MessageShape<O>>
    : Desc["method"][Name] extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageInitShape<I>, options?: CallOptions) => AsyncGenerator<MessageShape<O>, void, undefined>
      : never;
};

/** Streams whose messages are not decoded, to be forwarded as they are. */
export type RpcBytes<Desc extends DescService> = {
  readonly [Name in keyof Desc["method"] as Desc["method"][Name] extends DescMethodServerStreaming
    ? Name
    : never]: Desc["method"][Name] extends DescMethodServerStreaming<infer I>
    ? (request: MessageInitShape<I>, options?: CallOptions) => AsyncGenerator<Buffer, void, undefined>
    : never;
};

export type RpcClient<Desc extends DescService> = {
  readonly rpc: RpcMethods<Desc>;
  readonly bytes: RpcBytes<Desc>;
  /** Calls back once when this connection is lost: another process may answer then. False when there is none now. */
  onceDisconnected(lost: () => void): boolean;
  /** Ends the connection; calls under way fail. Idempotent. */
  close(): void;
};

export type ClientSettings = {
  /** host:port */
  readonly address: string;
  /** Cleartext unless given. */
  readonly credentials?: ChannelCredentials;
  readonly tracing?: RpcTracing;
  /** Of every call that has none of its own. */
  readonly metadata?: Metadata;
  readonly maxResponseBytes?: number;
};

export function createRpcClient<Desc extends DescService>(desc: Desc, settings: ClientSettings): RpcClient<Desc> {
  const client = new Client(settings.address, settings.credentials ?? credentials.createInsecure(), {
    "grpc.max_receive_message_length": settings.maxResponseBytes ?? MAX_RESPONSE_BYTES,
    "grpc.max_send_message_length": -1,
    "grpc.keepalive_time_ms": KEEPALIVE_MS,
    "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
    "grpc.keepalive_permit_without_calls": 1,
    "grpc.initial_reconnect_backoff_ms": RECONNECT_MIN_MS,
    "grpc.max_reconnect_backoff_ms": RECONNECT_MAX_MS,
    "grpc.enable_retries": 0,
    "grpc.service_config_disable_resolution": 1,
    // A client that is closed takes its connection with it, and two clients never share one.
    "grpc.use_local_subchannel_pool": 1,
  });
  const { address, tracing = NO_TRACING, metadata = null } = settings;
  const line = { client, address, tracing, metadata };
  const rpc: Record<string, unknown> = {};
  const bytes: Record<string, unknown> = {};
  for (const method of desc.methods) {
    if (method.methodKind === "unary") {
      rpc[method.localName] = (request: never, options: CallOptions = {}) => callUnary(line, method, request, options);
    } else if (method.methodKind === "server_streaming") {
      const decode = decoder(method.output);
      rpc[method.localName] = (request: never, options: CallOptions = {}) =>
        readStream(line, method, decode, request, options);
      bytes[method.localName] = (request: never, options: CallOptions = {}) =>
        readStream(line, method, (message) => message, request, options);
    }
  }
  return {
    rpc: rpc as RpcMethods<Desc>,
    bytes: bytes as RpcBytes<Desc>,
    onceDisconnected: (lost) => onceDisconnected(client, lost),
    close: () => client.close(),
  };
}

function onceDisconnected(client: Client, lost: () => void): boolean {
  const channel = client.getChannel();
  const state = channel.getConnectivityState(false);
  if (state !== connectivityState.READY) return false;
  channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, () => lost());
  return true;
}
