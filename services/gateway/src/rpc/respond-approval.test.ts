import type { MessageInitShape } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { Disposition, type RespondApprovalRequest, type RespondApprovalRequestSchema, Verdict } from "@holdfast/proto";
import { describe, expect, it, vi } from "vitest";
import { ADMISSION_WAIT_MS } from "../deliver/deliveries.ts";
import { type GatewayFixture, gatewayFixture } from "../fixture/gateway.ts";
import { changed, KEY, loseOwner, NOBODY, openGate, runningTurn } from "../fixture/records.ts";
import { refusalOf } from "../fixture/refused.ts";
import { putLease, type RunnerHandlers, runnerPeer } from "../fixture/runner-peer.ts";

type Ask = MessageInitShape<typeof RespondApprovalRequestSchema>;
const ALLOW: Ask["decision"] = { case: "verdict", value: Verdict.ALLOW };
const REJECT: Ask["decision"] = { case: "verdict", value: Verdict.REJECT };

/** A session parked cold on one gate: nobody owns it. */
async function parkedCold() {
  const fixture = await gatewayFixture();
  const held = await runningTurn(fixture.ledger, NOBODY);
  const gateId = await openGate(fixture.ledger, held);
  await loseOwner(fixture.ledger, held);
  const answer = (ask: Ask = {}) =>
    fixture.client.rpc.respondApproval({ sessionId: KEY.sessionId, gateId, decision: ALLOW, ...ask });
  return { ...fixture, gateId, answer };
}

/** A session parked on one gate of a living runner, which answers as told. */
async function parkedWarm(handlers: RunnerHandlers) {
  const fixture = await gatewayFixture();
  const peer = await runnerPeer(fixture.store, { handlers });
  const held = await runningTurn(fixture.ledger, peer.owner);
  const gateId = await openGate(fixture.ledger, held);
  const answer = (ask: Ask = {}) =>
    fixture.client.rpc.respondApproval({ sessionId: KEY.sessionId, gateId, decision: ALLOW, ...ask });
  return { ...fixture, peer, held, gateId, answer };
}

async function stored({ store }: Pick<GatewayFixture, "store">) {
  const read = await store.records.get(KEY);
  if (read.kind !== "found") throw new Error(`the record is ${read.kind}`);
  return read;
}

describe("an answer to a session without an owner", () => {
  it("is durable when its caller is told, and waits", async () => {
    const { answer, store, gateId, telemetry } = await parkedCold();
    const reply = await answer({ channel: "inbox", idempotencyKey: "k" });
    expect(reply).toMatchObject({ duplicate: false, disposition: Disposition.QUEUED, execution: 2, openGateIds: [] });
    const { record } = await stored({ store });
    expect(record.gates[0]).toMatchObject({
      gateId,
      state: { answer: { answerId: reply.answerId, verdict: "allow", channel: "inbox", principal: "local" } },
    });
    expect(await telemetry.value("answers", { outcome: "accepted", reason: "none" })).toBe(1);
    expect(telemetry.spans().map(({ name }) => name)).toContain("holdfast.approval.answer");
  });

  it("is told in the log: who watches sees the gate answered", async () => {
    const { answer, store } = await parkedCold();
    const reply = await answer();
    const entries = await store.events.read(KEY, 0, 100);
    expect(entries.map(({ body }) => body).join("\n")).toContain(reply.answerId);
  });

  it("is a duplicate with the same ids when it is sent again, by key or by decision", async () => {
    const { answer, telemetry } = await parkedCold();
    const first = await answer({ idempotencyKey: "k" });
    const { answerId, commandId, turnId, execution } = first;
    const same = { answerId, commandId, turnId, execution, duplicate: true };
    expect(await answer({ idempotencyKey: "k" })).toMatchObject(same);
    expect(await answer({ decision: { case: "optionId", value: "allow-once" } })).toMatchObject(same);
    expect(await answer({ channel: "elsewhere", idempotencyKey: "another" })).toMatchObject(same);
    expect(await telemetry.value("answers", { outcome: "duplicate", reason: "none" })).toBe(3);
  });

  it("conflicts with another decision, and the metadata says which one stands", async () => {
    const { answer, telemetry } = await parkedCold();
    const first = await answer({ idempotencyKey: "k" });
    expect(await refusalOf(answer({ decision: REJECT }))).toMatchObject({
      code: status.ALREADY_EXISTS,
      reason: "GATE_ANSWERED_DIFFERENTLY",
      metadata: { answer_id: first.answerId, option_id: "allow-once" },
    });
    expect(await refusalOf(answer({ decision: REJECT, idempotencyKey: "k" }))).toMatchObject({
      code: status.ALREADY_EXISTS,
      reason: "IDEMPOTENCY_KEY_REUSED",
    });
    expect(await telemetry.value("answers", { outcome: "conflict", reason: "GATE_ANSWERED_DIFFERENTLY" })).toBe(1);
  });
});

