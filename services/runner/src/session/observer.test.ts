import { create } from "@bufbuild/protobuf";
import type { Answer, Execution, Gate, SessionRecord, Tombstone, Turn } from "@holdfast/pool";
import { type ToolCall, ToolCallSchema, ToolCallStatus } from "@holdfast/proto";
import { createLog, ManualClock, type RecordedSpan, recordTelemetry } from "@holdfast/runtime";
import { describe, expect, test } from "vitest";
import { type CheckoutOutcome, SessionObserver } from "./observer.ts";

const AGENT = "scripted";
const KEY = { project: "acme", sessionId: "build-7" };

function observed() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const log = createLog({ service: "runner", level: "debug", destination: { write } });
  const telemetry = recordTelemetry({ agents: [AGENT] });
  const clock = new ManualClock(1_000_000);
  const observer = new SessionObserver({ telemetry, log, clock }, KEY);
  const named = (name: string): readonly RecordedSpan[] =>
    telemetry.spans().filter((span) => span.name.startsWith(name));
  const events = () => lines.map(({ event }) => event);
  return { observer, telemetry, clock, lines, named, events };
}

type Observed = ReturnType<typeof observed>;

async function checkedOut({ observer }: Observed, seen: CheckoutOutcome) {
  return observer.checkout(AGENT, "prompt", async () => ({ seen }));
}

/** An execution that has begun, for an agent that was checked out. */
async function working(seen: CheckoutOutcome = { kind: "warm" }): Promise<Observed> {
  const scene = observed();
  await checkedOut(scene, seen);
  scene.observer.beginExecution("t1", 1);
  return scene;
}

const gate = (gateId: string): Gate =>
  ({ gateId, turnId: "t1", openedAt: 1_000, state: { kind: "pending" } }) as unknown as Gate;

function tombstone(gateId: string, state: Tombstone["state"]): Tombstone {
  return { gateId, turnId: "t1", openedAt: 1_000, closedAt: 4_000, state } as unknown as Tombstone;
}

function answered(gateId: string, verdict: Answer["verdict"], disposition: Answer["disposition"]): Tombstone {
  const answer = { answerId: `a-${gateId}`, verdict, at: 3_000, disposition } as unknown as Answer;
  return tombstone(gateId, { kind: "answered", answer });
}

type Seen = {
  readonly state?: Execution["state"];
  readonly gates?: readonly Gate[];
  readonly tombstones?: readonly Tombstone[];
  readonly ending?: Partial<NonNullable<Turn["ending"]>> | null;
};

/** What the observer looks at of a record. */
function record({ state = "running", gates = [], tombstones = [], ending = null }: Seen = {}): SessionRecord {
  const turn = { turnId: "t1", ending };
  return { turn, execution: { number: 1, state }, gates, tombstones } as unknown as SessionRecord;
}

const RUNNING = record();
const PARKED = record({ state: "parked", gates: [gate("g1")] });

describe("a checkout", () => {
  test("that is warm is one span, one count and the time it took", async () => {
    const scene = observed();
    await scene.observer.checkout(AGENT, "prompt", async () => {
      await scene.clock.advance(2_000);
      return { seen: { kind: "warm" } };
    });
    const [span] = scene.named("holdfast.session.checkout");
    expect(span?.attributes).toMatchObject({
      "holdfast.project": "acme",
      "holdfast.session.id": "build-7",
      "holdfast.cause": "prompt",
      "holdfast.outcome": "warm",
      "holdfast.tier": "warm",
    });
    const labels = { outcome: "warm", tier: "warm", agent: AGENT };
    expect(await scene.telemetry.value("checkouts", { cause: "prompt", ...labels })).toBe(1);
    expect(await scene.telemetry.value("readyDuration", labels)).toBe(1);
    expect(scene.events()).toEqual(["warm_hit"]);
  });

  test("that is cold counts its fall at once, and the checkout when the process is ready", async () => {
    const scene = observed();
    await checkedOut(scene, { kind: "cold", reason: "idle_ttl" });
    const labels = { cause: "prompt", outcome: "cold", tier: "load", agent: AGENT };
    expect(scene.named("holdfast.session.checkout")[0]?.attributes).toMatchObject({
      "holdfast.outcome": "cold",
      "holdfast.cold_reason": "idle_ttl",
    });
    expect(await scene.telemetry.value("coldFalls", { reason: "idle_ttl", agent: AGENT })).toBe(1);
    expect(await scene.telemetry.value("checkouts", labels)).toBe(0);
    await scene.clock.advance(3_000);
    scene.observer.ready("prompt", "load", "idle_ttl", 42);
    expect(await scene.telemetry.value("checkouts", labels)).toBe(1);
    expect(await scene.telemetry.value("readyDuration", { outcome: "cold", tier: "load", agent: AGENT })).toBe(1);
    expect(scene.lines.map(({ event, reason, pid }) => [event, reason, pid])).toEqual([
      ["cold_fall", "idle_ttl", undefined],
      ["agent.ready", "idle_ttl", 42],
    ]);
  });

  test("that is refused is counted without a tier; one that waits is not counted", async () => {
    const scene = observed();
    await checkedOut(scene, { kind: "waits" });
    const labels = { cause: "prompt", outcome: "refused", tier: "none", agent: AGENT };
    expect(await scene.telemetry.value("checkouts", labels)).toBe(0);
    await checkedOut(scene, { kind: "refused", reason: "POOL_FULL" });
    expect(await scene.telemetry.value("checkouts", labels)).toBe(1);
    expect(scene.named("holdfast.session.checkout")).toHaveLength(2);
  });

  test("that fails ends its span as failed", async () => {
    const scene = observed();
    const failing = scene.observer.checkout(AGENT, "prompt", () => Promise.reject(new TypeError("a bug")));
    await expect(failing).rejects.toThrow("a bug");
    expect(scene.named("holdfast.session.checkout")[0]?.failed).toBe(true);
  });
});

