import { create } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { PARK_LATEST_MS, PARK_QUIET_MS, type RefusalReason, refusal } from "@holdfast/pool";
import {
  FallReason,
  Follow,
  type RunnerServiceRunTurnRequest,
  RunTurnRequestSchema,
  type TurnEvent,
} from "@holdfast/proto";
import { ManualClock } from "@holdfast/runtime";
import { openMemoryStore } from "@holdfast/store";
import { runTurnDigest, type ServedCall } from "@holdfast/wire";
import { describe, expect, it, vi } from "vitest";
import { casesOf, ENDED, eventOf, logged, opened, parkedOn, STARTED, said } from "../fixture/events.ts";
import { gatewayFixture } from "../fixture/gateway.ts";
import { changed, KEY, loseOwner, NOBODY, openGate, ownerOf, runningTurn } from "../fixture/records.ts";
import { drained, refusalOf } from "../fixture/refused.ts";
import { type PeerOptions, type RunnerHandlers, runnerPeer } from "../fixture/runner-peer.ts";

const PROMPT = [{ block: { case: "text" as const, value: { text: "say hello" } } }];
const ASK = { sessionId: KEY.sessionId, agent: "scripted", prompt: PROMPT };
const TURN = [eventOf(2, "t-1", STARTED), eventOf(3, "t-1", said("hello")), eventOf(4, "t-1", ENDED)];

type RunTurn = NonNullable<RunnerHandlers["runTurn"]>;

/** A runner's RunTurn that remembers what it was asked. */
function running(events: readonly TurnEvent[], last: RefusalReason | null = null) {
  const asked: RunnerServiceRunTurnRequest[] = [];
  const runTurn: RunTurn = async function* (request) {
    asked.push(request);
    for (const event of events) yield { event };
    return last === null ? null : refusal(last, "as the test says", "as the test says");
  };
  return { asked, runTurn };
}

async function withRunner(runTurn: RunTurn, options: PeerOptions = {}) {
  const fixture = await gatewayFixture();
  const peer = await runnerPeer(fixture.store, { handlers: { runTurn }, ...options });
  const run = (ask: object = {}) => drained(fixture.client.rpc.runTurn({ ...ASK, ...ask }));
  return { ...fixture, peer, run };
}

describe("a prompt for a session that nobody owns", () => {
  it("goes to a runner with a proposal to claim it from what was read", async () => {
    const { asked, runTurn } = running(TURN);
    const { run, peer } = await withRunner(runTurn);
    expect(casesOf(await run())).toEqual(["started", "message", "ended"]);
    expect(asked).toMatchObject([
      {
        route: {
          project: "default",
          principal: "local",
          ownerIncarnation: peer.owner.incarnation,
          epoch: 0n,
          claim: { fromRevision: 0n, fromEpoch: 0n, reason: FallReason.FIRST_TURN },
        },
        request: { sessionId: KEY.sessionId, agent: "scripted" },
      },
    ]);
  });

  it("names the revision, the epoch and the reason that the record has", async () => {
    const { asked, runTurn } = running(TURN);
    const { run, ledger, store } = await withRunner(runTurn);
    const held = await runningTurn(ledger, NOBODY);
    const lost = await loseOwner(ledger, held);
    await run({ agent: "" });
    const { revision } = lost;
    expect(asked[0]?.route?.claim).toMatchObject({
      fromRevision: BigInt(revision),
      fromEpoch: BigInt(lost.record.epoch),
      reason: FallReason.DRAIN,
    });
    expect((await store.records.get(KEY)).kind).toBe("found");
  });

  it("goes on to the next runner when one is full, draining or gone", async () => {
    const first = running([], "POOL_FULL");
    const { run, store } = await withRunner(first.runTurn);
    const gone = await runnerPeer(store, { runner: "runner-1" });
    await gone.stop();
    const draining = running([], "DRAINING");
    await runnerPeer(store, { runner: "runner-2", handlers: { runTurn: draining.runTurn } });
    const last = running(TURN);
    await runnerPeer(store, { runner: "runner-3", handlers: { runTurn: last.runTurn } });
    expect(casesOf(await run())).toEqual(["started", "message", "ended"]);
    expect([first, draining, last].map(({ asked }) => asked.length)).toEqual([1, 1, 1]);
  });

  it("is refused POOL_FULL, with a time to try again, when no runner has room or none is there", async () => {
    const { run, peer } = await withRunner(running([], "POOL_FULL").runTurn);
    const full = { code: status.RESOURCE_EXHAUSTED, reason: "POOL_FULL", retryAfterMs: expect.any(Number) };
    expect(await refusalOf(run())).toMatchObject(full);
    await peer.stop();
    expect(await refusalOf(run())).toMatchObject(full);
  });

  it("asks no runner that drains, is dead, is another incarnation, or has not its agent", async () => {
    const { run, store, peer } = await withRunner(running(TURN).runTurn);
    const other = async (runner: string, options: PeerOptions) =>
      (await runnerPeer(store, { runner, ...options, handlers: { runTurn: running(TURN).runTurn } })).calls;
    const calls = [
      await other("a-0", { lease: { state: "draining" } }),
      await other("b-0", { lease: { state: "dead" } }),
      await other("c-0", { pool: { incarnation: "inc_other" } }),
      await other("d-0", { pool: { agents: ["another"] } }),
      await other("e-0", { pool: { draining: true } }),
    ];
    await run();
    expect(calls.flat()).not.toContain("runTurn");
    expect(peer.calls).toContain("runTurn");
  });

  it("needs an agent that exists, and names those that do", async () => {
    const { run } = await withRunner(running(TURN).runTurn);
    expect(await refusalOf(run({ agent: "nobody" }))).toMatchObject({
      code: status.INVALID_ARGUMENT,
      reason: "AGENT_UNKNOWN",
      metadata: { agents: "scripted" },
    });
    expect(await refusalOf(run({ agent: "" }))).toMatchObject({
      reason: "FIELD_INVALID",
      violations: [{ field: "agent" }],
    });
  });
});

