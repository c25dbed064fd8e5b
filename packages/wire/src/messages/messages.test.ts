import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type * as pool from "@holdfast/pool";
import {
  Disposition,
  ErrorReason,
  FallReason,
  GateCloseReason,
  GateState,
  MessageSchema,
  MootReason,
  Outcome,
  SessionState,
  ToolCallSchema,
  Verdict,
} from "@holdfast/proto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answerMessage } from "./answer.ts";
import { fromPlainBlock, type PlainBlock, toPlainBlock } from "./content.ts";
import { contentEvent, parkedEvent, stateEvent } from "./event.ts";
import { gateMessage, tombstoneMessage } from "./gate.ts";
import { ANSWER, AT_MS, GATE, record, TOMBSTONE } from "./record.fixture.ts";
import { cancelTurnResponse, respondApprovalResponse } from "./reply.ts";
import { type Route, readRoute, routeMessage } from "./route.ts";
import { sessionMessage, sessionState, snapshotEvent } from "./session.ts";

const CALL = create(ToolCallSchema, { id: "call-1", title: "run ls", kind: "execute", rawInputJson: '{"cmd":"ls"}' });
const OPEN_TURN = record().turn as pool.Turn;
const ENDED_TURN: pool.Turn = {
  ...OPEN_TURN,
  ending: {
    outcome: "failed",
    stopReason: "turn_limit",
    at: AT_MS,
    error: { reason: "turn_limit", message: "Too long.", nextStep: "Prompt again." },
  },
};
const execution = (state: pool.ExecutionState): pool.Execution => ({
  ...(record().execution as pool.Execution),
  state,
});

describe("a session's state", () => {
  test.each([
    ["queued", "queued"],
    ["running", "running"],
    ["parked", "parked"],
    ["stopping", "stopping"],
    ["continued", "queued"],
  ] as const)("of an open turn is what its execution does: %s is %s", (state, expected) => {
    expect(sessionState(record({ execution: execution(state) }))).toBe(expected);
  });

  test("without an open turn is idle with a process and cold without one", () => {
    expect(sessionState(record({ turn: ENDED_TURN }))).toBe("idle");
    expect(sessionState(record({ turn: ENDED_TURN, process: null }))).toBe("cold");
    expect(sessionState(record({ turn: null, execution: null, process: null }))).toBe("cold");
  });
});

describe("a session message", () => {
  test("shows the process id only when it may", () => {
    expect(sessionMessage(record(), { lastSeq: 7, showPid: false }).pid).toBe(0n);
    expect(sessionMessage(record(), { lastSeq: 7, showPid: true }).pid).toBe(4242n);
  });

  test("shows owner, turn, cursor, open gates with previews, and why it is cold only when it is", () => {
    const message = sessionMessage(record(), { lastSeq: 7, showPid: false });
    expect(message).toMatchObject({
      sessionId: "s-1",
      state: SessionState.PARKED,
      owner: { runner: "r-0", incarnation: "inc_1", epoch: 4n },
      turn: { turnId: "turn_1", execution: 2, outcome: Outcome.UNSPECIFIED },
      lastSeq: 7n,
      coldReason: FallReason.UNSPECIFIED,
      closedGates: [],
    });
    expect(message.gates).toHaveLength(1);
    expect(message.gates[0]?.toolCall).toMatchObject({ rawInputJson: '{"cmd":"l', truncated: true });
    const cold = sessionMessage(record({ process: null, owner: null }), { lastSeq: 7, showPid: true });
    expect(cold).toMatchObject({ coldReason: FallReason.FIRST_TURN, pid: 0n });
    expect(cold.owner).toBeUndefined();
  });

  test("shows whole calls where they were read, and the closed gates of the latest turn only", () => {
    const calls = new Map([["gate_1", CALL]]);
    const message = sessionMessage(record(), { lastSeq: 7, showPid: false, calls, closedGates: true });
    expect(message.gates[0]?.toolCall).toMatchObject({ rawInputJson: '{"cmd":"ls"}', truncated: false });
    expect(message.closedGates.map(({ gateId }) => gateId)).toEqual(["gate_0"]);
  });

  test("tells how a turn ended, with the contract's reason", () => {
    const { turn } = sessionMessage(record({ turn: ENDED_TURN }), { lastSeq: 7, showPid: false });
    expect(turn).toMatchObject({ outcome: Outcome.FAILED, stopReason: "turn_limit" });
    expect(turn?.error).toMatchObject({ reason: ErrorReason.TURN_LIMIT, message: "Too long.", metadata: {} });
  });

  test("is what a snapshot carries, without a number", () => {
    const event = snapshotEvent(record(), {
      lastSeq: 7,
      firstSeq: 2,
      showPid: false,
      nowMs: AT_MS,
      inProgress: create(MessageSchema),
    });
    expect(event.seq).toBe(0n);
    expect(event.event).toMatchObject({ case: "snapshot", value: { firstSeq: 2n, lastSeq: 7n } });
  });
});

