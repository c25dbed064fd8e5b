// Answers through two gateways to one runner: what each lets happen, and what the ones that came second, late or by mistake
// do not.
import {
  Disposition,
  GateState,
  Outcome,
  type Session,
  SessionState,
  Tier,
  type ToolCall,
  ToolCallStatus,
  Verdict,
} from "@holdfast/proto";
import { STATUS_CODES } from "@holdfast/wire";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sendAndLeave } from "./src/beacon.ts";
import { type Caller, eventually, refusalOf, type TurnSeen } from "./src/caller.ts";
import { Stack } from "./src/stack.ts";

const ROUNDS = 5;
/** What one session may hold open. */
const OPEN_GATES = 32;
const AT_ONCE = 5;

let stack: Stack;
/** Each at a gateway of its own. */
let one: Caller;
let other: Caller;

const ran = (session: string) => stack.ledger(session).map(({ command }) => command);
const pidsThatRan = (session: string) => new Set(stack.ledger(session).map(({ pid }) => pid));
const pending = ({ gates }: Session) =>
  gates.filter(({ state }) => state === GateState.PENDING).map((gate) => gate.gateId);

describe("answers", () => {
  beforeAll(async () => {
    stack = await Stack.start({ gateways: 2 });
    const [first, second] = stack.gateways;
    if (first === undefined || second === undefined) throw new Error("two gateways are needed");
    one = stack.caller({ gateway: first });
    other = stack.caller({ gateway: second });
  });
  afterAll(() => stack.close());

  it("18: allow runs the held call once, byte for byte, on the same pid; the turn goes on to its end", async () => {
    const session = "allowed";
    const command = `printf '%s|' 'é ☂ \\\\n' "$((40 + 2))" '"two  spaces"'`;
    const parked = await one.turn(session, `run ${command}\nsay after`);
    const [opened] = parked.of("gateOpened");
    expect(JSON.parse(opened?.gate?.toolCall?.rawInputJson ?? "")).toEqual({ command });
    expect(ran(session)).toEqual([]);
    const { pid } = await one.session(session);
    await other.allow(session, parked.gateId);
    const ended = await one.ended(session, parked.turnId);
    expect(ended.one("ended")).toMatchObject({
      outcome: Outcome.COMPLETED,
      stopReason: "end_turn",
      moot: [],
      uncertain: [],
    });
    expect(stack.ledger(session)).toMatchObject([{ command, pid: Number(pid) }]);
    expect(outputsOf(ended)).toEqual(['é ☂ \\\\n|42|"two  spaces"|']);
    expect(ended.text).toContain("after");
    expect(ended.of("continued").map(({ tier }) => tier)).toEqual([Tier.WARM]);
    const { pid: still, closedGates } = await one.session(session);
    expect(still).toBe(pid);
    expect(closedGates.map(({ answer }) => answer?.disposition)).toEqual([Disposition.APPLIED]);
  });

  it("19: reject reaches the agent as a rejection; the turn goes on by the agent's own rules", async () => {
    const session = "rejected";
    const parked = await one.turn(session, "run echo never\nsay and yet");
    const { pid } = await one.session(session);
    await other.reject(session, parked.gateId);
    const ended = await one.ended(session, parked.turnId);
    expect(ended.one("ended").outcome).toBe(Outcome.COMPLETED);
    expect(outputsOf(ended, ToolCallStatus.FAILED)).toEqual(["rejected, not run"]);
    expect(ended.text).toContain("and yet");
    expect(ended.one("gateAnswered")).toMatchObject({ verdict: Verdict.REJECT, optionId: "reject-once" });
    expect(ran(session)).toEqual([]);
    expect((await one.session(session)).pid).toBe(pid);
  });

  it("20: the second answer to an answered gate is refused or a duplicate, and the session stays parked, same pid", async () => {
    const session = "answered-parked";
    const parked = await one.turn(session, "both echo a && echo b");
    const [a = "", b = ""] = parked.gateIds;
    const first = await one.allow(session, a);
    expect(first.openGateIds).toEqual([b]);
    await one.watchUntil(session, 0, ({ event }) => event.case === "toolCallUpdate" && isOver(event.value));
    const before = await one.session(session);
    await secondAnswers(session, a, first.answerId);
    const after = await one.session(session);
    expect(after).toEqual(before);
    expect(after.state).toBe(SessionState.PARKED);
    expect(pending(after)).toEqual([b]);
    await one.allow(session, b);
    expect((await one.ended(session, parked.turnId)).one("ended").outcome).toBe(Outcome.COMPLETED);
    expect(ran(session)).toEqual(["echo a", "echo b"]);
    expect(pidsThatRan(session)).toEqual(new Set([Number(before.pid)]));
  });

  it("20: the second answer to an answered gate is refused or a duplicate, and the session stays running, same pid", async () => {
    const session = "answered-running";
    const parked = await one.turn(session, "run sleep 60");
    const first = await one.allow(session, parked.gateId);
    await eventually("the call runs", () => ran(session).length > 0);
    await eventually("the report is in", () => one.session(session), isDone(parked.gateId));
    const before = await one.session(session);
    await secondAnswers(session, parked.gateId, first.answerId);
    const after = await one.session(session);
    expect(after).toEqual(before);
    expect(after.state).toBe(SessionState.RUNNING);
    await one.stop(session);
    await one.ended(session, parked.turnId);
    expect(ran(session)).toEqual(["sleep 60"]);
  });

  it("21: an answer to the previous gate after the session parked on another one is refused, the new gate still open", async () => {
    const session = "previous";
    const stopped = await one.turn(session, "run echo stopped");
    await one.stop(session);
    await one.ended(session, stopped.turnId);
    const parked = await one.turn(session, "run echo second\nrun echo third");
    const first = await one.allow(session, parked.gateId);
    const third = await one.parkedOn(session, parked.gateId);
    const before = await one.session(session);
    for (const late of [() => one.allow(session, stopped.gateId), () => other.reject(session, stopped.gateId)]) {
      expect(await refusalOf(late())).toMatchObject({
        reason: "GATE_CANCELLED",
        metadata: { gate_id: stopped.gateId },
      });
    }
    await secondAnswers(session, parked.gateId, first.answerId);
    expect(await one.session(session)).toEqual(before);
    expect(pending(before)).toEqual([third]);
    await one.allow(session, third);
    expect((await one.ended(session, parked.turnId)).of("ended").at(-1)?.outcome).toBe(Outcome.COMPLETED);
    expect(ran(session)).toEqual(["echo second", "echo third"]);
    expect(pidsThatRan(session)).toEqual(new Set([Number(before.pid)]));
  });

  it("22: an answer for an unknown gate or another session's gate is refused, and nothing is touched in either", async () => {
    const mine = await one.turn("mine", "run echo mine");
    const yours = await one.turn("yours", "run echo yours");
    const before = [await one.session("mine"), await one.session("yours")];
    const wrong = [
      () => other.allow("mine", yours.gateId),
      () => one.allow("yours", mine.gateId),
      () => one.allow("mine", "gate_x"),
    ];
    for (const answer of wrong) expect(await refusalOf(answer())).toMatchObject({ reason: "GATE_UNKNOWN" });
    expect([await one.session("mine"), await one.session("yours")]).toEqual(before);
    expect([...ran("mine"), ...ran("yours")]).toEqual([]);
    await Promise.all([one.stop("mine"), one.stop("yours")]);
  });

  it.each([0, 1])(
    "23: of two open gates the one at %i is answered first: it runs its own call, the other stays open",
    async (at) => {
      const session = `two-gates-${at}`;
      const commands = ["echo a", "echo b"];
      const parked = await one.turn(session, "both echo a && echo b");
      const { pid } = await one.session(session);
      const firstGate = parked.gateIds[at] ?? "";
      const lastGate = parked.gateIds[1 - at] ?? "";
      await one.allow(session, firstGate);
      await eventually("it ran", () => ran(session).length > 0);
      expect(ran(session)).toEqual([commands[at]]);
      const between = await one.session(session);
      expect([between.state, pending(between)]).toEqual([SessionState.PARKED, [lastGate]]);
      await other.allow(session, lastGate);
      expect((await one.ended(session, parked.turnId)).one("ended").outcome).toBe(Outcome.COMPLETED);
      expect(ran(session)).toEqual([commands[at], commands[1 - at]]);
      expect(pidsThatRan(session)).toEqual(new Set([Number(pid)]));
    },
  );

  it("24: five answers at once: one process, no cold start, each applied once", async () => {
    const session = "five";
    const parked = await one.turn(session, `gates ${AT_ONCE} echo five`);
    const { pid } = await one.session(session);
    await Promise.all(parked.gateIds.map((gate, index) => (index % 2 === 0 ? one : other).allow(session, gate)));
    const ended = await one.ended(session, parked.turnId);
    expect(ended.one("ended")).toMatchObject({ outcome: Outcome.COMPLETED, moot: [], uncertain: [] });
    expect(ran(session)).toEqual(Array(AT_ONCE).fill("echo five"));
    expect(new Set(stack.ledger(session).map(({ toolCallId }) => toolCallId)).size).toBe(AT_ONCE);
    expect(pidsThatRan(session)).toEqual(new Set([Number(pid)]));
    expect(ended.of("started")).toHaveLength(1);
    expect(new Set(ended.of("continued").map(({ tier }) => tier))).toEqual(new Set([Tier.WARM]));
    const { closedGates } = await one.session(session);
    expect(closedGates.map(({ answer }) => answer?.disposition)).toEqual(Array(AT_ONCE).fill(Disposition.APPLIED));
  });

  it("as many answers at once as a session can hold gates: through one gateway all are committed, none is told to try again", async () => {
    const session = "all";
    const parked = await one.turn(session, `gates ${OPEN_GATES} echo all`);
    expect(parked.gateIds).toHaveLength(OPEN_GATES);
    const replies = await Promise.all(parked.gateIds.map((gate) => one.allow(session, gate)));
    expect(new Set(replies.map(({ answerId }) => answerId)).size).toBe(OPEN_GATES);
    const ended = await one.ended(session, parked.turnId);
    expect(ended.one("ended")).toMatchObject({ outcome: Outcome.COMPLETED, moot: [], uncertain: [] });
    expect(ran(session)).toEqual(Array(OPEN_GATES).fill("echo all"));
  });

  it("52: a request_id that comes again with another prompt is refused by that name, while its turn is open as well", async () => {
    const parked = await one.turn("again", "run echo first", { requestId: "r" });
    const reused = await one.refusedTurn("again", "run echo second", { requestId: "r" });
    expect(reused.reason).toBe("IDEMPOTENCY_KEY_REUSED");
    const attached = await one.turn("again", "run echo first", { requestId: "r" });
    expect(attached.turnId).toBe(parked.turnId);
    expect(attached.gateIds).toEqual(parked.gateIds);
  });

  it("25: two callers answer one gate differently at the same instant, through two gateways: one OK, one ALREADY_EXISTS", async () => {
    const session = "contested";
    let allowed = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const parked = await one.turn(session, `run echo ${round}`);
      const calls = [one.allow(session, parked.gateId), other.reject(session, parked.gateId)];
      const [allow, reject] = await Promise.allSettled(round % 2 === 0 ? calls : calls.reverse());
      const [won, lost] = allow?.status === "fulfilled" ? [allow, reject] : [reject, allow];
      if (won?.status !== "fulfilled" || lost?.status !== "rejected") throw new Error("not exactly one was accepted");
      expect(won.value.duplicate).toBe(false);
      expect(STATUS_CODES.GATE_ANSWERED_DIFFERENTLY).toBe(lost.reason.code);
      const refusal = await refusalOf(Promise.reject(lost.reason));
      const ended = await one.ended(session, parked.turnId);
      const answered = ended.of("gateAnswered").at(-1);
      expect(refusal).toMatchObject({
        reason: "GATE_ANSWERED_DIFFERENTLY",
        metadata: { answer_id: won.value.answerId, option_id: answered?.optionId },
      });
      expect(answered?.answerId).toBe(won.value.answerId);
      if (answered?.verdict === Verdict.ALLOW) allowed += 1;
      expect(ran(session)).toHaveLength(allowed);
    }
    expect((await one.session(session)).state).toBe(SessionState.IDLE);
  });

  it("27: a reused key with other content is ALREADY_EXISTS, through another gateway and after the turn ended too", async () => {
    const session = "keyed";
    const parked = await one.turn(session, "both echo a && echo b");
    const [a = "", b = ""] = parked.gateIds;
    const idempotencyKey = "click-1";
    const first = await one.answer(session, a, { idempotencyKey });
    const reuse = async () =>
      expect(await refusalOf(other.answer(session, b, { idempotencyKey }))).toMatchObject({
        reason: "IDEMPOTENCY_KEY_REUSED",
        metadata: { key: idempotencyKey },
      });
    await reuse();
    expect(pending(await one.session(session))).toEqual([b]);
    await one.allow(session, b);
    await one.ended(session, parked.turnId);
    await reuse();
    const again = await other.answer(session, a, { idempotencyKey });
    expect(again).toMatchObject({ answerId: first.answerId, commandId: first.commandId, duplicate: true });
    expect(again.disposition).toBe(Disposition.APPLIED);
    expect(ran(session).sort()).toEqual(["echo a", "echo b"]);
  });

  it("30: two identical calls are two gates; each answer runs one of them", async () => {
    const session = "twins";
    const parked = await one.turn(session, "twice echo twin");
    const { gates } = await one.session(session);
    expect(new Set(gates.map(({ digest }) => digest)).size).toBe(1);
    expect(new Set(gates.map(({ toolCall }) => toolCall?.id)).size).toBe(2);
    const [a = "", b = ""] = parked.gateIds;
    await one.allow(session, a);
    await eventually("one ran", () => ran(session).length === 1);
    expect(pending(await one.session(session))).toEqual([b]);
    await one.reject(session, b);
    await one.ended(session, parked.turnId);
    const allowed = gates.find(({ gateId }) => gateId === a)?.toolCall?.id;
    expect(stack.ledger(session)).toMatchObject([{ command: "echo twin", toolCallId: allowed }]);
  });

  it("30: the same toolCallId in two sessions is never confused", async () => {
    const north = await one.turn("north", "run echo north");
    const south = await one.turn("south", "run echo south");
    const callOf = (turn: TurnSeen) => turn.of("gateOpened").at(-1)?.gate?.toolCall?.id;
    expect(callOf(north)).toBe(callOf(south));
    await one.allow("north", north.gateId);
    await one.ended("north", north.turnId);
    expect([ran("north"), ran("south")]).toEqual([["echo north"], []]);
    expect(pending(await one.session("south"))).toEqual([south.gateId]);
    await other.allow("south", south.gateId);
    await one.ended("south", south.turnId);
    expect([ran("north"), ran("south")]).toEqual([["echo north"], ["echo south"]]);
  });

  it("36: the caller of an answer is gone right after sending: the answer is kept and its continuation runs", async () => {
    const session = "hasty";
    const parked = await one.turn(session, "run echo hasty\nsay done");
    const { pid } = await one.session(session);
    const request = { sessionId: session, gateId: parked.gateId, verdict: "VERDICT_ALLOW", idempotencyKey: "hasty" };
    await sendAndLeave(stack.gateway.address, "RespondApproval", request);
    const ended = await one.ended(session, parked.turnId);
    expect(ended.one("ended").outcome).toBe(Outcome.COMPLETED);
    expect(stack.ledger(session)).toMatchObject([{ command: "echo hasty", pid: Number(pid) }]);
    const again = await other.answer(session, parked.gateId, { idempotencyKey: "hasty" });
    expect(again).toMatchObject({ duplicate: true, disposition: Disposition.APPLIED });
  });

  it("39: a late allow after a Stop is refused, and nothing runs, whatever the agent makes of its cancel", async () => {
    for (const [session, prompt] of [
      ["late", "run echo late"],
      ["late-deaf", "ignore-cancel 1000\nrun echo late"],
    ] as const) {
      const parked = await one.turn(session, prompt);
      await one.stop(session);
      const lateNow = await refusalOf(other.allow(session, parked.gateId));
      const ended = await one.ended(session, parked.turnId);
      const lateAgain = await refusalOf(one.allow(session, parked.gateId));
      for (const refusal of [lateNow, lateAgain]) expect(refusal).toMatchObject({ reason: "GATE_CANCELLED" });
      expect(ended.one("ended").outcome).toBe(Outcome.CANCELLED);
      expect(ended.of("gateAnswered")).toEqual([]);
      await one.turn(session, "say next");
      expect(ran(session)).toEqual([]);
    }
  });

  it("82: an answer that was written and then overtaken by a Stop has one true disposition, which a retry is told", async () => {
    const session = "overtaken";
    const parked = await one.turn(session, "both-held echo a && echo b");
    const [a = "", b = ""] = parked.gateIds;
    await one.allow(session, a);
    await eventually(
      "a is written",
      () => one.session(session),
      ({ gates }) => gates.some(({ gateId, answer }) => gateId === a && answer?.disposition === Disposition.SENDING),
    );
    await one.stop(session);
    const ended = await one.ended(session, parked.turnId);
    expect(ended.one("ended").outcome).toBe(Outcome.CANCELLED);
    const { closedGates } = await one.session(session);
    const answer = closedGates.find(({ gateId }) => gateId === a)?.answer;
    const again = await other.allow(session, a);
    expect(again).toMatchObject({ duplicate: true, answerId: answer?.answerId, disposition: answer?.disposition });
    expect([Disposition.APPLIED, Disposition.DELIVERED]).toContain(again.disposition);
    expect(closedGates.find(({ gateId }) => gateId === b)?.state).toBe(GateState.CANCELLED);
    expect(ran(session)).toEqual([]);
  });
});

/** The same decision, and the other one, by way of either gateway: never accepted as new. */
async function secondAnswers(session: string, gate: string, answerId: string): Promise<void> {
  for (const caller of [one, other]) {
    expect(await caller.allow(session, gate)).toMatchObject({
      answerId,
      duplicate: true,
      disposition: Disposition.APPLIED,
    });
    expect(await refusalOf(caller.reject(session, gate))).toMatchObject({
      reason: "GATE_ANSWERED_DIFFERENTLY",
      metadata: { answer_id: answerId },
    });
  }
}

function isDone(gate: string): (session: Session) => boolean {
  return ({ closedGates }) => closedGates.some(({ gateId }) => gateId === gate);
}

function isOver({ status }: ToolCall): boolean {
  return status === ToolCallStatus.COMPLETED;
}

/** What tool calls reported with their end. */
function outputsOf(seen: TurnSeen, status: ToolCallStatus = ToolCallStatus.COMPLETED): readonly string[] {
  return seen
    .of("toolCallUpdate")
    .filter((update) => update.status === status)
    .flatMap(({ content }) => content)
    .map(({ block }) => (block.case === "text" ? block.value.text : ""));
}