describe("a prompt for a session with a living owner", () => {
  it("goes to it, at the epoch of the record", async () => {
    const { asked, runTurn } = running(TURN);
    const { run, peer, ledger } = await withRunner(runTurn);
    const held = await runningTurn(ledger, peer.owner);
    await run();
    expect(asked[0]?.route).toMatchObject({
      epoch: BigInt(held.record.epoch),
      ownerIncarnation: peer.owner.incarnation,
    });
    expect(asked[0]?.route?.claim).toBeUndefined();
  });

  it("may not name another agent than the session's", async () => {
    const { run, peer, ledger } = await withRunner(running(TURN).runTurn);
    await runningTurn(ledger, peer.owner);
    expect(await refusalOf(run({ agent: "another" }))).toMatchObject({ violations: [{ field: "agent" }] });
    expect(peer.calls).not.toContain("runTurn");
  });

  it("is told what the owner says of a turn in progress", async () => {
    const { run, peer, ledger } = await withRunner(running([], "TURN_IN_PROGRESS").runTurn);
    await runningTurn(ledger, peer.owner);
    expect(await refusalOf(run())).toMatchObject({ code: status.FAILED_PRECONDITION, reason: "TURN_IN_PROGRESS" });
  });

  it("is tried once more when the session has moved, and not a third time", async () => {
    const { asked, runTurn } = running([], "NOT_OWNER");
    const { run, peer, ledger, telemetry } = await withRunner(runTurn);
    await runningTurn(ledger, peer.owner);
    expect(await refusalOf(run())).toMatchObject({ code: status.UNAVAILABLE, reason: "STREAM_CUT" });
    expect(asked).toHaveLength(2);
    expect(await telemetry.value("ownerLookups", { result: "stale" })).toBe(2);
  });

  it("is not tried again after the first event was forwarded", async () => {
    const { asked, runTurn } = running(TURN.slice(0, 1), "NOT_OWNER");
    const { run, peer, ledger } = await withRunner(runTurn);
    await runningTurn(ledger, peer.owner);
    expect(await refusalOf(run())).toMatchObject({ reason: "STREAM_CUT", metadata: { last_seq: "2" } });
    expect(asked).toHaveLength(1);
  });
});

describe("a stream of a turn", () => {
  it("that ends before its last event is UNAVAILABLE STREAM_CUT", async () => {
    const { run } = await withRunner(running(TURN.slice(0, 2)).runTurn);
    expect(await refusalOf(run())).toMatchObject({
      code: status.UNAVAILABLE,
      reason: "STREAM_CUT",
      metadata: { session_id: KEY.sessionId, last_seq: "3" },
    });
  });

  it("that breaks before its first event does not say that nothing ran", async () => {
    const cut = running([]);
    const { run } = await withRunner(cut.runTurn);
    expect(await refusalOf(run())).toMatchObject({
      code: status.UNAVAILABLE,
      reason: "STREAM_CUT",
      message: expect.stringContaining("not known whether the turn began"),
    });
    expect(cut.asked).toHaveLength(1);
  });

  it("ends well with the park only when it follows until there", async () => {
    const events = [eventOf(2, "t-1", STARTED), eventOf(0, "t-1", parkedOn("gate_1"))];
    const { run } = await withRunner(running(events).runTurn);
    expect(casesOf(await run())).toEqual(["started", "parked"]);
    expect(await refusalOf(run({ follow: Follow.UNTIL_ENDED }))).toMatchObject({ reason: "STREAM_CUT" });
  });

  it("whose client goes is cancelled at the runner", async () => {
    const gone = Promise.withResolvers<void>();
    const { client } = await withRunner(async function* (_request, { signal }: ServedCall) {
      signal.addEventListener("abort", () => gone.resolve());
      yield { event: TURN[0] };
      await gone.promise;
      return null;
    });
    for await (const _ of client.rpc.runTurn(ASK)) break;
    await gone.promise;
  });

  it("holds the runner back when its client does not read", async () => {
    const text = "x".repeat(256 * 1024);
    let sent = 0;
    const { client } = await withRunner(async function* (_request, { signal }: ServedCall) {
      yield { event: TURN[0] };
      for (let seq = 3; seq < 400 && !signal.aborted; seq++) {
        sent += 1;
        yield { event: eventOf(seq, "t-1", said(text)) };
      }
      yield { event: eventOf(400, "t-1", ENDED) };
      return null;
    });
    const stream = client.bytes.runTurn(ASK);
    await stream.next();
    // It stops sending by itself, far below the 100 MiB it has.
    let before = -1;
    await vi.waitFor(
      () => {
        const isStill = sent === before;
        before = sent;
        expect(isStill).toBe(true);
      },
      { interval: 200, timeout: 8_000 },
    );
    expect(sent).toBeLessThan(200);
    let count = 1;
    for await (const _ of stream) count += 1;
    expect(count).toBe(399);
  }, 20_000);
});

