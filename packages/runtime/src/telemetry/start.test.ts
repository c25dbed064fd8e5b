import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createLog } from "../log/log.ts";
import { INSTRUMENTS, type Instrument, prometheusName } from "./instruments.ts";
import { FLUSH_BOUND_MS, startTelemetry } from "./start.ts";
import type { Telemetry } from "./telemetry.ts";

const IDENTITY = { service: "gateway", version: "1.2.3", instance: "gateway-0" };
/** Generous: a guard against waiting for the collector at all, not a measurement. */
const HANG_MS = 6_000;
const releases: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const release of releases.splice(0).reverse()) await release();
});

async function started(env: Record<string, string>, metricsPort: number | null = null): Promise<Telemetry> {
  const settings = { metricsHost: "127.0.0.1", metricsPort };
  const telemetry = await startTelemetry({ ...IDENTITY, env, settings, agents: ["scripted"] });
  releases.push(telemetry.shutdown);
  return telemetry;
}

/** A collector: what it is sent, by path. `answer` decides what becomes of a request. */
async function collector(
  answer: (request: IncomingMessage, server: Server) => number | null,
): Promise<{ url: string; received: Map<string, string> }> {
  const received = new Map<string, string>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url ?? "";
    received.set(path, (received.get(path) ?? "") + Buffer.concat(chunks).toString("latin1"));
    const status = answer(request, server);
    if (status !== null) response.writeHead(status).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  releases.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

async function scrape(telemetry: Telemetry): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${telemetry.metricsPort}/metrics`);
  expect(response.status).toBe(200);
  return response.text();
}

describe("the scrape port", () => {
  it("serves every instrument under the name that a collector would give it", async () => {
    const telemetry = await started({}, 0);
    telemetry.metrics.watchPool(() => ({ sessions: { idle: 2 }, capacity: 16, memoryBytes: 1_024 }));
    telemetry.metrics.watchGates(() => ({ warm: 1, cold: 0 }));
    telemetry.metrics.sessionReady(120, { outcome: "warm", tier: "warm", agent: "scripted" });
    telemetry.metrics.gateClosed("allowed", 5);
    telemetry.metrics.answerWritten(5, "warm");
    telemetry.metrics.storeOperation(5, "record_get", "ok");
    const text = await scrape(telemetry);
    for (const instrument of Object.values<Instrument>(INSTRUMENTS)) {
      expect(text).toContain(`# TYPE ${prometheusName(instrument)} ${instrument.kind}\n`);
    }
    expect(text).toContain('holdfast_pool_sessions{state="idle"} 2');
    expect(text).toContain("holdfast_pool_memory_bytes 1024");
    expect(text).toContain(
      'holdfast_session_ready_duration_seconds_sum{outcome="warm",tier="warm",agent="scripted"} 0.12',
    );
    expect(text).toContain(
      'holdfast_session_ready_duration_seconds_bucket{outcome="warm",tier="warm",agent="scripted",le="0.25"} 1',
    );
    expect(text).toContain('holdfast_session_cold_falls_total{reason="owner_dead",agent="scripted"} 0');
    expect(text).toContain('service_name="holdfast-gateway"');
  });

  it("serves nothing else", async () => {
    const telemetry = await started({}, 0);
    const base = `http://127.0.0.1:${telemetry.metricsPort}`;
    expect((await fetch(`${base}/`)).status).toBe(404);
    expect((await fetch(`${base}/metrics`, { method: "POST" })).status).toBe(404);
    expect((await fetch(`${base}/metrics?x=1`)).status).toBe(200);
  });

  it("is closed by the shutdown", async () => {
    const telemetry = await started({}, 0);
    await telemetry.shutdown();
    await expect(fetch(`http://127.0.0.1:${telemetry.metricsPort}/metrics`)).rejects.toThrow();
  });

  it("that is taken is named, and nothing is started", async () => {
    const first = await started({}, 0);
    await expect(started({}, first.metricsPort)).rejects.toThrow(`127.0.0.1 port ${first.metricsPort}`);
  });

  it("is not opened unless it is asked for", async () => {
    expect((await started({})).metricsPort).toBeNull();
  });
});

