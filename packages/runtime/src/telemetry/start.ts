// Wires OpenTelemetry by hand: only what is asked for is made, and with nothing asked for nothing is.

import { createNoopMeter, type Meter, type Tracer } from "@opentelemetry/api";
import { type IMetricReader, MeterProvider } from "@opentelemetry/sdk-metrics";
import { type SpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Log } from "../log/log.ts";
import type { Settings } from "../settings/settings.ts";
import { SCOPE } from "./conventions.ts";
import {
  type Environment,
  metricReadersFor,
  reportProblems,
  resourceFor,
  samplerFor,
  spanProcessorsFor,
} from "./exporting.ts";
import { exportedName, INSTRUMENTS } from "./instruments.ts";
import { createMetrics } from "./metrics.ts";
import { createRpcTracing } from "./rpc.ts";
import { openScrapePort } from "./scrape.ts";
import type { Telemetry } from "./telemetry.ts";
import { createTracing, spanMaker } from "./tracing.ts";

export interface TelemetryOptions {
  /** gateway, runner, local; exported as `holdfast-gateway` and so on. */
  readonly service: string;
  readonly version: string;
  /** Which of several: the runner's name, the host. */
  readonly instance: string;
  /** Read for OTEL_ variables. */
  readonly env: Environment;
  /** Where /metrics is served, if it is. */
  readonly settings?: Pick<Settings, "metricsHost" | "metricsPort">;
  /** The catalogue's agents, if they are known by now. */
  readonly agents?: readonly string[];
  /** Told of exports that fail. */
  readonly log?: Log;
}

/** What spans and metrics are given to. */
export interface Outlets {
  readonly spanProcessors: readonly SpanProcessor[];
  readonly metricReaders: readonly IMetricReader[];
}

/** How long the last export may take. */
export const FLUSH_BOUND_MS = 2_000;

/** Rejects only when the scrape port cannot be opened, which an operator asked for by number. */
export async function startTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  if (options.log !== undefined) reportProblems(options.log);
  const { metricsHost = "127.0.0.1", metricsPort = null } = options.settings ?? {};
  const scrape = metricsPort === null ? null : await openScrapePort(metricsHost, metricsPort);
  const telemetry = wireTelemetry(options, {
    spanProcessors: spanProcessorsFor(options.env),
    metricReaders: [...metricReadersFor(options.env), ...(scrape === null ? [] : [scrape.reader])],
  });
  let ended: Promise<void> | null = null;
  return {
    ...telemetry,
    metricsPort: scrape?.port ?? null,
    shutdown() {
      ended ??= Promise.all([telemetry.shutdown(), scrape?.close()]).then(() => undefined);
      return ended;
    },
  };
}

/** The facade over whatever outlets there are; without any, over nothing. */
export function wireTelemetry(options: TelemetryOptions, { spanProcessors, metricReaders }: Outlets): Telemetry {
  const resource = resourceFor(options.env, options.service, options.version, options.instance);
  const ends: (() => Promise<void>)[] = [];
  let tracer: Tracer | null = null;
  if (spanProcessors.length > 0) {
    const provider = new TracerProvider({
      resource,
      sampler: samplerFor(options.env),
      spanProcessors: [...spanProcessors],
    });
    tracer = provider.getTracer(SCOPE, options.version);
    ends.push(() => provider.shutdown());
  }
  let meter: Meter = createNoopMeter();
  if (metricReaders.length > 0) {
    const provider = new MeterProvider({ resource, views: unitNames(), readers: [...metricReaders] });
    meter = provider.getMeter(SCOPE, options.version);
    ends.push(() => provider.shutdown());
  }
  const begin = spanMaker(tracer);
  return {
    ...createTracing(begin),
    ...createRpcTracing(begin),
    metrics: createMetrics(meter, options.agents),
    metricsPort: null,
    shutdown: () => endAll(ends, options.log),
  };
}

/** Names with their units, in one place for every outlet. */
function unitNames(): { instrumentName: string; name: string }[] {
  return Object.values(INSTRUMENTS)
    .map((instrument) => ({ instrumentName: instrument.name, name: exportedName(instrument) }))
    .filter(({ instrumentName, name }) => instrumentName !== name);
}

async function endAll(ends: readonly (() => Promise<void>)[], log: Log | undefined): Promise<void> {
  const bound = Promise.withResolvers<"late">();
  const timer = setTimeout(() => bound.resolve("late"), FLUSH_BOUND_MS);
  const ended = Promise.allSettled(ends.map((end) => end()));
  const outcome = await Promise.race([ended, bound.promise]);
  clearTimeout(timer);
  const isWhole = outcome !== "late" && outcome.every(({ status }) => status === "fulfilled");
  if (!isWhole)
    log?.warn("telemetry.problem", { reason: "flush", duration_ms: FLUSH_BOUND_MS }, "the last export did not succeed");
}
