// What a parked session lives through, and what is left of it when its agent or its runner does not: gates that can be answered,
// answers that are kept.
import {
  Disposition,
  FallReason,
  type Gate,
  GateState,
  MootReason,
  Outcome,
  type Session,
  SessionState,
} from "@holdfast/proto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Caller, eventually, refusalOf, type TurnSeen } from "./src/caller.ts";
import { Stack } from "./src/stack.ts";

const NEIGHBOURS = 4;

let stack: Stack;
/** Each at a gateway of its own. */
let one: Caller;
let other: Caller;

const ran = (session: string) => stack.ledger(session).map(({ command }) => command);
const pending = ({ gates }: Session) =>
  gates.filter(({ state }) => state === GateState.PENDING).map(({ gateId }) => gateId);
const isOwnerless = ({ owner }: Session) => owner === undefined;
const answerTo = ({ gates, closedGates }: Session, gate: string) =>
  [...gates, ...closedGates].find(({ gateId }) => gateId === gate)?.answer;

async function startStack(settings: Record<string, string> = {}): Promise<void> {
  stack = await Stack.start({ gateways: 2, settings });
  reachGateways();
}

/** A gateway that was started again listens elsewhere. */
function reachGateways(): void {
  one = stack.caller();
  other = stack.caller({ gateway: stack.gateways[1] ?? stack.gateway });
}

describe("a parked session whose client goes", () => {
  beforeAll(() => startStack());
  afterAll(() => stack.close());

  it.each([
    { moment: "before the park", leaves: "started" },
    { moment: "at the park", leaves: "gateOpened" },
    { moment: "after the park", leaves: "parked" },
  ] as const)("35: client gone $moment: the gate stays answerable, on the same pid", async ({ moment, leaves }) => {
    const session = `gone-${leaves}`;
    await leaveAt(session, leaves);
    const gate = await one.parkedOn(session);
    const parked = await one.session(session);
    expect((await other.inbox(session)).map(({ gateId, warm }) => [gateId, warm])).toEqual([[gate, true]]);
    await one.allow(session, gate);
    const ended = await one.ended(session, parked.turn?.turnId ?? "");
    expect(ended.one("ended").outcome, moment).toBe(Outcome.COMPLETED);
    expect(ended.text).toContain("after");
    expect(stack.ledger(session)).toMatchObject([{ command: "echo held", pid: Number(parked.pid) }]);
  });

  it("37: a parked session survives other traffic on its runner and the restart of every gateway", async () => {
    const session = "survivor";
    const parked = await one.turn(session, "run echo held\nsay after");
    const before = await one.session(session);
    const neighbours = Array.from({ length: NEIGHBOURS }, (_, index) => `neighbour-${index}`);
    await Promise.all(neighbours.map((name) => one.turn(name, `flood 200\nrun echo ${name}`)));
    await Promise.all(neighbours.map((name) => other.stop(name)));
    expect(await one.session(session)).toEqual(before);
    for (const gateway of stack.gateways) {
      await gateway.end("SIGKILL");
      await gateway.restart();
    }
    reachGateways();
    expect(await one.session(session)).toEqual(before);
    expect((await other.inbox(session)).map(({ gateId }) => gateId)).toEqual([parked.gateId]);
    await other.allow(session, parked.gateId);
    const ended = await one.ended(session, parked.turnId);
    expect(ended.one("ended").outcome).toBe(Outcome.COMPLETED);
    expect(stack.ledger(session)).toMatchObject([{ command: "echo held", pid: Number(before.pid) }]);
  });
});

