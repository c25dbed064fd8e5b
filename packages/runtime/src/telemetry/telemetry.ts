// What a service sees of telemetry: spans, the spans of its calls, metrics, and a way to end it.

import type { Metrics } from "./metrics.ts";
import type { RpcTracing } from "./rpc.ts";
import type { Tracing } from "./tracing.ts";

export interface Telemetry extends Tracing, RpcTracing {
  readonly metrics: Metrics;
  /** Where /metrics is served; null when it is not. */
  readonly metricsPort: number | null;
  /** Exports what is still held, within a bound, and ends. Never rejects; again is the same end. */
  shutdown(): Promise<void>;
}