describe("a gate message", () => {
  test("is pending until it is answered, and then carries the answer with its disposition", () => {
    expect(gateMessage(GATE, record(), null)).toMatchObject({ state: GateState.PENDING, warm: true, sessionId: "s-1" });
    const answered = gateMessage({ ...GATE, state: { kind: "answered", answer: ANSWER } }, record(), CALL);
    expect(answered.state).toBe(GateState.ANSWERED);
    expect(answered.answer).toMatchObject({
      answerId: "ans_1",
      verdict: Verdict.ALLOW,
      principal: "alice",
      channel: "slack",
      disposition: Disposition.SENDING,
      mootReason: MootReason.UNSPECIFIED,
    });
    expect(answered.answer?.recoverable).toBeUndefined();
  });

  test("of an answer that is moot says why, and of one that is given up what to do", () => {
    const moot = answerMessage({ ...ANSWER, disposition: { kind: "moot", why: "expired" } });
    expect(moot).toMatchObject({ disposition: Disposition.MOOT, mootReason: MootReason.EXPIRED });
    const spent = answerMessage({ ...ANSWER, recoverable: "POOL_FULL" });
    expect(spent.recoverable?.reason).toBe("POOL_FULL");
    expect(spent.recoverable?.nextStep).not.toBe("");
  });

  test("of a closed gate tells how it closed", () => {
    expect(tombstoneMessage(TOMBSTONE, record())).toMatchObject({
      state: GateState.CANCELLED,
      closeReason: GateCloseReason.SUPERSEDED,
      supersededBy: "gate_1",
      warm: false,
    });
    const expired = { ...TOMBSTONE, state: { kind: "closed", why: "expired", supersededBy: null } } as const;
    expect(tombstoneMessage(expired, record())).toMatchObject({ state: GateState.EXPIRED, supersededBy: "" });
    const answered = { ...TOMBSTONE, state: { kind: "answered", answer: ANSWER } } as const;
    expect(tombstoneMessage(answered, record())).toMatchObject({
      state: GateState.ANSWERED,
      closeReason: GateCloseReason.UNSPECIFIED,
    });
  });
});

describe("a state event", () => {
  const event = (tell: pool.Tell): pool.StateEvent => ({ id: "x", turnId: "turn_1", execution: 2, at: AT_MS, tell });
  const nothing = { prompt: null, call: null };

  test("has turn, execution, time and no number yet", () => {
    const made = stateEvent(event({ type: "started", tier: "warm", coldReason: null, runner: "r-0" }), nothing);
    expect(made).toMatchObject({ seq: 0n, turnId: "turn_1", execution: 2 });
    expect(made.time && timestampMs(made.time)).toBe(AT_MS);
    expect(made.event).toMatchObject({ case: "started", value: { coldReason: FallReason.UNSPECIFIED } });
  });

  test("of a prompt carries the whole where somebody has it, else the preview", () => {
    const tell: pool.Tell = { type: "prompt", preview: "sa", truncated: true, principal: "alice" };
    const cut = stateEvent(event(tell), nothing).event;
    expect(cut).toMatchObject({ case: "prompt", value: { truncated: true, principal: "alice" } });
    const whole = stateEvent(event(tell), {
      ...nothing,
      prompt: [fromPlainBlock({ type: "text", text: "say" })],
    }).event;
    expect(whole).toMatchObject({ value: { truncated: false, content: [{ block: { value: { text: "say" } } }] } });
  });

  test("of a gate carries the whole call and whose gate it is", () => {
    const tell: pool.Tell = { type: "gate_opened", gate: GATE };
    const made = stateEvent(event(tell), { prompt: null, call: CALL, session: record() }).event;
    expect(made).toMatchObject({
      case: "gateOpened",
      value: {
        gate: {
          sessionId: "s-1",
          labels: { team: "a" },
          state: GateState.PENDING,
          toolCall: { rawInputJson: '{"cmd":"ls"}' },
        },
      },
    });
  });

  test.each<[pool.Tell, string]>([
    [{ type: "gate_answered", gateId: "g", answerId: "a", verdict: "reject", optionId: "o" }, "gateAnswered"],
    [{ type: "gate_closed", gateId: "g", reason: "withdrawn" }, "gateClosed"],
    [{ type: "continued", commandId: "c", tier: "load" }, "continued"],
    [{ type: "recoverable", commandId: "c", reason: "POOL_FULL" }, "recoverable"],
    [{ type: "ended", outcome: "lost", stopReason: "owner_dead", error: null, moot: ["a"], uncertain: ["b"] }, "ended"],
  ])("%j is the case %s", (tell, expected) => {
    expect(stateEvent(event(tell), nothing).event.case).toBe(expected);
  });

  test("of an ending with a reason the contract does not know keeps the reason readable", () => {
    const error = { reason: "moonrise", message: "m", nextStep: "n" };
    const made = stateEvent(
      event({ type: "ended", outcome: "failed", stopReason: "x", error, moot: [], uncertain: [] }),
      nothing,
    ).event;
    expect(made).toMatchObject({
      value: { error: { reason: ErrorReason.UNSPECIFIED, metadata: { reason: "moonrise" } } },
    });
  });

  test("of content is kept within its size when it is made", () => {
    const rawOutputJson = "x".repeat(2_000_000);
    const made = contentEvent(event({ type: "gate_closed", gateId: "g", reason: "expired" }), {
      case: "toolCall",
      value: create(ToolCallSchema, { rawOutputJson }),
    });
    expect(made.event).toMatchObject({ value: { truncated: true } });
    expect(parkedEvent({ turnId: "t", execution: 1, at: AT_MS }, ["g"]).event).toMatchObject({
      value: { gateIds: ["g"] },
    });
  });
});