describe("a refused answer", () => {
  const rows: [string, Ask, number, string][] = [
    ["a gate nobody has opened", { gateId: "gate_unknown" }, status.FAILED_PRECONDITION, "GATE_UNKNOWN"],
    ["another digest", { digest: "e".repeat(64) }, status.FAILED_PRECONDITION, "DIGEST_MISMATCH"],
    [
      "an option that is not offered",
      { decision: { case: "optionId", value: "nope" } },
      status.INVALID_ARGUMENT,
      "OPTION_NOT_OFFERED",
    ],
    ["no decision", { decision: { case: undefined } }, status.INVALID_ARGUMENT, "FIELD_INVALID"],
    ["a session of nobody", { sessionId: "s-2" }, status.NOT_FOUND, "SESSION_UNKNOWN"],
    ["a key too long", { idempotencyKey: "k".repeat(257) }, status.INVALID_ARGUMENT, "FIELD_INVALID"],
  ];

  it.each(rows)("for %s writes nothing", async (_what, ask, code, reason) => {
    const { answer, store, telemetry } = await parkedCold();
    const before = await stored({ store });
    expect(await refusalOf(answer(ask))).toMatchObject({ code, reason });
    expect(await stored({ store })).toEqual(before);
    expect(await telemetry.value("answers", { outcome: "refused", reason })).toBe(1);
  });

  it("for a gate that a Stop has closed, or that has expired, writes nothing", async () => {
    const { answer, store, client } = await parkedCold();
    await client.rpc.cancelTurn({ sessionId: KEY.sessionId });
    const before = await stored({ store });
    expect(await refusalOf(answer())).toMatchObject({ code: status.FAILED_PRECONDITION, reason: "GATE_CANCELLED" });
    expect(await stored({ store })).toEqual(before);

    const expired = await gatewayFixture();
    const held = await runningTurn(expired.ledger, NOBODY);
    const gateId = await openGate(expired.ledger, held, { approvalExpiryMs: -1 });
    await loseOwner(expired.ledger, held);
    const late = expired.client.rpc.respondApproval({ sessionId: KEY.sessionId, gateId, decision: ALLOW });
    expect(await refusalOf(late)).toMatchObject({ code: status.FAILED_PRECONDITION, reason: "GATE_EXPIRED" });
  });

  it("is checked in the contract's order: fields, session, key, gate, digest, option", async () => {
    const { answer } = await parkedCold();
    const wrong: Ask = { digest: "e".repeat(64), decision: { case: "optionId", value: "nope" } };
    expect((await refusalOf(answer({ ...wrong, sessionId: "s-2", gateId: "" }))).reason).toBe("FIELD_INVALID");
    expect((await refusalOf(answer({ ...wrong, sessionId: "s-2", gateId: "x" }))).reason).toBe("SESSION_UNKNOWN");
    expect((await refusalOf(answer({ ...wrong, gateId: "x" }))).reason).toBe("GATE_UNKNOWN");
    expect((await refusalOf(answer(wrong))).reason).toBe("DIGEST_MISMATCH");
  });
});

