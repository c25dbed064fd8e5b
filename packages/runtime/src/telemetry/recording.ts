// Telemetry that keeps what it is told, for tests: the real facade and the real SDK, with outlets that remember.

import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { DataPointType, type MetricData, MetricReader } from "@opentelemetry/sdk-metrics";
import type { ReadableSpan, SpanProcessor } from "@opentelemetry/sdk-trace";
import { exportedName, INSTRUMENTS, type Labels } from "./instruments.ts";
import { wireTelemetry } from "./start.ts";
import type { Telemetry } from "./telemetry.ts";

export interface RecordedSpan {
  readonly name: string;
  readonly kind: "internal" | "server" | "client";
  readonly traceId: string;
  readonly spanId: string;
  /** null for the root of a trace. */
  readonly parentSpanId: string | null;
  /** The span ids it is linked to. */
  readonly links: readonly string[];
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly failed: boolean;
}

export interface RecordedTelemetry extends Telemetry {
  /** Spans that have ended, in the order of their ends. */
  spans(): readonly RecordedSpan[];
  /** A counter's or gauge's value, a histogram's count, for exactly these labels; null when there is no such series. */
  value(instrument: keyof typeof INSTRUMENTS, labels?: Labels): Promise<number | null>;
  /** Every label set that an instrument has a value for. */
  series(instrument: keyof typeof INSTRUMENTS): Promise<readonly Labels[]>;
}

export function recordTelemetry(options: { service?: string; agents?: readonly string[] } = {}): RecordedTelemetry {
  const ended: ReadableSpan[] = [];
  const reader = new ManualReader();
  const telemetry = wireTelemetry(
    { service: options.service ?? "test", version: "0", instance: "test", env: {}, agents: options.agents ?? [] },
    { spanProcessors: [rememberer(ended)], metricReaders: [reader] },
  );
  const dataOf = async (instrument: keyof typeof INSTRUMENTS): Promise<readonly Point[]> => {
    const { resourceMetrics } = await reader.collect();
    const name = exportedName(INSTRUMENTS[instrument]);
    return resourceMetrics.scopeMetrics
      .flatMap(({ metrics }) => metrics.filter((metric) => metric.descriptor.name === name))
      .flatMap(pointsOf);
  };
  return {
    ...telemetry,
    spans: () => ended.map(recorded),
    async value(instrument, labels = {}) {
      return (await dataOf(instrument)).find((point) => isSame(point.labels, labels))?.value ?? null;
    },
    series: async (instrument) => (await dataOf(instrument)).map(({ labels }) => labels),
  };
}

interface Point {
  readonly labels: Labels;
  readonly value: number;
}

class ManualReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {
    return undefined;
  }
  protected override async onShutdown(): Promise<void> {
    return undefined;
  }
}

function rememberer(ended: ReadableSpan[]): SpanProcessor {
  return {
    onStart: () => undefined,
    onEnd: (span) => void ended.push(span),
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
  };
}

const KINDS: Readonly<Partial<Record<SpanKind, RecordedSpan["kind"]>>> = {
  [SpanKind.SERVER]: "server",
  [SpanKind.CLIENT]: "client",
};

function recorded(span: ReadableSpan): RecordedSpan {
  return {
    name: span.name,
    kind: KINDS[span.kind] ?? "internal",
    traceId: span.spanContext().traceId,
    spanId: span.spanContext().spanId,
    parentSpanId: span.parentSpanContext?.spanId ?? null,
    links: span.links.map(({ context }) => context.spanId),
    attributes: span.attributes,
    failed: span.status.code === SpanStatusCode.ERROR,
  };
}

function pointsOf(metric: MetricData): readonly Point[] {
  switch (metric.dataPointType) {
    case DataPointType.SUM:
    case DataPointType.GAUGE:
      return metric.dataPoints.map(({ attributes, value }) => ({ labels: attributes as Labels, value }));
    case DataPointType.HISTOGRAM:
    case DataPointType.EXPONENTIAL_HISTOGRAM:
      return metric.dataPoints.map(({ attributes, value }) => ({ labels: attributes as Labels, value: value.count }));
  }
}

function isSame(one: Labels, other: Labels): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}