describe("a parked session whose agent dies", () => {
  beforeAll(() => startStack({ HOLDFAST_MAX_LIVE: "1" }));
  afterEach(async () => {
    // One slot: whoever comes next needs it.
    await eventually(
      "nothing lives",
      () => stack.agents(),
      (pids) => pids.length === 0,
    );
  });
  afterAll(() => stack.close());

  it("34: its slot is free at once, its gate is cold and listed; an answer is accepted, queued, shown so everywhere, and kept", async () => {
    const session = "bereft";
    const parked = await one.turn(session, "run echo held");
    expect(await one.refusedTurn("waiting", "say hello")).toMatchObject({ reason: "POOL_FULL" });
    const cold = await killAgent(session);
    expect([cold.state, cold.coldReason, cold.pid]).toEqual([SessionState.PARKED, FallReason.AGENT_EXITED, 0n]);
    expect(await listed(session)).toEqual([[parked.gateId, GateState.PENDING, false]]);
    const neighbour = await one.turn("waiting", "say hello", { limits: { idleTtl: { seconds: 0n, nanos: 0 } } });
    expect(neighbour.text).toBe("hello");

    const answer = await other.allow(session, parked.gateId);
    expect(answer).toMatchObject({ duplicate: false, disposition: Disposition.QUEUED, openGateIds: [] });
    await shownQueued(session, parked.gateId, answer.answerId);
    for (const service of [stack.runner, ...stack.gateways]) {
      await service.end("SIGKILL");
      await service.restart();
    }
    reachGateways();
    await shownQueued(session, parked.gateId, answer.answerId);
    expect(await one.refusedTurn(session, "say next")).toMatchObject({ reason: "TURN_IN_PROGRESS" });
    expect(ran(session)).toEqual([]);
  });

  it("87: a cold session has no owner and can be stopped from any gateway: an answer on its way becomes moot, and is told so", async () => {
    const session = "cold-stopped";
    const parked = await one.turn(session, "both echo a && echo b");
    const [a = "", b = ""] = parked.gateIds;
    await killAgent(session);
    const answer = await one.allow(session, a);
    await other.stop(session);
    const ended = await one.ended(session, parked.turnId);
    expect(ended.one("ended")).toMatchObject({ outcome: Outcome.CANCELLED, moot: [answer.answerId], uncertain: [] });
    const cold = await one.session(session);
    expect([cold.state, cold.gates, cold.owner]).toEqual([SessionState.COLD, [], undefined]);
    const again = await other.allow(session, a);
    expect(again).toMatchObject({ duplicate: true, disposition: Disposition.MOOT, mootReason: MootReason.CANCELLED });
    expect(await refusalOf(one.allow(session, b))).toMatchObject({ reason: "GATE_CANCELLED" });
    expect(ran(session)).toEqual([]);
  });

  it("87: a parked session that was closed has no owner; its gates are listed as cold and answered from any gateway", async () => {
    const session = "closed";
    const parked = await one.turn(session, "both echo a && echo b");
    const [a = "", b = ""] = parked.gateIds;
    await one.api.closeSession({ sessionId: session }, one.options());
    const cold = await one.session(session);
    expect([cold.state, cold.owner, pending(cold)]).toEqual([SessionState.PARKED, undefined, [a, b]]);
    expect(await listed(session)).toEqual([
      [a, GateState.PENDING, false],
      [b, GateState.PENDING, false],
    ]);
    const replies = [await one.allow(session, a), await other.reject(session, b)];
    expect(replies.map(({ disposition }) => disposition)).toEqual([Disposition.QUEUED, Disposition.QUEUED]);
    expect((await other.session(session)).state).toBe(SessionState.QUEUED);
    await other.stop(session);
    expect((await one.ended(session, parked.turnId)).one("ended").outcome).toBe(Outcome.CANCELLED);
    expect(ran(session)).toEqual([]);
  });

  it("86: a prompt for a cold parked session is refused and names the gates; after a Stop the next one runs", async () => {
    const session = "cold-prompted";
    const parked = await one.turn(session, "run echo held");
    await killAgent(session);
    expect(await one.refusedTurn(session, "say next")).toMatchObject({
      reason: "GATES_PENDING",
      metadata: { turn_id: parked.turnId, gate_ids: parked.gateId },
    });
    await other.stop(session);
    const next = await one.turn(session, "say next", { limits: { idleTtl: { seconds: 0n, nanos: 0 } } });
    expect(next.one("started").coldReason).toBe(FallReason.AGENT_EXITED);
    expect(next.one("ended").outcome).toBe(Outcome.COMPLETED);
    expect(ran(session)).toEqual([]);
  });
});

