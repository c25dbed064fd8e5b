import { status } from "@grpc/grpc-js";
import { refusal } from "@holdfast/pool";
import { describe, expect, it, vi } from "vitest";
import { gatewayFixture } from "../fixture/gateway.ts";
import { changed, KEY, loseOwner, NOBODY, openGate, ownerOf, runningTurn } from "../fixture/records.ts";
import { refusalOf } from "../fixture/refused.ts";
import { type RunnerHandlers, runnerPeer } from "../fixture/runner-peer.ts";

const { sessionId } = KEY;

/** A running turn of a living owner. */
async function running(handlers: RunnerHandlers) {
  const fixture = await gatewayFixture();
  const peer = await runnerPeer(fixture.store, { handlers });
  const held = await runningTurn(fixture.ledger, peer.owner);
  const record = async () => {
    const read = await fixture.store.records.get(KEY);
    if (read.kind !== "found") throw new Error(read.kind);
    return read.record;
  };
  return { ...fixture, peer, held, record };
}

const parkedCold = async () => {
  const fixture = await gatewayFixture();
  const held = await runningTurn(fixture.ledger, NOBODY);
  const gateId = await openGate(fixture.ledger, held);
  await loseOwner(fixture.ledger, held);
  return { ...fixture, gateId };
};

describe("CancelTurn", () => {
  it("ends a turn that nobody owns in the same swap, and tells it in the log", async () => {
    const { client, store, gateId } = await parkedCold();
    expect(await client.rpc.cancelTurn({ sessionId, channel: "page" })).toMatchObject({
      duplicate: false,
      execution: 1,
    });
    const read = await store.records.get(KEY);
    expect(read).toMatchObject({
      record: {
        turn: { ending: { outcome: "cancelled" } },
        gates: [],
        tombstones: [{ gateId, state: { why: "cancelled" } }],
      },
    });
    const told = (await store.events.read(KEY, 0, 100)).map(({ id }) => id.split(":")[0]);
    expect(told).toEqual(expect.arrayContaining(["gate_closed", "ended"]));
  });

  it("is brought to the owner at once, pinned to the execution", async () => {
    const asked: unknown[] = [];
    const { client, peer, record } = await running({
      cancelTurn: async (request) => {
        asked.push(request);
        return { ok: { duplicate: false } };
      },
    });
    const { commandId } = await client.rpc.cancelTurn({ sessionId });
    const route = { ownerIncarnation: peer.owner.incarnation, commandId, execution: 1 };
    expect(asked).toMatchObject([{ route, request: { sessionId } }]);
    expect(await record()).toMatchObject({ execution: { state: "stopping" }, cancel: { commandId, attempts: 1 } });
  });

  it("sent twice is one Stop, delivered again while the owner has not admitted it", async () => {
    const { client, peer, record } = await running({ cancelTurn: async () => ({ ok: { duplicate: false } }) });
    const first = await client.rpc.cancelTurn({ sessionId, idempotencyKey: "k" });
    const { commandId, turnId, execution } = first;
    expect(await client.rpc.cancelTurn({ sessionId })).toMatchObject({ commandId, turnId, execution, duplicate: true });
    expect(await client.rpc.cancelTurn({ sessionId, idempotencyKey: "k" })).toMatchObject({
      commandId,
      duplicate: true,
    });
    expect(peer.calls.filter((name) => name === "cancelTurn")).toHaveLength(3);
    expect((await record()).cancel?.attempts).toBe(3);
  });

  it("is refused, and stops nothing, when another turn or execution was meant or none is open", async () => {
    const { client, record, peer } = await running({});
    const before = await record();
    const ended = { code: status.FAILED_PRECONDITION, reason: "EXECUTION_ENDED" };
    expect(await refusalOf(client.rpc.cancelTurn({ sessionId, expectedTurn: "t-9" }))).toMatchObject(ended);
    expect(await refusalOf(client.rpc.cancelTurn({ sessionId, expectedExecution: 7 }))).toMatchObject(ended);
    expect(await record()).toEqual(before);
    expect(peer.calls).toEqual([]);
    expect(await refusalOf(client.rpc.cancelTurn({ sessionId: "s-9" }))).toMatchObject({ reason: "SESSION_UNKNOWN" });
  });

  it("refuses a key that was used for another Stop", async () => {
    const { client } = await running({ cancelTurn: async () => ({ ok: { duplicate: false } }) });
    await client.rpc.cancelTurn({ sessionId, idempotencyKey: "k" });
    const other = client.rpc.cancelTurn({ sessionId, idempotencyKey: "k", expectedExecution: 1 });
    expect(await refusalOf(other)).toMatchObject({ code: status.ALREADY_EXISTS, reason: "IDEMPOTENCY_KEY_REUSED" });
  });

  it("is durable when the owner cannot be reached", async () => {
    const { client, peer, record } = await running({});
    await peer.stop();
    await client.rpc.cancelTurn({ sessionId });
    expect(await record()).toMatchObject({ execution: { state: "stopping" }, cancel: { admitted: null } });
  });
});