describe("an OTLP endpoint", () => {
  it("gets the spans and the metrics that are still held at the end", async () => {
    const { url, received } = await collector(() => 200);
    const telemetry = await started({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=dev",
    });
    telemetry.span("holdfast.session.park", { session: "s-1" }, () => undefined);
    telemetry.metrics.coldFall("idle_ttl", "scripted");
    await telemetry.shutdown();
    expect(received.get("/v1/traces")).toMatch(/holdfast-gateway[\s\S]*holdfast\.session\.park/);
    expect(received.get("/v1/traces")).toContain("deployment.environment.name");
    expect(received.get("/v1/metrics")).toContain("holdfast.session.cold_falls");
    expect(received.get("/v1/metrics")).toContain("holdfast.session.cold_falls");
  });

  it("for one signal gets that signal only", async () => {
    const { url, received } = await collector(() => 200);
    const telemetry = await started({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/own/path` });
    telemetry.span("holdfast.session.park", {}, () => undefined);
    await telemetry.shutdown();
    expect([...received.keys()]).toEqual(["/own/path"]);
  });

  it.each([
    ["OTEL_SDK_DISABLED", "true"],
    ["OTEL_TRACES_EXPORTER", "none"],
  ])("gets no spans with %s=%s", async (name, value) => {
    const { url, received } = await collector(() => 200);
    const telemetry = await started({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url, [name]: value });
    expect(telemetry.span("holdfast.session.park", {}, (span) => span.traceparent)).toBe("");
    await telemetry.shutdown();
    expect(received.size).toBe(0);
  });

  it("gets no trace that the sampler leaves out, and the trace is still handed on", async () => {
    const { url, received } = await collector(() => 200);
    const telemetry = await started({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url, OTEL_TRACES_SAMPLER: "always_off" });
    expect(telemetry.span("holdfast.session.park", {}, (span) => span.traceparent)).toMatch(/^00-.*-00$/);
    await telemetry.shutdown();
    expect(received.size).toBe(0);
  });

  it.each([
    ["does not answer", () => null],
    ["refuses", () => 503],
  ])("that %s keeps nobody waiting, and the shutdown no longer than its bound", async (_, answer) => {
    const { url } = await collector(answer);
    const telemetry = await started({ OTEL_EXPORTER_OTLP_ENDPOINT: url });
    const begun = performance.now();
    for (let i = 0; i < 5_000; i++) telemetry.span("holdfast.session.park", {}, () => undefined);
    expect(performance.now() - begun).toBeLessThan(HANG_MS);
    await telemetry.shutdown();
    expect(performance.now() - begun).toBeLessThan(FLUSH_BOUND_MS + HANG_MS);
  });

  it("that nobody listens on is told of once, in the log", async () => {
    const { url } = await collector(() => 200);
    for (const release of releases.splice(0)) await release();
    const lines: string[] = [];
    const log = createLog({ service: "gateway", destination: { write: (line) => void lines.push(line) } });
    const telemetry = await startTelemetry({ ...IDENTITY, env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url }, log });
    telemetry.span("holdfast.session.park", {}, () => undefined);
    await telemetry.shutdown();
    expect(lines.join("")).toContain("telemetry.problem");
    expect(lines.length).toBeLessThanOrEqual(2);
  });

  it("that is no URL is told of, and the service starts without it", async () => {
    const lines: string[] = [];
    const log = createLog({ service: "gateway", destination: { write: (line) => void lines.push(line) } });
    const telemetry = await startTelemetry({
      ...IDENTITY,
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" },
      log,
    });
    expect(telemetry.span("holdfast.session.park", {}, (span) => span.traceparent)).toBe("");
    expect(lines.join("")).toContain("is not an http URL");
    await telemetry.shutdown();
  });
});
