import { COLD_REASONS, EVICTION_REASONS, REFUSAL_REASONS } from "@holdfast/pool";
import { describe, expect, it } from "vitest";
import { INSTRUMENTS, type Instrument, instrumentsTable, prometheusName } from "./instruments.ts";
import { recordTelemetry } from "./recording.ts";

describe("before anything has happened", () => {
  it("every label set of every counter is there with 0, for each agent of the catalogue", async () => {
    const telemetry = recordTelemetry({ agents: ["scripted", "claude"] });
    for (const [key, instrument] of Object.entries<Instrument>(INSTRUMENTS)) {
      if (instrument.kind !== "counter") continue;
      const agents = instrument.labels.includes("agent") ? 3 : 1;
      const series = await telemetry.series(key as keyof typeof INSTRUMENTS);
      expect(series, key).toHaveLength((instrument.values?.length ?? 0) * agents);
      for (const labels of series) {
        expect(Object.keys(labels).sort(), key).toEqual([...instrument.labels].sort());
        expect(await telemetry.value(key as keyof typeof INSTRUMENTS, labels), key).toBe(0);
      }
    }
  });

  it("every reason of the closed sets is a label value", async () => {
    const telemetry = recordTelemetry();
    const valuesOf = async (key: "coldFalls" | "evictions" | "answers"): Promise<Set<string | undefined>> =>
      new Set((await telemetry.series(key)).map(({ reason }) => reason));
    expect(await valuesOf("coldFalls")).toEqual(new Set(COLD_REASONS));
    expect(await valuesOf("evictions")).toEqual(new Set(EVICTION_REASONS));
    expect(await valuesOf("answers")).toEqual(new Set([...REFUSAL_REASONS, "none"]));
  });

  it("an agent that becomes known later starts at 0, and one named twice is not counted twice", async () => {
    const telemetry = recordTelemetry();
    telemetry.metrics.knowAgents(["gemini"]);
    telemetry.metrics.turn("completed", "gemini");
    telemetry.metrics.knowAgents(["gemini"]);
    expect(await telemetry.value("turns", { outcome: "lost", agent: "gemini" })).toBe(0);
    expect(await telemetry.value("turns", { outcome: "completed", agent: "gemini" })).toBe(1);
  });
});

