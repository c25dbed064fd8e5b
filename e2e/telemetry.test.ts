import { Metadata } from "@grpc/grpc-js";
import { Verdict } from "@holdfast/proto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { refusalOf } from "./src/caller.ts";
import { Collector } from "./src/collector.ts";
import { Stack } from "./src/stack.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPANS = [
  "holdfast.session.checkout",
  "holdfast.session.park",
  "holdfast.session.continue",
  "holdfast.session.evict",
  "holdfast.approval.answer",
  "holdfast.command.deliver",
  "invoke_agent scripted",
  "execute_tool execute",
];
const COUNTERS = [
  "holdfast.session.checkouts",
  "holdfast.session.cold_falls",
  "holdfast.session.evictions",
  "holdfast.answers",
];

describe("telemetry of the pair", () => {
  let collector: Collector;
  let stack: Stack;
  beforeAll(async () => {
    collector = await Collector.start();
    stack = await Stack.start({ settings: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint } });
  });
  afterAll(async () => {
    await stack.close();
    await collector.close();
  });

  it("tells of checkouts, parks, answers, continuations and evictions, in the caller's own trace", async () => {
    const caller = stack.caller();
    const metadata = new Metadata();
    metadata.set("traceparent", `00-${TRACE_ID}-00f067aa0ba902b7-01`);
    const traced = { ...caller.options(), metadata };
    await caller.turn("traced", "say cold");
    const prompt = [{ block: { case: "text" as const, value: { text: "env TRACEPARENT\nrun true" } } }];
    const gates: string[] = [];
    for await (const { event } of caller.api.runTurn({ sessionId: "traced", prompt }, traced)) {
      if (event?.event.case === "gateOpened") gates.push(event.event.value.gate?.gateId ?? "");
    }
    const decision = { case: "verdict" as const, value: Verdict.ALLOW };
    const answer = { sessionId: "traced", gateId: gates[0] ?? "", decision };
    expect((await caller.api.respondApproval(answer, traced)).duplicate).toBe(false);
    expect((await caller.api.respondApproval(answer, traced)).duplicate).toBe(true);
    expect((await refusalOf(caller.answer("traced", "gate_none"))).reason).toBe("GATE_UNKNOWN");
    // Ending a service exports what it still holds; the runner's idle session is evicted by the drain.
    await stack.runner.end();
    await stack.gateway.end();

    const told = collector.bytes;
    for (const name of [...SPANS, ...COUNTERS]) expect(told.includes(name), name).toBe(true);
    for (const outcome of ["accepted", "duplicate", "refused", "GATE_UNKNOWN", "first_turn", "warm", "drain"]) {
      expect(told.includes(outcome), outcome).toBe(true);
    }
    const trace = Buffer.from(TRACE_ID, "hex");
    for (const service of ["holdfast-gateway", "holdfast-runner"]) {
      expect(
        collector.exports.some((one) => one.includes(service) && one.includes(trace)),
        service,
      ).toBe(true);
    }
  });
});
