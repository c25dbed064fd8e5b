// Where in which trace we are, carried three ways: along the asynchronous calls of this process, in the metadata of an
// RPC (W3C trace context), and as a traceparent in a record, in an agent's environment, in a link.

import {
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type SpanContext,
  type TextMapGetter,
  type TextMapSetter,
  trace,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { parseTraceParent, W3CTraceContextPropagator } from "@opentelemetry/core";

/** A W3C traceparent, `00-<trace>-<span>-<flags>`; "" when there is no trace. */
export type Traceparent = string;

/** Metadata of an RPC, or headers of a request, as far as propagation needs it. Names are lower case. */
export interface Carrier {
  get(name: string): string | undefined;
  set(name: string, value: string): void;
}

/** gRPC metadata, structurally: what @grpc/grpc-js calls Metadata. */
export interface MetadataLike {
  get(name: string): readonly unknown[];
  set(name: string, value: string): void;
}

/** Fetch's Headers, structurally. */
export interface HeadersLike {
  get(name: string): string | null;
  set(name: string, value: string): void;
}

export function metadataCarrier(metadata: MetadataLike): Carrier {
  return {
    get(name) {
      const value = metadata.get(name)[0];
      return typeof value === "string" ? value : undefined;
    },
    set: (name, value) => metadata.set(name, value),
  };
}

export function headersCarrier(headers: HeadersLike): Carrier {
  return { get: (name) => headers.get(name) ?? undefined, set: (name, value) => headers.set(name, value) };
}

/** One for the process: a span of one part is the parent of another part's, whoever made them. */
const contexts = new AsyncLocalStorageContextManager();
const propagator = new W3CTraceContextPropagator();
const FIELDS = propagator.fields();

const GETTER: TextMapGetter<Carrier> = { keys: () => [...FIELDS], get: (carrier, name) => carrier.get(name) };
const SETTER: TextMapSetter<Carrier> = { set: (carrier, name, value) => carrier.set(name, value) };

export function activeContext(): Context {
  return contexts.active();
}

export function withContext<T>(context: Context, run: () => T): T {
  return context === contexts.active() ? run() : contexts.with(context, run);
}

/** The caller's trace, in place of any of our own; none when it sent none or nonsense. */
export function extractContext(carrier: Carrier): Context {
  return propagator.extract(ROOT_CONTEXT, carrier, GETTER as TextMapGetter<unknown>);
}

export function injectContext(context: Context, carrier: Carrier): void {
  propagator.inject(context, carrier, SETTER as TextMapSetter<unknown>);
}

export function traceparentOf(context: Context): Traceparent {
  const span = trace.getSpanContext(context);
  if (span === undefined || !isSpanContextValid(span)) return "";
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}`;
}

/** null when it is none. */
export function spanContextOf(traceparent: Traceparent): SpanContext | null {
  const span = parseTraceParent(traceparent);
  return span === null ? null : { ...span, isRemote: true };
}

/** A context whose parent is that span; the root when it is none. */
export function contextOf(traceparent: Traceparent): Context {
  const span = spanContextOf(traceparent);
  return span === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, span);
}