describe("what happens", () => {
  it("is counted where it belongs, and nowhere that was not there before", async () => {
    const telemetry = recordTelemetry({ agents: ["scripted"] });
    const before = await Promise.all(
      Object.keys(INSTRUMENTS).map((key) => telemetry.series(key as keyof typeof INSTRUMENTS)),
    );
    const { metrics } = telemetry;
    metrics.checkout({ cause: "prompt", outcome: "warm", tier: "warm", agent: "scripted" });
    metrics.checkout({ cause: "answer", outcome: "cold", tier: "load", agent: "scripted" });
    metrics.checkout({ cause: "prompt", outcome: "refused", tier: null, agent: "scripted" });
    metrics.coldFall("first_turn", "scripted");
    metrics.eviction("approval_ttl", "scripted");
    metrics.gateOpened("scripted");
    metrics.answer("accepted");
    metrics.answer("conflict", "GATE_ANSWERED_DIFFERENTLY");
    metrics.answer("refused", "GATE_UNKNOWN");
    metrics.answerSettled("applied", "warm");
    metrics.delivery("handed_back");
    metrics.ownerLookup("claimed");
    metrics.turn("completed", "scripted");
    const agent = "scripted";
    expect(await telemetry.value("checkouts", { cause: "prompt", outcome: "warm", tier: "warm", agent })).toBe(1);
    expect(await telemetry.value("checkouts", { cause: "answer", outcome: "cold", tier: "load", agent })).toBe(1);
    expect(await telemetry.value("checkouts", { cause: "prompt", outcome: "refused", tier: "none", agent })).toBe(1);
    expect(await telemetry.value("coldFalls", { reason: "first_turn", agent })).toBe(1);
    expect(await telemetry.value("evictions", { reason: "approval_ttl", agent })).toBe(1);
    expect(await telemetry.value("gatesOpened", { agent })).toBe(1);
    expect(await telemetry.value("answers", { outcome: "accepted", reason: "none" })).toBe(1);
    expect(await telemetry.value("answers", { outcome: "conflict", reason: "GATE_ANSWERED_DIFFERENTLY" })).toBe(1);
    expect(await telemetry.value("answers", { outcome: "refused", reason: "GATE_UNKNOWN" })).toBe(1);
    expect(await telemetry.value("answersSettled", { disposition: "applied", path: "warm" })).toBe(1);
    expect(await telemetry.value("deliveries", { result: "handed_back" })).toBe(1);
    expect(await telemetry.value("ownerLookups", { result: "claimed" })).toBe(1);
    expect(await telemetry.value("turns", { outcome: "completed", agent })).toBe(1);
    const after = await Promise.all(
      Object.keys(INSTRUMENTS).map((key) => telemetry.series(key as keyof typeof INSTRUMENTS)),
    );
    expect(after).toEqual(before);
  });

  it("is timed in milliseconds here and in seconds outside", async () => {
    const telemetry = recordTelemetry({ agents: ["scripted"] });
    telemetry.metrics.sessionReady(120, { outcome: "warm", tier: "warm", agent: "scripted" });
    telemetry.metrics.gateClosed("allowed", 20_000);
    telemetry.metrics.answerWritten(15, "warm");
    telemetry.metrics.storeOperation(2, "record_swap", "conflict");
    expect(await telemetry.value("readyDuration", { outcome: "warm", tier: "warm", agent: "scripted" })).toBe(1);
    expect(await telemetry.value("gateWait", { outcome: "allowed" })).toBe(1);
    expect(await telemetry.value("gatesClosed", { outcome: "allowed" })).toBe(1);
    expect(await telemetry.value("answerWrite", { path: "warm" })).toBe(1);
    expect(await telemetry.value("storeDuration", { operation: "record_swap", result: "conflict" })).toBe(1);
  });

  it("with an agent that no catalogue names counts as other", async () => {
    const telemetry = recordTelemetry({ agents: ["scripted"] });
    telemetry.metrics.coldFall("idle_ttl", "made-up-by-a-caller");
    expect(await telemetry.value("coldFalls", { reason: "idle_ttl", agent: "other" })).toBe(1);
  });
});

describe("gauges", () => {
  it("are read when they are collected, every state at once, and are not there before", async () => {
    const telemetry = recordTelemetry();
    expect(await telemetry.series("poolSessions")).toEqual([]);
    let busy = 1;
    telemetry.metrics.watchPool(() => ({ sessions: { busy }, capacity: 16, memoryBytes: 4_096 }));
    telemetry.metrics.watchGates(() => ({ warm: 2, cold: 1 }));
    expect(await telemetry.value("poolSessions", { state: "busy" })).toBe(1);
    busy = 3;
    expect(await telemetry.value("poolSessions", { state: "busy" })).toBe(3);
    expect(await telemetry.value("poolSessions", { state: "closing" })).toBe(0);
    expect(await telemetry.value("poolCapacity")).toBe(16);
    expect(await telemetry.value("poolMemory")).toBe(4_096);
    expect(await telemetry.value("gatesPending", { warm: "true" })).toBe(2);
    expect(await telemetry.value("gatesPending", { warm: "false" })).toBe(1);
    telemetry.metrics.watchPool(() => ({ sessions: {}, capacity: 4, memoryBytes: 0 }));
    expect(await telemetry.value("poolSessions", { state: "busy" })).toBe(0);
    expect(await telemetry.value("poolCapacity")).toBe(4);
  });
});

describe("the instruments", () => {
  it("have names of their own, in OpenTelemetry and in Prometheus", () => {
    const all = Object.values<Instrument>(INSTRUMENTS);
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    expect(new Set(all.map(prometheusName)).size).toBe(all.length);
  });

  it("are listed with both names", () => {
    expect(instrumentsTable()).toContain(
      "| holdfast.session.ready.duration | holdfast_session_ready_duration_seconds | histogram | s |",
    );
    expect(instrumentsTable()).toContain("| holdfast.answers | holdfast_answers_total | counter |");
    expect(instrumentsTable()).toContain("| holdfast.pool.memory | holdfast_pool_memory_bytes | gauge | By |");
  });
});
