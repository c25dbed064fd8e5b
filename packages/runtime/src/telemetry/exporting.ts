// Where telemetry goes, by OpenTelemetry's own variables: nowhere unless an OTLP endpoint is named. The exporters read
// the rest of those variables (headers, timeout, compression, certificates) themselves.
//
// An export that is down or slow changes nothing: what is held back for it is bounded, the newest spans are dropped, and
// its complaints come to the log at most once a minute.

import { DiagLogLevel, diag } from "@opentelemetry/api";
import { parseKeyPairsIntoRecord } from "@opentelemetry/core";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import { type IMetricReader, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace";
import type { Log } from "../log/log.ts";
import { redact } from "../log/redact.ts";
import { SERVICE_INSTANCE_ID, SERVICE_NAME, SERVICE_NAMESPACE, SERVICE_VERSION } from "./conventions.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Spans held back for an export that is slow; more are dropped. */
const SPANS_HELD = 2_048;
const SPANS_PER_EXPORT = 512;
const SPAN_EXPORT_DELAY_MS = 5_000;
const METRIC_EXPORT_INTERVAL_MS = 60_000;
const METRIC_EXPORT_TIMEOUT_MS = 30_000;
const COMPLAINT_INTERVAL_MS = 60_000;

export function spanProcessorsFor(env: Environment): readonly SpanProcessor[] {
  const url = endpointOf(env, "TRACES", "v1/traces");
  if (url === null) return [];
  const scheduledDelayMillis = positive(env.OTEL_BSP_SCHEDULE_DELAY) ?? SPAN_EXPORT_DELAY_MS;
  const bounds = { maxQueueSize: SPANS_HELD, maxExportBatchSize: SPANS_PER_EXPORT, scheduledDelayMillis };
  return [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url }), ...bounds })];
}

export function metricReadersFor(env: Environment): readonly IMetricReader[] {
  const url = endpointOf(env, "METRICS", "v1/metrics");
  if (url === null) return [];
  const exportIntervalMillis = positive(env.OTEL_METRIC_EXPORT_INTERVAL) ?? METRIC_EXPORT_INTERVAL_MS;
  const exportTimeoutMillis = Math.min(
    positive(env.OTEL_METRIC_EXPORT_TIMEOUT) ?? METRIC_EXPORT_TIMEOUT_MS,
    exportIntervalMillis,
  );
  const exporter = new OTLPMetricExporter({ url });
  return [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis, exportTimeoutMillis })];
}

/** All traces unless OTEL_TRACES_SAMPLER says otherwise; a caller's decision is kept. */
export function samplerFor(env: Environment): Sampler {
  const name = env.OTEL_TRACES_SAMPLER || "parentbased_always_on";
  const ratio = Number(env.OTEL_TRACES_SAMPLER_ARG || "1");
  const root = rootSamplerOf(name, Number.isNaN(ratio) ? 1 : ratio);
  return name.startsWith("parentbased") ? new ParentBasedSampler({ root }) : root;
}

/** Who tells: OTEL_RESOURCE_ATTRIBUTES may add to it, OTEL_SERVICE_NAME renames it. */
export function resourceFor(env: Environment, service: string, version: string, instance: string): Resource {
  return resourceFromAttributes({
    [SERVICE_NAMESPACE]: "holdfast",
    [SERVICE_NAME]: `holdfast-${service}`,
    [SERVICE_VERSION]: version,
    [SERVICE_INSTANCE_ID]: instance,
    ...parseKeyPairsIntoRecord(env.OTEL_RESOURCE_ATTRIBUTES),
    ...(env.OTEL_SERVICE_NAME ? { [SERVICE_NAME]: env.OTEL_SERVICE_NAME } : {}),
  });
}

/** Brings the SDK's complaints to the log. They are the process' own, so the last log told wins. */
export function reportProblems(log: Log, now: () => number = Date.now): void {
  let quietUntil = 0;
  const complain = (message: string): void => {
    if (now() < quietUntil) return;
    quietUntil = now() + COMPLAINT_INTERVAL_MS;
    log.warn("telemetry.problem", { detail: redact(message) });
  };
  const quiet = (): void => undefined;
  diag.setLogger(
    { error: complain, warn: complain, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

function endpointOf(env: Environment, signal: "TRACES" | "METRICS", path: string): string | null {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true" || env[`OTEL_${signal}_EXPORTER`] === "none") return null;
  const own = env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`];
  if (own) return checked(own);
  const shared = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  return shared ? checked(`${shared.replace(/\/$/, "")}/${path}`) : null;
}

/** A wrong endpoint is told of and exports nothing: telemetry never keeps a service from starting. */
function checked(url: string): string | null {
  if (URL.canParse(url) && /^https?:/.test(url)) return url;
  diag.error(`the OTLP endpoint ${url} is not an http URL; nothing is exported to it`);
  return null;
}

function rootSamplerOf(name: string, ratio: number): Sampler {
  if (name.endsWith("always_off")) return new AlwaysOffSampler();
  return name.endsWith("traceidratio") ? new TraceIdRatioBasedSampler(ratio) : new AlwaysOnSampler();
}

function positive(text: string | undefined): number | null {
  const value = Number(text);
  return Number.isInteger(value) && value > 0 ? value : null;
}
