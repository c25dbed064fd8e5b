// A service's handlers, told apart from how they are served: the same ones stand behind grpc-js and behind Connect.
//
// H1  A handler answers with a message or a refusal. What it throws is our bug: the caller gets INTERNAL and an incident id,
//     the whole goes to `failed`. Two exceptions stand for a refusal: StoreUnavailable, and a refusal of another server of
//     ours that nobody on the way caught.
// H2  A stream's handler is a generator: it is asked for the next message only when there is room for it, it is ended when
//     its caller goes, and it may return a refusal as its last word.
import type {
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import type { Refusal } from "@holdfast/pool";
import type { Status } from "@holdfast/proto";
import { refusalStatus } from "../refusals/details.ts";
import { INTERNAL_REASON, internalStatus, refusalOfException } from "../refusals/exceptions.ts";
import type { RpcTracing } from "./tracing.ts";

/** What a handler knows of its call besides the request. */
export type ServedCall = {
  /** `Service/Method`, for messages. */
  readonly rpc: string;
  /** Aborts when the caller went or its deadline passed. */
  readonly signal: AbortSignal;
  /** Milliseconds since 1970; null without one. */
  readonly deadlineMs: number | null;
  /** A request header's value; null when it is absent, binary or repeated. */
  header(name: string): string | null;
};

export type Reply<Message> = { readonly ok: Message } | { readonly refusal: Refusal };
/** Yields messages, or bytes that are one already; returns a refusal to end the stream with it. */
export type ReplyStream<Message> = AsyncGenerator<Message | Uint8Array, Refusal | null | undefined, undefined>;

export type Handler<Method> =
  Method extends DescMethodUnary<infer I, infer O>
    ? (request: MessageShape<I>, call: ServedCall) => Promise<Reply<MessageInitShape<O>>>
    : Method extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageShape<I>, call: ServedCall) => ReplyStream<MessageInitShape<O>>
      : never;

/** One handler per RPC of the service. */
export type Handlers<Desc extends DescService> = {
  readonly [Name in keyof Desc["method"]]: Handler<Desc["method"][Name]>;
};

/** The handlers as they are called by an adapter that no longer knows the types. */
export type AnyHandlers = Readonly<Record<string, (request: unknown, call: ServedCall) => unknown>>;

export type RpcFailure = { readonly rpc: string; readonly incident: string; readonly error: unknown };

/** What every served call shares. */
export type RpcEdge = {
  readonly tracing: RpcTracing;
  /** Mints the id under which a failure is logged. */
  readonly newIncident: () => string;
  /** Told of every bug (H1). Must not throw. */
  readonly failed: (failure: RpcFailure) => void;
};

/** How a call ended, other than well. */
export type Ending = { readonly status: Status; readonly reason: string };

export function refusedEnding(refusal: Refusal): Ending {
  return { status: refusalStatus(refusal), reason: refusal.reason };
}

/** H1. */
export function thrownEnding(edge: RpcEdge, rpc: string, error: unknown): Ending {
  const refusal = refusalOfException(error);
  if (refusal !== null) return refusedEnding(refusal);
  const incident = edge.newIncident();
  edge.failed({ rpc, incident, error });
  return { status: internalStatus(incident), reason: INTERNAL_REASON };
}

export function settledCode(ending: Ending | null): status {
  return ending === null ? status.OK : ending.status.code;
}

export function rpcName(method: DescMethod): { readonly service: string; readonly method: string } {
  return { service: method.parent.typeName, method: method.name };
}
