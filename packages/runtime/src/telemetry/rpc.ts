// Spans of calls, for interceptors on either side: one span for a call, none for its messages.
//
// A refusal is not a fault of the server: the caller was told something true about its request. Only a status that means
// the server failed makes a server's span an error; on the client's side every status but OK does.

import type { RefusalReason } from "@holdfast/pool";
import { type Attributes, SpanKind } from "@opentelemetry/api";
import {
  RPC_METHOD,
  RPC_STATUS_CODE,
  RPC_SYSTEM_NAME,
  SERVER_ADDRESS,
  SERVER_FAULTS,
  SERVER_PORT,
  STATUS_NAMES,
  type StatusName,
} from "./conventions.ts";
import {
  activeContext,
  type Carrier,
  extractContext,
  injectContext,
  type Traceparent,
  traceparentOf,
  withContext,
} from "./trace-context.ts";
import { type BareSpan, type BeginSpan, settleWith } from "./tracing.ts";

/** The span of one call. */
export interface RpcSpan {
  readonly traceparent: Traceparent;
  /** Ends it with a gRPC status code and, for a refusal, its reason. The first end counts. */
  end(code: number, reason?: RefusalReason): void;
  /** Runs as a part of the call: for a listener that is called from elsewhere. */
  run<T>(run: () => T): T;
}

export interface Peer {
  readonly address: string;
  readonly port?: number;
}

export interface RpcTracing {
  /**
   * A call received: `carrier` is its metadata, `service` as in `holdfast.v1.SessionService`. When `run` returns a
   * promise, the span ends with it at the latest: OK, or the `code` of what it rejects with. When `run` returns anything
   * else, whoever sends the status ends the span.
   */
  rpcServerSpan<T>(service: string, method: string, carrier: Carrier, run: (call: RpcSpan) => T): T;
  /** A call made: the trace is put into `carrier` before `run` is called. Ends as rpcServerSpan does. */
  rpcClientSpan<T>(service: string, method: string, carrier: Carrier, run: (call: RpcSpan) => T, peer?: Peer): T;
}

/** Refusals that nevertheless say: we could not do our part. */
const FAULT_REASONS: ReadonlySet<RefusalReason> = new Set<RefusalReason>([
  "STORE_UNAVAILABLE",
  "RECORD_UNREADABLE",
  "STREAM_CUT",
]);

const CODE_OK = 0;
const CODE_UNKNOWN = 2;

export function createRpcTracing(begin: BeginSpan): RpcTracing {
  return {
    rpcServerSpan(service, method, carrier, run) {
      const parent = extractContext(carrier);
      const span = begin({ ...named(service, method), kind: SpanKind.SERVER, parent });
      return follow(span, isServerFault, run);
    },
    rpcClientSpan(service, method, carrier, run, peer) {
      const { name, attributes } = named(service, method);
      const span = begin({
        name,
        attributes: { ...attributes, ...at(peer) },
        kind: SpanKind.CLIENT,
        parent: activeContext(),
      });
      injectContext(span.context, carrier);
      return follow(span, (status) => status !== "OK", run);
    },
  };
}

type IsFault = (status: StatusName, reason?: RefusalReason) => boolean;

function follow<T>(bare: BareSpan, isFault: IsFault, run: (call: RpcSpan) => T): T {
  let isOpen = true;
  const end = (code: number, reason?: RefusalReason): void => {
    if (!isOpen) return;
    isOpen = false;
    const status = STATUS_NAMES[code] ?? "UNKNOWN";
    bare.set({ [RPC_STATUS_CODE]: status, ...(reason === undefined ? {} : { "holdfast.reason": reason }) });
    if (isFault(status, reason)) bare.fail(reason ?? status);
    bare.end();
  };
  const call: RpcSpan = {
    traceparent: traceparentOf(bare.context),
    end,
    run: (inner) => withContext(bare.context, inner),
  };
  let isAwaited = false;
  return settleWith(
    () => {
      const result = call.run(() => run(call));
      isAwaited = result instanceof Promise;
      return result;
    },
    () => {
      if (isAwaited) end(CODE_OK);
    },
    (error) => end(codeOf(error)),
  );
}

function isServerFault(status: StatusName, reason?: RefusalReason): boolean {
  return SERVER_FAULTS.has(status) && (reason === undefined || FAULT_REASONS.has(reason));
}

function named(service: string, method: string): { name: string; attributes: Attributes } {
  const name = `${service}/${method}`;
  return { name, attributes: { [RPC_SYSTEM_NAME]: "grpc", [RPC_METHOD]: name } };
}

function at(peer: Peer | undefined): Attributes {
  if (peer === undefined) return {};
  return { [SERVER_ADDRESS]: peer.address, ...(peer.port === undefined ? {} : { [SERVER_PORT]: peer.port }) };
}

/** gRPC's own errors and Connect's both carry the code as a number. */
function codeOf(error: unknown): number {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "number" && code in STATUS_NAMES ? code : CODE_UNKNOWN;
}