describe("an execution", () => {
  test("is one span until its turn ends, with how it ended, and the turn is counted", async () => {
    const scene = await working();
    expect(scene.named("invoke_agent")).toHaveLength(0);
    scene.observer.recorded(
      RUNNING,
      record({ state: "ended", ending: { outcome: "completed", stopReason: "end_turn" } }),
    );
    const [span] = scene.named("invoke_agent");
    expect(span?.attributes).toMatchObject({ "holdfast.turn.id": "t1", "holdfast.stop_reason": "end_turn" });
    expect(await scene.telemetry.value("turns", { outcome: "completed", agent: AGENT })).toBe(1);
    expect(scene.lines.at(-1)).toMatchObject({ event: "turn.ended", outcome: "completed", turn: "t1" });
  });

  test("ends when the next begins, which is linked to it", async () => {
    const scene = await working();
    scene.observer.beginExecution("t1", 2);
    scene.observer.left();
    const [first, second] = scene.named("invoke_agent");
    expect(second?.links).toEqual([first?.spanId]);
  });

  test("ends when the session leaves this runner, with its park and its tools", async () => {
    const scene = await working();
    scene.observer.tool(call("c1", ToolCallStatus.PENDING));
    scene.observer.recorded(RUNNING, PARKED);
    scene.observer.left();
    scene.observer.left();
    expect(scene.telemetry.spans().map(({ name }) => name.split(" ")[0])).toEqual([
      "holdfast.session.checkout",
      "holdfast.session.park",
      "execute_tool",
      "invoke_agent",
    ]);
  });

  test("that has ended is not counted again by a later change of the same record", async () => {
    const scene = await working();
    const ended = record({ state: "ended", ending: { outcome: "failed", stopReason: "agent_exited" } });
    scene.observer.recorded(RUNNING, ended);
    scene.observer.recorded(ended, ended);
    expect(await scene.telemetry.value("turns", { outcome: "failed", agent: AGENT })).toBe(1);
  });
});

function call(id: string, status: ToolCallStatus): ToolCall {
  return create(ToolCallSchema, { id, kind: "execute", title: "rm -rf secret", status });
}

describe("a tool call", () => {
  test("is one span below its execution, from its announcement to its end, and shows no title", async () => {
    const scene = await working();
    scene.observer.tool(call("c1", ToolCallStatus.PENDING));
    scene.observer.tool(call("c1", ToolCallStatus.IN_PROGRESS));
    scene.observer.tool(call("c1", ToolCallStatus.COMPLETED));
    scene.observer.left();
    const [span] = scene.named("execute_tool");
    const [execution] = scene.named("invoke_agent");
    expect(span).toMatchObject({ name: "execute_tool execute", parentSpanId: execution?.spanId });
    expect(span?.attributes).toMatchObject({ "gen_ai.tool.call.id": "c1", "holdfast.tool.status": "completed" });
    expect(JSON.stringify(scene.telemetry.spans())).not.toContain("secret");
  });

  test("that is over and spoken of again stays one span; its id for another call is another span", async () => {
    const scene = await working();
    for (const status of [
      ToolCallStatus.FAILED,
      ToolCallStatus.FAILED,
      ToolCallStatus.PENDING,
      ToolCallStatus.COMPLETED,
    ]) {
      scene.observer.tool(call("c1", status));
    }
    expect(scene.named("execute_tool").map(({ attributes }) => attributes["holdfast.tool.status"])).toEqual([
      "failed",
      "completed",
    ]);
  });

  test("outside of an execution has no span", () => {
    const scene = observed();
    scene.observer.tool(call("c1", ToolCallStatus.COMPLETED));
    expect(scene.telemetry.spans()).toEqual([]);
  });
});

