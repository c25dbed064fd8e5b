// Spans without OpenTelemetry in sight: what a service needs to say what it does, where in the trace it stands, and how
// the trace goes on in another process, at another time.
//
// With nothing to export to, no span is made and a caller's trace is handed on as it came.

import type { Attributes, Context, Link, Tracer } from "@opentelemetry/api";
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { ERROR_TYPE } from "./conventions.ts";
import { begun, exported, type SpanName, type SpanShapes } from "./spans.ts";
import {
  activeContext,
  contextOf,
  spanContextOf,
  type Traceparent,
  traceparentOf,
  withContext,
} from "./trace-context.ts";

/** A span that has begun. Whoever holds it ends it, once; a second end changes nothing. */
export interface OpenSpan<N extends SpanName> {
  /** For a record, an agent's environment, a link. */
  readonly traceparent: Traceparent;
  set(attributes: Partial<SpanShapes[N]>): void;
  /** Marks it as failed. `type` is from a closed set or an error's name, never a message. */
  fail(type: string): void;
  /** Runs with this span as the parent of what begins inside, across awaits. */
  run<T>(run: () => T): T;
  end(): void;
}

export interface SpanOptions {
  /** In place of the current span: the traceparent of a call that is over, out of a record. "" means none is known. */
  readonly parent?: Traceparent;
  /** Begins a trace of its own. */
  readonly root?: boolean;
  /** Spans that belong to the matter without being a parent. Empty ones are left out. */
  readonly links?: readonly Traceparent[];
}

export interface Tracing {
  /** Runs inside a new span, which ends when the result is there; what is thrown or rejected marks it as failed. */
  span<N extends SpanName, T>(
    name: N,
    attributes: SpanShapes[N],
    run: (span: OpenSpan<N>) => T,
    options?: SpanOptions,
  ): T;
  /** Begins a span that outlives the call that began it. */
  start<N extends SpanName>(name: N, attributes: SpanShapes[N], options?: SpanOptions): OpenSpan<N>;
  /** For what happens outside of any call: a trace of its own, linked to what it is about. */
  linkedRootSpan<N extends SpanName, T>(
    name: N,
    attributes: SpanShapes[N],
    linkedTo: Traceparent,
    run: (span: OpenSpan<N>) => T,
  ): T;
  /** Runs as a part of the trace that a record remembers. */
  within<T>(traceparent: Traceparent, run: () => T): T;
  /** Where we stand now: for the answer's record and for the agent's TRACEPARENT. */
  traceparent(): Traceparent;
  /** The same for the log; null outside of any trace. */
  traceIds(): { readonly trace_id: string; readonly span_id: string } | null;
}

/** A span as the RPC functions use it as well: any name, any kind. */
export interface BareSpan {
  readonly context: Context;
  set(attributes: Attributes): void;
  fail(type: string): void;
  end(): void;
}

export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  readonly parent: Context;
  readonly links?: readonly Link[];
}

/** Makes spans, or with no tracer stands in for them. */
export type BeginSpan = (start: SpanStart) => BareSpan;

export function spanMaker(tracer: Tracer | null): BeginSpan {
  if (tracer === null) return ({ parent }) => ({ context: parent, set: ignore, fail: ignore, end: ignore });
  return ({ name, kind, attributes, parent, links = [] }) => {
    const span = tracer.startSpan(name, { kind, attributes, links: [...links] }, parent);
    let isOpen = true;
    return {
      context: trace.setSpan(parent, span),
      set: (more) => void span.setAttributes(more),
      fail: (type) => void span.setAttribute(ERROR_TYPE, type).setStatus({ code: SpanStatusCode.ERROR }),
      end() {
        if (isOpen) span.end();
        isOpen = false;
      },
    };
  };
}

export function createTracing(begin: BeginSpan): Tracing {
  const start = <N extends SpanName>(name: N, attributes: SpanShapes[N], options: SpanOptions = {}): OpenSpan<N> => {
    const parent = parentOf(options);
    return openSpan(begin({ ...begun(name, attributes), kind: SpanKind.INTERNAL, parent, links: linksOf(options) }));
  };
  const span: Tracing["span"] = (name, attributes, run, options) => {
    const opened = start(name, attributes, options);
    return settleWith(
      () => opened.run(() => run(opened)),
      () => opened.end(),
      (error) => {
        opened.fail(error instanceof Error ? error.name : typeof error);
        opened.end();
      },
    );
  };
  return {
    span,
    start,
    linkedRootSpan: (name, attributes, linkedTo, run) => span(name, attributes, run, { root: true, links: [linkedTo] }),
    within: (traceparent, run) => (traceparent === "" ? run() : withContext(contextOf(traceparent), run)),
    traceparent: () => traceparentOf(activeContext()),
    traceIds() {
      const here = trace.getSpanContext(activeContext());
      return here === undefined ? null : { trace_id: here.traceId, span_id: here.spanId };
    },
  };
}

/** Calls one of the two when the result is there, be it now or when its promise settles; the result is handed on. */
export function settleWith<T>(run: () => T, done: () => void, failed: (error: unknown) => void): T {
  let result: T;
  try {
    result = run();
  } catch (error) {
    failed(error);
    throw error;
  }
  if (!(result instanceof Promise)) {
    done();
    return result;
  }
  return result.then(
    (value) => {
      done();
      return value;
    },
    (error) => {
      failed(error);
      throw error;
    },
  ) as T;
}

function openSpan<N extends SpanName>(bare: BareSpan): OpenSpan<N> {
  return {
    traceparent: traceparentOf(bare.context),
    set: (attributes) => bare.set(exported(attributes)),
    fail: bare.fail,
    run: (run) => withContext(bare.context, run),
    end: bare.end,
  };
}

function parentOf({ parent, root }: SpanOptions): Context {
  if (root === true) return ROOT_CONTEXT;
  return parent === undefined || parent === "" ? activeContext() : contextOf(parent);
}

function linksOf({ links = [] }: SpanOptions): readonly Link[] {
  return links.map(spanContextOf).flatMap((context) => (context === null ? [] : [{ context }]));
}

function ignore(): undefined {
  return undefined;
}
