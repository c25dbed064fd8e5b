// What the RPC edge needs of telemetry: a seam, so that nothing here knows OpenTelemetry. The runtime package implements it.

/** Where W3C trace context is read from or written to: the call's metadata. */
export type TraceCarrier = {
  get(key: string): string | undefined;
  set(key: string, value: string): void;
};

export type RpcSpan = {
  /** Ends the span: gRPC's code, and the reason of a refusal. The first call counts. */
  settle(code: number, reason: string | null): void;
  /** Runs as a part of the call: for what is asked for later, from elsewhere. */
  run<T>(run: () => T): T;
};

export type RpcName = { readonly service: string; readonly method: string };

export interface RpcTracing {
  /** Runs a served call within its span, a child of what the carrier tells. */
  serve<T>(rpc: RpcName, carrier: TraceCarrier, run: (span: RpcSpan) => Promise<T>): Promise<T>;
  /** Begins the span of a call to somebody else and writes its context into the carrier. */
  call(rpc: RpcName & { readonly address: string }, carrier: TraceCarrier): RpcSpan;
}

const NO_SPAN: RpcSpan = { settle: () => undefined, run: (run) => run() };

/** For programs without telemetry. */
export const NO_TRACING: RpcTracing = { serve: (_rpc, _carrier, run) => run(NO_SPAN), call: () => NO_SPAN };