describe("sessions whose runner is killed and started again", () => {
  const PARKED = ["answered", "stopped", "prompted", "listed"];
  const parked = new Map<string, TurnSeen>();
  let running: Promise<unknown>;
  let before: Session;

  beforeAll(async () => {
    await startStack();
    for (const session of PARKED) parked.set(session, await one.turn(session, `run echo ${session}`));
    const held = await one.turn("running", "run sleep 600");
    await one.allow("running", held.gateId);
    await eventually("it runs", () => ran("running").length === 1);
    await eventually(
      "the report is in",
      () => one.session("running"),
      ({ gates }) => gates.length === 0,
    );
    running = refusalOf(one.turn("streaming", "sleep 600000"));
    await eventually("it runs", () => stack.agentsOf("streaming").length === 1);
    before = await one.session("running");
    await stack.runner.end("SIGKILL");
    await stack.runner.restart();
  });
  afterAll(() => stack.close());

  it("86: the reader of a turn that ran there is told that its stream was cut", async () => {
    expect(await running).toMatchObject({ reason: "STREAM_CUT" });
  });

  it("86: an answer works at once: the record is settled first, the answer is queued", async () => {
    const { gateId = "" } = parked.get("answered") ?? {};
    const answer = await other.allow("answered", gateId);
    expect(answer).toMatchObject({ duplicate: false, disposition: Disposition.QUEUED });
    await shownQueued("answered", gateId, answer.answerId);
    expect(ran("answered")).toEqual([]);
  });

  it("86: a Stop works at once: the turn is CANCELLED by it, without an owner", async () => {
    await other.stop("stopped");
    const ended = await one.ended("stopped", parked.get("stopped")?.turnId ?? "");
    expect(ended.one("ended").outcome).toBe(Outcome.CANCELLED);
    expect(await one.session("stopped")).toMatchObject({ state: SessionState.COLD, gates: [] });
    expect(ran("stopped")).toEqual([]);
  });

  it("86: a new prompt works at once: the turn that ran is LOST first, then the prompt runs on a new process", async () => {
    const next = await one.turn("running", "pid");
    expect(next.one("started")).toMatchObject({ coldReason: FallReason.OWNER_DEAD });
    expect(next.one("ended").outcome).toBe(Outcome.COMPLETED);
    expect(next.text).not.toBe(`pid ${before.pid}`);
    const lost = await one.ended("running", before.turn?.turnId ?? "");
    expect(lost.one("ended")).toMatchObject({ outcome: Outcome.LOST, stopReason: "owner_dead" });
    expect(ran("running")).toEqual(["sleep 600"]);
  });

  it("86: a new prompt for a session that was parked there is refused and names its gate, which stays", async () => {
    const { gateId } = parked.get("prompted") ?? {};
    const refused = await one.refusedTurn("prompted", "say next");
    expect(refused).toMatchObject({ reason: "GATES_PENDING", metadata: { gate_ids: gateId } });
    const cold = await one.session("prompted");
    expect([cold.owner, pending(cold), cold.coldReason]).toEqual([undefined, [gateId], FallReason.OWNER_DEAD]);
  });

  it("86: who only looks is told the truth as well: a cold gate, in the inbox and in the session", async () => {
    const { gateId } = parked.get("listed") ?? {};
    expect(pending(await other.session("listed"))).toEqual([gateId]);
    expect(await listed("listed")).toEqual([[gateId, GateState.PENDING, false]]);
  });

  it("87: what was owned by the killed runner has no owner and no process", async () => {
    for (const session of PARKED) expect(isOwnerless(await one.session(session))).toBe(true);
    expect(PARKED.flatMap((session) => stack.agentsOf(session))).toEqual([]);
  });
});

/** Opens a turn and goes away when the stream tells this. */
async function leaveAt(session: string, kind: "started" | "gateOpened" | "parked"): Promise<void> {
  const client = new AbortController();
  const reading = (async () => {
    for await (const { event } of one.stream(session, "sleep 300\nrun echo held\nsay after", {}, client.signal)) {
      if (event.case === kind && kind !== "parked") client.abort();
    }
  })();
  if (kind === "parked") await reading;
  else await expect(reading).rejects.toThrow("CANCELLED");
}

/** Ends the session's agent as the system would, and waits until the session has no owner. */
async function killAgent(session: string): Promise<Session> {
  const { pid } = await one.session(session);
  process.kill(Number(pid), "SIGKILL");
  return eventually("no owner", () => one.session(session), isOwnerless);
}

/** The inbox of another caller. */
async function listed(session: string): Promise<readonly (readonly [string, GateState, boolean])[]> {
  const gates: readonly Gate[] = await other.inbox(session);
  return gates.map(({ gateId, state, warm }) => [gateId, state, warm] as const);
}

/** Accepted, not delivered, and said so by everything that tells of it. */
async function shownQueued(session: string, gate: string, answerId: string): Promise<void> {
  for (const caller of [one, other]) {
    const held = await caller.session(session);
    expect([held.state, pending(held), held.owner]).toEqual([SessionState.QUEUED, [], undefined]);
    expect(answerTo(held, gate)).toMatchObject({ answerId, disposition: Disposition.QUEUED });
    expect(await caller.inbox(session)).toEqual([]);
    expect(await caller.allow(session, gate)).toMatchObject({
      answerId,
      duplicate: true,
      disposition: Disposition.QUEUED,
    });
    const seen = await caller.watchUntil(session, 0, ({ event }) => event.case === "gateAnswered");
    expect(pending(seen.one("snapshot").session ?? held)).toEqual([]);
    expect(answerTo(seen.one("snapshot").session ?? held, gate)?.disposition).toBe(Disposition.QUEUED);
    expect(seen.one("gateAnswered")).toMatchObject({ gateId: gate, answerId });
  }
}
