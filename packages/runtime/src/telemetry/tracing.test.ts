import { setTimeout as later } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { recordTelemetry } from "./recording.ts";
import { wireTelemetry } from "./start.ts";

const REMOTE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("a span", () => {
  it("has the name, the attributes it began with and those that were set later", () => {
    const telemetry = recordTelemetry();
    telemetry.span(
      "holdfast.session.checkout",
      { session: "s-1", turn: "turn_1", execution: 2, agent: "scripted" },
      (span) => span.set({ outcome: "cold", tier: "load", coldReason: "idle_ttl" }),
    );
    expect(telemetry.spans()).toEqual([
      expect.objectContaining({
        name: "holdfast.session.checkout",
        kind: "internal",
        parentSpanId: null,
        failed: false,
        attributes: {
          "holdfast.session.id": "s-1",
          "holdfast.turn.id": "turn_1",
          "holdfast.execution": 2,
          "gen_ai.agent.name": "scripted",
          "holdfast.outcome": "cold",
          "holdfast.tier": "load",
          "holdfast.cold_reason": "idle_ttl",
        },
      }),
    ]);
  });

  it("leaves out what is not known", () => {
    const telemetry = recordTelemetry();
    telemetry.span("holdfast.session.checkout", { outcome: "warm", tier: "warm", coldReason: null }, () => undefined);
    expect(Object.keys(telemetry.spans()[0]?.attributes ?? {})).toEqual(["holdfast.outcome", "holdfast.tier"]);
  });

  it("lasts until its promise settles, and is the parent of what begins inside, across awaits", async () => {
    const telemetry = recordTelemetry();
    const value = await telemetry.span("holdfast.approval.answer", { outcome: "accepted" }, async () => {
      await later(1);
      telemetry.span("holdfast.owner.claim", { epoch: 3 }, () => undefined);
      return 7;
    });
    const [claim, answer] = telemetry.spans();
    expect(value).toBe(7);
    expect(claim?.name).toBe("holdfast.owner.claim");
    expect(claim?.parentSpanId).toBe(answer?.spanId);
    expect(claim?.traceId).toBe(answer?.traceId);
  });

  it("of something that fails says with which kind of error, and not with which message", async () => {
    const telemetry = recordTelemetry();
    const fail = (): never => {
      throw new TypeError("the secret is hunter2");
    };
    expect(() => telemetry.span("holdfast.agent.start", {}, fail)).toThrow("hunter2");
    await expect(telemetry.span("holdfast.agent.start", {}, async () => fail())).rejects.toThrow("hunter2");
    for (const span of telemetry.spans()) {
      expect(span).toMatchObject({ failed: true, attributes: { "error.type": "TypeError" } });
      expect(JSON.stringify(span)).not.toContain("hunter2");
    }
    expect(telemetry.spans()).toHaveLength(2);
  });

  it("can outlive the call that began it, and ends once", () => {
    const telemetry = recordTelemetry();
    const turn = telemetry.start("invoke_agent", { agent: "scripted", session: "s-1" });
    turn.run(() =>
      telemetry.span("execute_tool", { tool: "execute", toolCall: "call-1", session: "s-1" }, () => undefined),
    );
    turn.set({ stopReason: "end_turn" });
    turn.end();
    turn.end();
    const [tool, agent] = telemetry.spans();
    expect(telemetry.spans()).toHaveLength(2);
    expect(tool).toMatchObject({
      name: "execute_tool execute",
      parentSpanId: agent?.spanId,
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "execute",
        "gen_ai.tool.call.id": "call-1",
        "gen_ai.conversation.id": "s-1",
      },
    });
    expect(agent).toMatchObject({
      name: "invoke_agent scripted",
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "scripted",
        "gen_ai.conversation.id": "s-1",
      },
    });
  });

  it("takes no more of a name from outside than fits a name", () => {
    const telemetry = recordTelemetry();
    telemetry.span("execute_tool", { tool: "x".repeat(500) }, () => undefined);
    expect(telemetry.spans()[0]?.name).toBe(`execute_tool ${"x".repeat(64)}`);
  });
});

describe("a trace", () => {
  it("goes on from a record: the parent is the answer's call, the link the execution that asked", () => {
    const telemetry = recordTelemetry();
    const asked = telemetry.start("invoke_agent", { agent: "scripted" });
    asked.end();
    telemetry.span("holdfast.session.continue", { command: "cmd_1" }, () => undefined, {
      parent: REMOTE,
      links: [asked.traceparent, ""],
    });
    const [execution, continued] = telemetry.spans();
    expect(continued).toMatchObject({
      traceId: REMOTE.split("-")[1],
      parentSpanId: REMOTE.split("-")[2],
      links: [execution?.spanId],
    });
  });

  it("of an eviction is its own, linked to the session's last execution, whatever is going on around it", () => {
    const telemetry = recordTelemetry();
    const last = telemetry.start("invoke_agent", { agent: "scripted" });
    telemetry.span("holdfast.agent.start", {}, () =>
      telemetry.linkedRootSpan("holdfast.session.evict", { reason: "idle_ttl" }, last.traceparent, () => undefined),
    );
    const evicted = telemetry.spans().find(({ name }) => name === "holdfast.session.evict");
    expect(evicted?.parentSpanId).toBeNull();
    expect(evicted?.links).toEqual([last.traceparent.split("-")[2]]);
    expect(evicted?.attributes).toEqual({ "holdfast.reason": "idle_ttl" });
  });

  it("is told to records, agents and the log by its ids", () => {
    const telemetry = recordTelemetry();
    expect(telemetry.traceparent()).toBe("");
    expect(telemetry.traceIds()).toBeNull();
    telemetry.within(REMOTE, () => {
      expect(telemetry.traceparent()).toBe(REMOTE);
      expect(telemetry.traceIds()).toEqual({ trace_id: REMOTE.split("-")[1], span_id: REMOTE.split("-")[2] });
    });
    telemetry.span("holdfast.session.park", {}, (span) => expect(telemetry.traceparent()).toBe(span.traceparent));
  });

  it("is not broken by a traceparent that is none", () => {
    const telemetry = recordTelemetry();
    for (const nonsense of ["", "00-zz", "00-00000000000000000000000000000000-0000000000000000-01"]) {
      telemetry.within(nonsense, () =>
        telemetry.span("holdfast.session.park", {}, () => undefined, { parent: nonsense, links: [nonsense] }),
      );
    }
    expect(telemetry.spans().every(({ parentSpanId, links }) => parentSpanId === null && links.length === 0)).toBe(
      true,
    );
  });
});

describe("with nothing to export to", () => {
  const telemetry = wireTelemetry(
    { service: "test", version: "0", instance: "test", env: {} },
    { spanProcessors: [], metricReaders: [] },
  );

  it("spans cost nothing and change nothing", async () => {
    expect(telemetry.span("holdfast.session.park", {}, (span) => span.traceparent)).toBe("");
    await expect(
      telemetry.span("holdfast.session.park", {}, async () => Promise.reject(new Error("mine"))),
    ).rejects.toThrow("mine");
    const open = telemetry.start("invoke_agent", { agent: "scripted" });
    open.set({ stopReason: "end_turn" });
    open.fail("lost");
    expect(open.run(() => 7)).toBe(7);
    open.end();
    telemetry.metrics.coldFall("idle_ttl", "scripted");
    await telemetry.shutdown();
  });

  it("a caller's trace is handed on as it came", () => {
    telemetry.within(REMOTE, () =>
      telemetry.span("holdfast.session.park", {}, () => expect(telemetry.traceparent()).toBe(REMOTE)),
    );
  });
});