describe("a content block", () => {
  const given = fc.string({ minLength: 1 });
  const base64 = fc.uint8Array().map((bytes) => Buffer.from(bytes).toString("base64"));
  const plain: fc.Arbitrary<PlainBlock> = fc.oneof(
    fc.record({ type: fc.constant("text" as const), text: fc.string() }),
    fc.record(
      { type: fc.constant("image" as const), data: base64, mimeType: given, uri: given },
      { requiredKeys: ["type", "data", "mimeType"] },
    ),
    fc.record(
      {
        type: fc.constant("resource_link" as const),
        uri: given,
        name: given,
        title: given,
        description: given,
        mimeType: given,
        size: fc.integer({ min: 1 }),
      },
      { requiredKeys: ["type", "uri", "name"] },
    ),
    fc.record({
      type: fc.constant("resource" as const),
      resource: fc.oneof(
        fc.record({ uri: given, mimeType: given, text: fc.string() }, { requiredKeys: ["uri", "text"] }),
        fc.record({ uri: given, mimeType: given, blob: base64 }, { requiredKeys: ["uri", "blob"] }),
      ),
    }),
  );

  test("comes back as it was, in ACP's shape", () => {
    fc.assert(
      fc.property(plain, (block) => {
        expect(toPlainBlock(fromPlainBlock(block))).toEqual(block);
      }),
    );
  });
});

describe("replies", () => {
  test("carry what the record decided", () => {
    const receipt = { answerId: "a", commandId: "c", turnId: "t", execution: 3, optionId: "o" };
    const reply = respondApprovalResponse({
      ...receipt,
      duplicate: true,
      disposition: { kind: "moot", why: "cancelled" },
      recoverable: null,
      openGateIds: ["g"],
    });
    expect(reply).toMatchObject({
      answerId: "a",
      duplicate: true,
      mootReason: MootReason.CANCELLED,
      openGateIds: ["g"],
    });
    const stop = { commandId: "c", turnId: "t", execution: 3, duplicate: false };
    expect(cancelTurnResponse(stop)).toMatchObject(stop);
  });
});

describe("a route", () => {
  const route: Route = {
    project: "p",
    principal: "alice",
    incarnation: "inc_1",
    epoch: 4,
    claim: null,
    command: { commandId: "cmd_1", execution: 2 },
    admin: true,
  };
  const claimed: Route = {
    ...route,
    epoch: 0,
    command: null,
    claim: { fromRevision: 9, fromEpoch: 4, reason: "owner_dead" },
  };

  test("crosses the wire as it was, with a claim and without", () => {
    for (const each of [route, claimed]) expect(readRoute("RunTurn", routeMessage(each))).toEqual({ value: each });
  });

  test("that is missing or has holes is refused", () => {
    expect(readRoute("RunTurn", undefined)).toMatchObject({ refusal: { reason: "FIELD_INVALID" } });
    const holes = routeMessage({ ...route, project: "", principal: "", incarnation: "", epoch: 0 });
    expect(readRoute("RunTurn", holes)).toMatchObject({
      refusal: {
        violations: [
          { field: "route.project" },
          { field: "route.principal" },
          { field: "route.owner_incarnation" },
          { field: "route.epoch" },
        ],
      },
    });
  });
});