describe("an answer to a session with a living owner", () => {
  it("is delivered at once, to the incarnation, epoch and execution of the record", async () => {
    const asked: unknown[] = [];
    const { answer, peer, held, telemetry } = await parkedWarm({
      respondApproval: async ({ route, request }: { route?: unknown; request?: RespondApprovalRequest }) => {
        asked.push({ route, request });
        return { ok: { response: { disposition: Disposition.SENDING } } };
      },
    });
    const reply = await answer();
    expect(reply).toMatchObject({ duplicate: false, disposition: Disposition.SENDING, execution: 2 });
    expect(asked).toMatchObject([
      {
        route: {
          project: "default",
          principal: "local",
          ownerIncarnation: peer.owner.incarnation,
          epoch: BigInt(held.record.epoch),
          commandId: reply.commandId,
          execution: 2,
        },
        request: { sessionId: KEY.sessionId },
      },
    ]);
    expect(await telemetry.value("deliveries", { result: "accepted" })).toBe(1);
    const [deliver] = telemetry.spans().filter(({ name }) => name === "holdfast.command.deliver");
    const [rpc] = telemetry.spans().filter(({ name }) => name === "holdfast.v1.SessionService/RespondApproval");
    expect(deliver?.traceId).toBe(rpc?.traceId);
    expect(deliver?.attributes).toMatchObject({ "holdfast.attempt": 1, "holdfast.result": "accepted" });
  });

  it("is told within the bound when the owner is slow, and its delivery goes on", async () => {
    const admitted = Promise.withResolvers<void>();
    const { answer, peer, clock, telemetry } = await parkedWarm({
      respondApproval: async () => {
        await admitted.promise;
        return { ok: { response: { disposition: Disposition.SENDING } } };
      },
    });
    const told = answer();
    await vi.waitFor(() => expect(peer.calls).toContain("respondApproval"));
    await clock.advance(ADMISSION_WAIT_MS);
    expect(await told).toMatchObject({ duplicate: false, disposition: Disposition.QUEUED });
    admitted.resolve();
    await vi.waitFor(async () => expect(await telemetry.value("deliveries", { result: "accepted" })).toBe(1));
  });

  it("sent twice while it is on its way is delivered once", async () => {
    const admitted = Promise.withResolvers<void>();
    const { answer, peer, lines } = await parkedWarm({
      respondApproval: async () => {
        await admitted.promise;
        return { ok: { response: { disposition: Disposition.SENDING } } };
      },
    });
    const first = answer();
    await vi.waitFor(() => expect(peer.calls).toContain("respondApproval"));
    const second = answer();
    await vi.waitFor(() => expect(lines.join("")).toContain("answer.duplicate"));
    admitted.resolve();
    const { commandId } = await first;
    expect(await second).toMatchObject({ duplicate: true, commandId, disposition: Disposition.SENDING });
    expect(peer.calls.filter((name) => name === "respondApproval")).toHaveLength(1);
  });

  it("keeps its attempt when the owner proves that nothing ran, and a duplicate delivers it again", async () => {
    let tries = 0;
    const { answer, store } = await parkedWarm({
      respondApproval: async () => {
        tries += 1;
        if (tries > 1) return { ok: { response: { disposition: Disposition.STORED } } };
        return { refusal: { reason: "POOL_FULL", message: "full", nextStep: "wait", metadata: {} } };
      },
    });
    expect(await answer()).toMatchObject({ disposition: Disposition.QUEUED });
    await vi.waitFor(async () => {
      expect((await stored({ store })).record.gates[0]).toMatchObject({ state: { answer: { attempts: 0 } } });
    });
    expect(await answer()).toMatchObject({ duplicate: true, disposition: Disposition.STORED });
    expect((await stored({ store })).record.gates[0]).toMatchObject({ state: { answer: { attempts: 1 } } });
  });

  it("looks for the owner again when the session has moved", async () => {
    const { answer, peer, ledger, store, telemetry } = await parkedWarm({
      respondApproval: async () => {
        // What the runner says when it has let go of the session: here it happens between commit and delivery.
        if (peer.calls.filter((name) => name === "respondApproval").length === 1) {
          const read = await stored({ store });
          const released = await loseOwner(ledger, { revision: read.revision, record: read.record });
          const by = { kind: "claimant", owner: peer.owner, fromEpoch: released.record.epoch } as const;
          await changed(ledger, KEY, { type: "claim" }, by);
          return { refusal: { reason: "STALE_EPOCH", message: "moved", nextStep: "again", metadata: {} } };
        }
        return { ok: { response: { disposition: Disposition.STORED } } };
      },
    });
    expect(await answer()).toMatchObject({ disposition: Disposition.STORED });
    expect(await telemetry.value("ownerLookups", { result: "stale" })).toBe(1);
  });

  it("is committed and waits when the owner cannot be reached", async () => {
    const { answer, peer, telemetry } = await parkedWarm({});
    await peer.stop();
    expect(await answer()).toMatchObject({ duplicate: false, disposition: Disposition.QUEUED });
    await vi.waitFor(async () => expect(await telemetry.value("deliveries", { result: "failed" })).toBe(1));
  });

  it("never reaches another process at the owner's address", async () => {
    const { answer, peer, store } = await parkedWarm({});
    await peer.stop();
    const port = Number(peer.owner.address.split(":")[1]);
    const stranger = await runnerPeer(store, { runner: "other-7", port, lease: null });
    expect(await answer()).toMatchObject({ disposition: Disposition.QUEUED });
    await vi.waitFor(() => expect(stranger.calls).toContain("describePool"));
    expect(stranger.calls).not.toContain("respondApproval");
  });

  it("settles what a dead owner left before it decides", async () => {
    const { answer, store, peer } = await parkedWarm({});
    await putLease(store, { ...peer.owner, host: "test", state: "dead", beat: 2 });
    expect(await answer()).toMatchObject({ duplicate: false, disposition: Disposition.QUEUED });
    const { record } = await stored({ store });
    expect(record).toMatchObject({ owner: null, coldReason: "owner_dead", execution: { state: "queued" } });
    expect(peer.calls).toEqual([]);
  });
});
