// Stops: what is running, parked, deaf to them, or over already.
import { FallReason, Follow, Outcome, SessionState, Tier, ToolCallStatus } from "@holdfast/proto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sendAndLeave } from "./src/beacon.ts";
import { type Caller, eventually, refusalOf } from "./src/caller.ts";
import { Stack } from "./src/stack.ts";

/** A prompt that would not end by itself, and a command like it. */
const ENDLESS = "sleep 600000";
const ENDLESS_RUN = "run sleep 600";
/** What a prompt has to settle (A10), and the signals that follow; with room for a busy machine. */
const CANCEL_BOUND_MS = 10_000;
const EVICTED_WITHIN_MS = 3 * CANCEL_BOUND_MS;

let stack: Stack;
/** Each at a gateway of its own. */
let one: Caller;
let other: Caller;

const ran = (session: string) => stack.ledger(session).map(({ command }) => command);
const isIdle = ({ state }: { readonly state: SessionState }) => state === SessionState.IDLE;

describe("stops", () => {
  beforeAll(async () => {
    stack = await Stack.start({ gateways: 2 });
    one = stack.caller();
    other = stack.caller({ gateway: stack.gateways[1] ?? stack.gateway });
  });
  afterAll(() => stack.close());

  it("41: Stop while running: the prompt settles cancelled, the session is idle and warm, the next prompt runs on the same pid", async () => {
    const session = "running";
    const turn = one.turn(session, ENDLESS);
    const { pid, turnId } = await running(session);
    const stopped = await other.stop(session);
    expect(stopped).toMatchObject({ turnId, duplicate: false });
    const ended = await turn;
    expect(ended.one("ended")).toMatchObject({ outcome: Outcome.CANCELLED, stopReason: "cancelled" });
    await eventually("idle", () => one.session(session), isIdle);
    await warmOn(session, pid);
  });

  it("41: Stop while a command runs: it is killed and reported, and the session stays warm", async () => {
    const session = "running-command";
    const parked = await one.turn(session, ENDLESS_RUN);
    const { pid } = await one.session(session);
    await one.allow(session, parked.gateId);
    await eventually("it runs", () => ran(session).length > 0);
    await other.stop(session);
    const ended = await one.ended(session, parked.turnId);
    expect(ended.one("ended").outcome).toBe(Outcome.CANCELLED);
    expect(ended.of("toolCallUpdate").at(-1)?.status).toBe(ToolCallStatus.FAILED);
    await eventually(
      "the command is gone",
      () => stack.agentsOf(session),
      (pids) => pids.length === 1,
    );
    await warmOn(session, pid);
  });

  it("42: Stop while parked: every gate cancelled, the tool not run, the session warm", async () => {
    const session = "parked";
    const parked = await one.turn(session, "both echo a && echo b");
    const { pid } = await one.session(session);
    await other.stop(session);
    const ended = await one.ended(session, parked.turnId);
    expect(ended.one("ended")).toMatchObject({ outcome: Outcome.CANCELLED, moot: [], uncertain: [] });
    expect(ended.of("gateClosed").map(({ gateId }) => gateId)).toEqual(parked.gateIds);
    expect(await one.inbox(session)).toEqual([]);
    await warmOn(session, pid);
    expect(ran(session)).toEqual([]);
  });

  it("42: Stop on a warm session that parked again after an answer: what was allowed has run, the rest never does", async () => {
    const session = "parked-again";
    const parked = await one.turn(session, "run echo first\nrun echo second");
    const { pid } = await one.session(session);
    await one.allow(session, parked.gateId);
    await one.parkedOn(session, parked.gateId);
    await one.stop(session);
    const ended = await one.ended(session, parked.turnId);
    expect(ended.one("ended").outcome).toBe(Outcome.CANCELLED);
    await warmOn(session, pid);
    expect(ran(session)).toEqual(["echo first"]);
  });

  it("44: a Stop for an execution that ended touches neither its continuation nor the next prompt", async () => {
    const session = "pinned";
    const parked = await one.turn(session, "run echo first\nrun echo second");
    const [{ turn }] = [await one.session(session)];
    const expectedExecution = turn?.execution ?? 0;
    await one.allow(session, parked.gateId);
    const second = await one.parkedOn(session, parked.gateId);
    const late = await refusalOf(other.stop(session, { expectedExecution }));
    expect(late).toMatchObject({ reason: "EXECUTION_ENDED", metadata: { turn_id: parked.turnId } });
    expect((await one.session(session)).state).toBe(SessionState.PARKED);
    await one.allow(session, second);
    await one.ended(session, parked.turnId);
    const next = one.turn(session, ENDLESS);
    await running(session, parked.turnId);
    const tooLate = await refusalOf(other.stop(session, { expectedTurn: parked.turnId }));
    expect(tooLate).toMatchObject({ reason: "EXECUTION_ENDED" });
    expect((await one.session(session)).state).toBe(SessionState.RUNNING);
    await one.stop(session);
    expect((await next).one("ended").outcome).toBe(Outcome.CANCELLED);
    expect(ran(session)).toEqual(["echo first", "echo second"]);
  });

  it("45: two Stops are one, at once through two gateways, with a key or without, and after the end", async () => {
    const session = "twice";
    const parked = await one.turn(session, "run echo never");
    const idempotencyKey = "stop-1";
    const stops = await Promise.all([one.stop(session), other.stop(session, { idempotencyKey }), other.stop(session)]);
    expect(new Set(stops.map(({ commandId }) => commandId)).size).toBe(1);
    expect(stops.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
    const ended = await one.ended(session, parked.turnId);
    expect(ended.of("ended")).toHaveLength(1);
    expect(ended.of("gateClosed")).toHaveLength(1);
    const again = await one.stop(session, { idempotencyKey });
    expect(again).toMatchObject({ commandId: stops[0]?.commandId, duplicate: true });
    expect(await refusalOf(one.stop(session))).toMatchObject({ reason: "EXECUTION_ENDED" });
    expect(ran(session)).toEqual([]);
  });

  it("45: a cancel the agent ignores: evicted cancel_unsettled within the bound; the turn is CANCELLED", async () => {
    const session = "deaf";
    const turn = one.turn(session, `ignore-cancel 600000\n${ENDLESS}`);
    const { pid } = await running(session);
    const stoppedAt = performance.now();
    await one.stop(session);
    const ended = await turn;
    expect(performance.now() - stoppedAt).toBeLessThan(EVICTED_WITHIN_MS);
    expect(ended.one("ended").outcome).toBe(Outcome.CANCELLED);
    const cold = await one.session(session);
    expect(cold).toMatchObject({ state: SessionState.COLD, coldReason: FallReason.CANCEL_UNSETTLED });
    expect(cold.owner).toBeUndefined();
    await eventually(
      "its process is gone",
      () => stack.agentsOf(session),
      (pids) => pids.length === 0,
    );
    const next = await one.turn(session, "pid");
    expect(next.one("started").coldReason).toBe(FallReason.CANCEL_UNSETTLED);
    expect(next.text).not.toBe(`pid ${pid}`);
  });

  it("46: Stop then disconnect at once while running, which is what a page does: still warm", async () => {
    const session = "closing-page";
    const page = new AbortController();
    const seen = leave(one.stream(session, ENDLESS, {}, page.signal));
    const { pid, turnId } = await running(session);
    await sendAndLeave(stack.gateway.address, "CancelTurn", { sessionId: session });
    page.abort();
    await seen;
    const ended = await other.ended(session, turnId);
    expect(ended.one("ended").outcome).toBe(Outcome.CANCELLED);
    await warmOn(session, pid);
  });

  it("46: Stop then disconnect at once while parked: still warm, and nothing has run", async () => {
    const session = "closing-parked-page";
    const page = new AbortController();
    const parked = Promise.withResolvers<string>();
    const seen = leave(one.stream(session, "run echo never", { follow: Follow.UNTIL_ENDED }, page.signal), (gate) =>
      parked.resolve(gate),
    );
    await parked.promise;
    const { pid, turn } = await one.session(session);
    await sendAndLeave(stack.gateway.address, "CancelTurn", { sessionId: session });
    page.abort();
    await seen;
    const ended = await other.ended(session, turn?.turnId ?? "");
    expect(ended.one("ended").outcome).toBe(Outcome.CANCELLED);
    await warmOn(session, pid);
    expect(ran(session)).toEqual([]);
  });
});

/** The session's turn once a process works on it. */
async function running(session: string, after = ""): Promise<{ readonly pid: bigint; readonly turnId: string }> {
  const { pid, turn } =
    (await eventually(
      `${session} runs`,
      async () => {
        const { sessions } = await one.api.listSessions({}, one.options());
        return sessions.find(({ sessionId }) => sessionId === session);
      },
      (found) => found?.state === SessionState.RUNNING && found.pid > 0n && (found.turn?.turnId ?? after) !== after,
    )) ?? {};
  return { pid: pid ?? 0n, turnId: turn?.turnId ?? "" };
}

/** The next prompt runs warm, on this pid. */
async function warmOn(session: string, pid: bigint): Promise<void> {
  await eventually("idle", () => one.session(session), isIdle);
  const next = await one.turn(session, "pid");
  expect(next.one("started").tier).toBe(Tier.WARM);
  expect(next.text).toBe(`pid ${pid}`);
}

/** Reads a stream until its reader leaves. */
async function leave(
  stream: ReturnType<Caller["stream"]>,
  gate: (gateId: string) => void = () => undefined,
): Promise<void> {
  const reading = (async () => {
    for await (const { event } of stream) if (event.case === "gateOpened") gate(event.value.gate?.gateId ?? "");
  })();
  await expect(reading).rejects.toThrow("CANCELLED");
}
