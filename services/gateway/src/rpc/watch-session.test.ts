import { status } from "@grpc/grpc-js";
import { refusal, WATCHERS_PER_SESSION } from "@holdfast/pool";
import type { TurnEvent, WatchSessionResponse } from "@holdfast/proto";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { eventOf, logged, STARTED, said } from "../fixture/events.ts";
import { type GatewayFixture, gatewayFixture } from "../fixture/gateway.ts";
import { KEY, loseOwner, NOBODY, openGate, runningTurn } from "../fixture/records.ts";
import { drained, refusalOf } from "../fixture/refused.ts";
import { putLease, type RunnerHandlers, runnerPeer } from "../fixture/runner-peer.ts";
import { OWNER_LOOK_MS } from "../sessions/follow.ts";

type Watch = NonNullable<RunnerHandlers["watchSession"]>;

/** Watches until its test ends; `next` is the next event. */
function watching({ client }: GatewayFixture, afterSeq = 0n) {
  const left = new AbortController();
  onTestFinished(() => left.abort());
  const stream = client.rpc.watchSession({ sessionId: KEY.sessionId, afterSeq }, { signal: left.signal });
  const next = async (): Promise<TurnEvent> => {
    const { value } = await stream.next();
    const { event } = value as WatchSessionResponse;
    if (event === undefined) throw new Error("the stream has ended");
    return event;
  };
  return { next };
}

const seqsOf = async (next: () => Promise<TurnEvent>, count: number): Promise<number[]> => {
  const seqs: number[] = [];
  while (seqs.length < count) seqs.push(Number((await next()).seq));
  return seqs;
};

async function ownerless() {
  const fixture = await gatewayFixture();
  const held = await runningTurn(fixture.ledger, NOBODY, { turnId: "t-1" });
  await logged(fixture.ledger, KEY, held.record.epoch, "t-1", STARTED, said("one"), said("two"));
  const lost = await loseOwner(fixture.ledger, held);
  return { ...fixture, held: lost };
}

const snapshot = (): TurnEvent => eventOf(0, "t-1", { case: "snapshot", value: {} } as never);

describe("watching a session that nobody owns", () => {
  it("begins with a snapshot, then the events after the cursor, then those that come", async () => {
    const fixture = await ownerless();
    const { next } = watching(fixture, 1n);
    const first = await next();
    expect(first).toMatchObject({
      seq: 0n,
      event: { case: "snapshot", value: { firstSeq: 1n, session: { sessionId: KEY.sessionId } } },
    });
    const lastSeq = first.event.case === "snapshot" ? Number(first.event.value.lastSeq) : 0;
    expect(await seqsOf(next, lastSeq - 1)).toEqual(Array.from({ length: lastSeq - 1 }, (_, index) => index + 2));
    await logged(fixture.ledger, KEY, fixture.held.record.epoch, "t-1", said("later"));
    expect(await next()).toMatchObject({ seq: BigInt(lastSeq + 1), event: { case: "message" } });
  });

  it("carries on with the owner when it gets one, without a second snapshot and without a double", async () => {
    const fixture = await ownerless();
    const { next } = watching(fixture, 0n);
    await next();
    const { last } = await fixture.store.events.tail(KEY);
    await seqsOf(next, last);
    const asked: bigint[] = [];
    const watchSession: Watch = async function* ({ request }, { signal }) {
      asked.push(request?.afterSeq ?? -1n);
      yield { event: snapshot() };
      for (const seq of [last, last + 1]) yield { event: eventOf(seq, "t-2", said("from the owner")) };
      yield { event: eventOf(0, "t-2", { case: "messageDelta", value: {} } as never) };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return null;
    };
    const peer = await runnerPeer(fixture.store, { handlers: { watchSession } });
    await runningTurn(fixture.ledger, peer.owner, { turnId: "t-2" });
    await fixture.clock.advance(OWNER_LOOK_MS);
    expect(await next()).toMatchObject({ seq: BigInt(last + 1) });
    expect(await next()).toMatchObject({ seq: 0n, event: { case: "messageDelta" } });
    expect(asked).toEqual([BigInt(last)]);
  });
});