describe("CloseSession", () => {
  it("has nothing to do without a process, as often as it is sent", async () => {
    const { client, store } = await parkedCold();
    const before = await store.records.get(KEY);
    await client.rpc.closeSession({ sessionId, idempotencyKey: "k" });
    await client.rpc.closeSession({ sessionId, idempotencyKey: "k" });
    expect(await store.records.get(KEY)).toEqual(before);
    expect(await refusalOf(client.rpc.closeSession({ sessionId: "s-9" }))).toMatchObject({ code: status.NOT_FOUND });
  });

  it("leaves a parked turn parked and ends only its process", async () => {
    const { client, peer, held, ledger, record } = await running({ closeSession: async () => ({ ok: {} }) });
    await openGate(ledger, held);
    await client.rpc.closeSession({ sessionId });
    expect(peer.calls).not.toContain("cancelTurn");
    expect(await record()).toMatchObject({ execution: { state: "parked" }, cancel: null });
  });

  it("stops a running turn first, waits for its end, then ends the process", async () => {
    const order: string[] = [];
    const settle = Promise.withResolvers<void>();
    const world = await running({
      cancelTurn: async () => {
        order.push("cancel");
        return { ok: { duplicate: false } };
      },
      closeSession: async () => {
        order.push("close");
        return { ok: {} };
      },
    });
    const closed = world.client.rpc.closeSession({ sessionId });
    await vi.waitFor(() => expect(order).toEqual(["cancel"]));
    const turnId = world.held.record.turn?.turnId ?? "";
    const over = { type: "settle_prompt", turnId, stopReason: "cancelled", agentSessionId: null } as const;
    await changed(world.ledger, KEY, over, ownerOf(world.held));
    settle.resolve();
    await world.clock.advance(1_000);
    await closed;
    expect(order).toEqual(["cancel", "close"]);
    expect(await world.record()).toMatchObject({ turn: { ending: { outcome: "cancelled" } } });
  });

  it("does not touch a later turn when it is sent again with its key", async () => {
    const world = await running({
      cancelTurn: async () => ({ ok: { duplicate: false } }),
      closeSession: async () => ({ ok: {} }),
    });
    const turnId = world.held.record.turn?.turnId ?? "";
    const closed = world.client.rpc.closeSession({ sessionId, idempotencyKey: "k" });
    await vi.waitFor(() => expect(world.peer.calls).toContain("cancelTurn"));
    const over = { type: "settle_prompt", turnId, stopReason: "cancelled", agentSessionId: null } as const;
    await changed(world.ledger, KEY, over, ownerOf(world.held));
    await world.clock.advance(1_000);
    await closed;
    await loseOwner(world.ledger, world.held);
    await runningTurn(world.ledger, world.peer.owner, { turnId: "t-later" });
    const calls = world.peer.calls.length;
    await world.client.rpc.closeSession({ sessionId, idempotencyKey: "k" });
    expect(world.peer.calls).toHaveLength(calls);
    expect(await world.record()).toMatchObject({
      turn: { turnId: "t-later", ending: null },
      execution: { state: "running" },
    });
    // The same key of another rpc is another key.
    await world.client.rpc.cancelTurn({ sessionId, idempotencyKey: "k" });
    expect(await world.record()).toMatchObject({ execution: { state: "stopping" } });
  });

  it("says that it does not know when the owner does not answer", async () => {
    const { client, peer, ledger, held } = await running({});
    await openGate(ledger, held);
    await peer.stop();
    expect(await refusalOf(client.rpc.closeSession({ sessionId }))).toMatchObject({
      code: status.UNAVAILABLE,
      reason: "STREAM_CUT",
    });
  });

  it("passes on what the owner refuses", async () => {
    const refused = { refusal: refusal("STORE_UNAVAILABLE", "no", "again") };
    const { client, ledger, held } = await running({ closeSession: async () => refused });
    await openGate(ledger, held);
    expect(await refusalOf(client.rpc.closeSession({ sessionId }))).toMatchObject({ reason: "STORE_UNAVAILABLE" });
  });
});