describe("a prompt sent again with its request_id", () => {
  const AGAIN = { requestId: "r-1" };
  const digest = runTurnDigest(create(RunTurnRequestSchema, { ...ASK, ...AGAIN }));

  it("attaches to its turn, which has ended, and prompts nobody", async () => {
    const { run, ledger, peer } = await withRunner(running(TURN).runTurn);
    const held = await runningTurn(ledger, NOBODY, { turnId: "t-1", requestId: "r-1", contentDigest: digest });
    const prompt = { case: "prompt", value: { content: [] } } as never;
    await logged(ledger, KEY, held.record.epoch, "t-0", said("an earlier turn"));
    await logged(ledger, KEY, held.record.epoch, "t-1", prompt, STARTED, said("hello"), ENDED);
    await loseOwner(ledger, held);
    const replies = await run(AGAIN);
    expect(casesOf(replies)).toEqual(["started", "message", "ended"]);
    expect(replies.map(({ event }) => event?.seq)).toEqual([3n, 4n, 5n]);
    expect(peer.calls).not.toContain("runTurn");
  });

  it("attaches to its turn, which waits for an answer, and ends with the park", async () => {
    const { run, ledger, clock, store } = await withRunner(running(TURN).runTurn);
    const held = await runningTurn(ledger, NOBODY, { turnId: "t-1", requestId: "r-1", contentDigest: digest });
    const gateId = await openGate(ledger, held);
    await logged(ledger, KEY, held.record.epoch, "t-1", STARTED, opened(gateId));
    await loseOwner(ledger, { ...held, ...(await store.records.get(KEY)) });
    const replies = run(AGAIN);
    let parked = false;
    const ended = replies.finally(() => {
      parked = true;
    });
    while (!parked) await clock.advance(PARK_QUIET_MS);
    const last = (await ended).at(-1)?.event;
    expect(casesOf(await ended)).toEqual(["started", "gateOpened", "parked"]);
    expect(last).toMatchObject({ seq: 0n, turnId: "t-1", event: { value: { gateIds: [gateId] } } });
  });

  it("ends with the park a bound after the gate, however much another call goes on saying", async () => {
    const clock = new ManualClock(Date.now());
    const { client, ledger } = await gatewayFixture({}, openMemoryStore(), clock);
    const held = await runningTurn(ledger, NOBODY, { turnId: "t-1", requestId: "r-1", contentDigest: digest });
    const { epoch } = held.record;
    const gateId = await openGate(ledger, held);
    await logged(ledger, KEY, epoch, "t-1", STARTED, opened(gateId));
    await loseOwner(ledger, held);
    const stream = client.rpc.runTurn({ ...ASK, ...AGAIN });
    const nextCase = async () => (await stream.next()).value?.event?.event.case;
    expect([await nextCase(), await nextCase()]).toEqual(["started", "gateOpened"]);
    const stepMs = PARK_QUIET_MS - 50;
    for (let passedMs = 0; passedMs < PARK_LATEST_MS; passedMs += stepMs) {
      await logged(ledger, KEY, epoch, "t-1", said("still at work"));
      expect(await nextCase()).toBe("message");
      await clock.advance(stepMs);
    }
    expect(await nextCase()).toBe("parked");
    expect((await stream.next()).done).toBe(true);
  });

  it("is refused when it is another prompt", async () => {
    const { run, ledger } = await withRunner(running(TURN).runTurn);
    const held = await runningTurn(ledger, NOBODY, { requestId: "r-1", contentDigest: digest });
    await loseOwner(ledger, held);
    const other = [{ block: { case: "text", value: { text: "say goodbye" } } }];
    expect(await refusalOf(run({ ...AGAIN, prompt: other }))).toMatchObject({
      code: status.ALREADY_EXISTS,
      reason: "IDEMPOTENCY_KEY_REUSED",
    });
  });

  it("goes to the owner while there is one: it knows the turn", async () => {
    const { asked, runTurn } = running(TURN);
    const { run, ledger, peer } = await withRunner(runTurn);
    const held = await runningTurn(ledger, peer.owner, { requestId: "r-1", contentDigest: digest });
    await changed(ledger, KEY, { type: "drop_appended" }, ownerOf(held));
    await run(AGAIN);
    expect(asked[0]?.request?.requestId).toBe("r-1");
  });
});