describe("watching a session with a living owner", () => {
  it("goes on from the log when the owner dies, and nothing is lost or doubled", async () => {
    const fixture = await gatewayFixture();
    const dies = Promise.withResolvers<void>();
    const watchSession: Watch = async function* () {
      yield { event: snapshot() };
      yield { event: eventOf(1, "t-1", STARTED) };
      await dies.promise;
      return null;
    };
    const peer = await runnerPeer(fixture.store, { handlers: { watchSession } });
    const held = await runningTurn(fixture.ledger, peer.owner, { turnId: "t-1" });
    const { next } = watching(fixture);
    expect((await next()).event.case).toBe("snapshot");
    expect(await seqsOf(next, 1)).toEqual([1]);
    await logged(fixture.ledger, KEY, held.record.epoch, "t-1", STARTED, said("unseen"));
    await peer.stop();
    await putLease(fixture.store, { ...peer.owner, host: "test", state: "dead", beat: 2 });
    dies.resolve();
    expect(await next()).toMatchObject({ seq: 2n, event: { case: "message" } });
    await fixture.clock.advance(OWNER_LOOK_MS);
    const after: TurnEvent[] = [];
    while (after.at(-1)?.event.case !== "ended") after.push(await next());
    expect(after.map(({ seq }) => Number(seq))).toEqual(after.map((_, index) => index + 3));
    const read = await fixture.store.records.get(KEY);
    expect(read).toMatchObject({ record: { owner: null, turn: { ending: { outcome: "lost" } } } });
  });

  it("is served from the log while the owner cannot be reached", async () => {
    const fixture = await gatewayFixture();
    const peer = await runnerPeer(fixture.store);
    const held = await runningTurn(fixture.ledger, peer.owner, { turnId: "t-1" });
    await logged(fixture.ledger, KEY, held.record.epoch, "t-1", STARTED);
    await peer.stop();
    const { next } = watching(fixture);
    expect((await next()).event.case).toBe("snapshot");
    expect((await next()).event.case).toBe("started");
  });

  it("ends with what the owner refuses for good", async () => {
    const fixture = await gatewayFixture();
    // biome-ignore lint/correctness/useYield: refused before its first message.
    const watchSession: Watch = async function* () {
      return refusal("WATCHERS_FULL", "full", "wait");
    };
    const peer = await runnerPeer(fixture.store, { handlers: { watchSession } });
    await runningTurn(fixture.ledger, peer.owner);
    const watch = drained(fixture.client.rpc.watchSession({ sessionId: KEY.sessionId }));
    expect(await refusalOf(watch)).toMatchObject({ code: status.RESOURCE_EXHAUSTED, reason: "WATCHERS_FULL" });
  });
});

describe("a watch that cannot be", () => {
  const watch = ({ client }: GatewayFixture, afterSeq: bigint) =>
    refusalOf(drained(client.rpc.watchSession({ sessionId: KEY.sessionId, afterSeq })));

  it("of a session that is not there is NOT_FOUND", async () => {
    expect(await watch(await gatewayFixture(), 0n)).toMatchObject({
      code: status.NOT_FOUND,
      reason: "SESSION_UNKNOWN",
    });
  });

  it("from beyond the last event names the field and the last number", async () => {
    const fixture = await ownerless();
    expect(await watch(fixture, 1_000n)).toMatchObject({
      code: status.INVALID_ARGUMENT,
      violations: [{ field: "after_seq" }],
      metadata: { last_seq: expect.any(String) },
    });
  });

  it("of a session with 32 watchers is refused, and possible again when one leaves", async () => {
    const fixture = await ownerless();
    const watchers = Array.from({ length: WATCHERS_PER_SESSION }, () => {
      const left = new AbortController();
      const stream = fixture.client.rpc.watchSession({ sessionId: KEY.sessionId }, { signal: left.signal });
      return { left, stream };
    });
    for (const { stream } of watchers) await stream.next();
    expect(await watch(fixture, 0n)).toMatchObject({ code: status.RESOURCE_EXHAUSTED, reason: "WATCHERS_FULL" });
    watchers[0]?.left.abort();
    await vi.waitFor(async () => {
      const again = fixture.client.rpc.watchSession({ sessionId: KEY.sessionId });
      expect((await again.next()).value?.event?.event.case).toBe("snapshot");
      await again.return();
    });
    for (const { left } of watchers) left.abort();
  });
});

it("ends a watch with STREAM_CUT when the gateway stops", async () => {
  const fixture = await ownerless();
  const watch = drained(fixture.client.rpc.watchSession({ sessionId: KEY.sessionId }));
  const cut = refusalOf(watch);
  await vi.waitFor(() => expect(fixture.clock.timers).toBeGreaterThan(0));
  const closed = fixture.gateway.close();
  expect(await cut).toMatchObject({ code: status.UNAVAILABLE, reason: "STREAM_CUT" });
  await closed;
});

it("shows a gate's whole call in the snapshot", async () => {
  const fixture = await gatewayFixture();
  const held = await runningTurn(fixture.ledger, NOBODY, { turnId: "t-1" });
  const call = {
    case: "toolCall",
    value: { id: "call-1", title: "Run it", rawInputJson: '{"command":"whole"}' },
  } as never;
  await logged(fixture.ledger, KEY, held.record.epoch, "t-1", call);
  const gateId = await openGate(fixture.ledger, held, { callSeq: 1 });
  const { next } = watching(fixture);
  const first = await next();
  const gates = first.event.case === "snapshot" ? (first.event.value.session?.gates ?? []) : [];
  expect(gates).toMatchObject([{ gateId, toolCall: { rawInputJson: '{"command":"whole"}' } }]);
  const { session } = await fixture.client.rpc.getSession({ sessionId: KEY.sessionId });
  expect(session?.gates).toMatchObject([{ gateId, warm: false, toolCall: { rawInputJson: '{"command":"whole"}' } }]);
});