describe("a park", () => {
  test("is one span from the first gate until nothing is waited for, whatever gates open meanwhile", async () => {
    const scene = await working();
    const both = record({ state: "parked", gates: [gate("g1"), gate("g2")] });
    scene.observer.recorded(RUNNING, PARKED);
    scene.observer.recorded(PARKED, both);
    expect(scene.named("holdfast.session.park")).toHaveLength(0);
    scene.observer.recorded(both, record({ state: "queued", gates: both.gates }));
    const [park] = scene.named("holdfast.session.park");
    scene.observer.left();
    expect(park?.attributes).toMatchObject({ "holdfast.gates": 1 });
    expect(park?.parentSpanId).toBe(scene.named("invoke_agent")[0]?.spanId);
    expect(await scene.telemetry.value("gatesOpened", { agent: AGENT })).toBe(2);
    expect(scene.events().filter((event) => event === "park")).toHaveLength(1);
  });

  test("is not counted twice when the same change is seen again", async () => {
    const scene = await working();
    scene.observer.recorded(RUNNING, PARKED);
    scene.observer.recorded(PARKED, PARKED);
    expect(await scene.telemetry.value("gatesOpened", { agent: AGENT })).toBe(1);
  });
});

describe("a gate that closes", () => {
  const outcomes = [
    ["allowed", answered("g1", "allow", { kind: "applied" })],
    ["rejected", answered("g1", "reject", { kind: "delivered" })],
    ["expired", tombstone("g1", { kind: "closed", why: "expired", supersededBy: null })],
    ["cancelled", tombstone("g1", { kind: "closed", why: "withdrawn", supersededBy: null })],
  ] as const;

  test.each(outcomes)("is counted as %s, once, with the time it waited", async (outcome, closed) => {
    const scene = await working();
    const after = record({ tombstones: [closed] });
    scene.observer.recorded(PARKED, after);
    scene.observer.recorded(after, after);
    expect(await scene.telemetry.value("gatesClosed", { outcome })).toBe(1);
    expect(await scene.telemetry.value("gateWait", { outcome })).toBe(1);
  });

  test("counts its answer's disposition; an uncertain one has a line of its own", async () => {
    const scene = await working();
    const after = record({
      tombstones: [
        answered("g1", "allow", { kind: "uncertain" }),
        answered("g2", "allow", { kind: "moot", why: "cancelled" }),
      ],
    });
    scene.observer.recorded(PARKED, after);
    for (const disposition of ["uncertain", "moot"]) {
      expect(await scene.telemetry.value("answersSettled", { disposition, path: "warm" })).toBe(1);
    }
    expect(scene.lines.filter(({ event }) => event === "uncertain")).toMatchObject([{ gate: "g1", answer: "a-g1" }]);
  });
});

describe("an answer", () => {
  test("goes on in the trace of whoever gave it, linked to the execution that asked", async () => {
    const scene = await working();
    const answering = scene.telemetry.start("holdfast.approval.answer", {});
    const result = await scene.observer.continued("g1", "c1", answering.traceparent, async () => "sending");
    scene.observer.left();
    expect(result).toBe("sending");
    const [span] = scene.named("holdfast.session.continue");
    expect(span?.parentSpanId).toBe(answering.traceparent.split("-")[2]);
    expect(span?.links).toEqual([scene.named("invoke_agent")[0]?.spanId]);
    expect(span?.attributes).toMatchObject({ "holdfast.gate.id": "g1", "holdfast.command.id": "c1" });
  });

  test("that was written is timed from its commit", async () => {
    const scene = await working();
    scene.observer.answerWritten("g1", 1_000_000 - 500);
    expect(await scene.telemetry.value("answerWrite", { path: "warm" })).toBe(1);
    expect(scene.lines.at(-1)).toMatchObject({ event: "continue", gate: "g1", tier: "warm" });
  });
});

test("an eviction is a trace of its own, linked to the last execution, and counted by its reason (P8)", async () => {
  const scene = await working();
  scene.observer.left();
  scene.observer.evicted("idle_ttl");
  const [span] = scene.named("holdfast.session.evict");
  expect(span?.parentSpanId).toBeNull();
  expect(span?.links).toEqual([scene.named("invoke_agent")[0]?.spanId]);
  expect(await scene.telemetry.value("evictions", { reason: "idle_ttl", agent: AGENT })).toBe(1);
  expect(scene.lines.at(-1)).toMatchObject({ event: "evict", reason: "idle_ttl", session: "build-7" });
});

test("a gate that was refused is told with its reason", () => {
  const scene = observed();
  scene.observer.gateRefused("too_many");
  expect(scene.lines).toMatchObject([{ event: "gate.refused", reason: "too_many", project: "acme" }]);
});
