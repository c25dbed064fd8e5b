// The way to one address: a connection that is kept, and calls over it. Nothing here throws: a call gives a reply, what the
// runner refused with, or that it could not be reached.
//
// N1  The bearer token of this gateway goes with every call, and so does the trace.
// N2  A stream's messages are handed on as bytes; a reader that does not read holds the runner back, not our memory.
// N3  Whoever stops reading a stream cancels the call behind it.
import {
  type DescMessage,
  type DescMethodStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Client, type ClientReadableStream, connectivityState, credentials, Metadata, status } from "@grpc/grpc-js";
import { EVENT_BYTES, type Refusal } from "@holdfast/pool";
import { type Clock, metadataCarrier, type Peer, type RpcSpan, type Telemetry } from "@holdfast/runtime";
import { fromServiceError, isServiceError } from "@holdfast/wire";
import type { Frame } from "../rpc/call.ts";

export type Unreachable = { readonly kind: "unreachable"; readonly why: string };
export type Refused = { readonly kind: "refused"; readonly refusal: Refusal };
export type RunnerReply<Reply> = { readonly kind: "reply"; readonly reply: Reply } | Refused | Unreachable;
/** How a stream ended; `over`: with OK. */
export type StreamEnd = { readonly kind: "over" } | Refused | Unreachable;

export type CallOptions = {
  /** Aborted: the call is cancelled. */
  readonly signal?: AbortSignal;
  /** Milliseconds since 1970. */
  readonly deadlineMs?: number;
};

export type ChannelWorld = {
  readonly clock: Pick<Clock, "now">;
  readonly telemetry: Pick<Telemetry, "rpcClientSpan">;
  /** Null where runners ask for none. */
  readonly token: string | null;
};

/** A connection that is silent for this long is asked whether it still is one. */
const KEEPALIVE_MS = 30_000;
const KEEPALIVE_TIMEOUT_MS = 10_000;
/** A runner that restarts is found again within these. */
const RECONNECT_FIRST_MS = 100;
const RECONNECT_LONGEST_MS = 2_000;
/** An event, and what a snapshot of 32 whole gates needs. */
const REPLY_BYTES = 32 * EVENT_BYTES;

const CHANNEL_OPTIONS = {
  "grpc.keepalive_time_ms": KEEPALIVE_MS,
  "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
  "grpc.keepalive_permit_without_calls": 1,
  "grpc.initial_reconnect_backoff_ms": RECONNECT_FIRST_MS,
  "grpc.min_reconnect_backoff_ms": RECONNECT_FIRST_MS,
  "grpc.max_reconnect_backoff_ms": RECONNECT_LONGEST_MS,
  "grpc.max_receive_message_length": REPLY_BYTES,
  "grpc.max_send_message_length": -1,
  // Two addresses of one host must not share a connection: each is another process with its own identity.
  "grpc.use_local_subchannel_pool": 1,
};

export class RunnerChannel {
  private readonly client: Client;
  private readonly world: ChannelWorld;
  private readonly peer: Peer;

  constructor(address: string, world: ChannelWorld) {
    this.client = new Client(address, credentials.createInsecure(), CHANNEL_OPTIONS);
    this.world = world;
    const at = address.lastIndexOf(":");
    this.peer = { address: address.slice(0, at), port: Number(address.slice(at + 1)) };
  }

  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    options: CallOptions = {},
  ): Promise<RunnerReply<MessageShape<O>>> {
    return this.spanned(method, (metadata, span) => {
      const { promise, resolve } = Promise.withResolvers<RunnerReply<MessageShape<O>>>();
      const call = this.client.makeUnaryRequest(
        pathOf(method),
        (message: MessageShape<I>) => Buffer.from(toBinary(method.input, message)),
        (bytes: Buffer) => fromBinary(method.output, bytes),
        request,
        metadata,
        deadlineOf(options),
        (error, reply) => {
          if (error === null && reply !== undefined) resolve(ended(span, { kind: "reply", reply }));
          else resolve(ended(span, failureOf(error)));
        },
      );
      return cancelOn(options.signal, call, promise);
    });
  }

  /** Begins at the first `next()`. */
  async *stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    request: MessageShape<I>,
    options: CallOptions = {},
  ): AsyncGenerator<Frame, StreamEnd, undefined> {
    const { call, span } = this.open(method, request, options);
    const cancel = (): void => call.cancel();
    options.signal?.addEventListener("abort", cancel, { once: true });
    if (options.signal?.aborted) cancel();
    try {
      for await (const bytes of call) yield bytes as Buffer;
      return ended(span, { kind: "over" });
    } catch (error) {
      return ended(span, failureOf(error));
    } finally {
      options.signal?.removeEventListener("abort", cancel);
      cancel();
      span.end(status.CANCELLED);
    }
  }

  /** Calls back when this connection is lost: another process may answer then. False when there is none now. */
  onceDisconnected(changed: () => void): boolean {
    const channel = this.client.getChannel();
    const state = channel.getConnectivityState(false);
    if (state !== connectivityState.READY) return false;
    channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, changed);
    return true;
  }

  close(): void {
    this.client.close();
  }

  private open<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    request: MessageShape<I>,
    options: CallOptions,
  ): { readonly call: ClientReadableStream<Buffer>; readonly span: RpcSpan } {
    return this.spanned(method, (metadata, span) => {
      const serialize = (message: MessageShape<I>) => Buffer.from(toBinary(method.input, message));
      const call = this.client.makeServerStreamRequest(
        pathOf(method),
        serialize,
        asIs,
        request,
        metadata,
        deadlineOf(options),
      );
      // A call that is cancelled after its reader left still reports its status; there is nobody to tell.
      call.on("error", () => undefined);
      return { call, span };
    });
  }

  private spanned<T>(method: DescMethodUnary | DescMethodStreaming, run: (metadata: Metadata, span: RpcSpan) => T): T {
    const metadata = new Metadata();
    if (this.world.token !== null) metadata.set("authorization", `Bearer ${this.world.token}`);
    const carrier = metadataCarrier(metadata);
    const { typeName } = method.parent;
    return this.world.telemetry.rpcClientSpan(typeName, method.name, carrier, (span) => run(metadata, span), this.peer);
  }
}

function pathOf(method: DescMethodUnary | DescMethodStreaming): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

function deadlineOf({ deadlineMs }: CallOptions): { deadline?: number } {
  return deadlineMs === undefined ? {} : { deadline: deadlineMs };
}

function ended<End extends RunnerReply<unknown> | StreamEnd>(span: RpcSpan, end: End): End {
  if (end.kind === "refused") span.end(status.FAILED_PRECONDITION, end.refusal.reason);
  else span.end(end.kind === "unreachable" ? status.UNAVAILABLE : status.OK);
  return end;
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

async function cancelOn<T>(signal: AbortSignal | undefined, call: { cancel(): void }, reply: Promise<T>): Promise<T> {
  const cancel = (): void => call.cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  if (signal?.aborted) cancel();
  try {
    return await reply;
  } finally {
    signal?.removeEventListener("abort", cancel);
  }
}
