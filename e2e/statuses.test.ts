// What each status of RespondApproval proves, over both roads to a gateway. One parked session takes every refusal of the
// table and is, to the byte, what it was before; then its gate is answered.
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Stop } from "@holdfast/pool";
import { GateState, Outcome, SessionSchema, SessionState } from "@holdfast/proto";
import { newId } from "@holdfast/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ALLOW, KEY_CHARACTERS, ROWS, type Scene, TOKENS } from "./src/answer-table.ts";
import { type Caller, eventually } from "./src/caller.ts";
import { ROADS, type Road, type Told } from "./src/road.ts";
import { Stack } from "./src/stack.ts";
import { StoreFile } from "./src/store-file.ts";

const EXPIRY_MS = 3_000;

let stack: Stack;
let owner: Caller;

const answer = (road: Road, request: JsonObject, token: string | null = "approver"): Promise<Told> =>
  road.answer(stack.gateway.address, request, token);

describe("the statuses of RespondApproval", () => {
  beforeAll(async () => {
    stack = await Stack.start({ tokens: TOKENS });
    owner = stack.caller({ token: "owner" });
    const stranger = stack.caller({ token: "stranger" });
    await stranger.turn("only-theirs", "run echo theirs");
  });
  afterAll(() => stack.close());

  describe.each(ROADS)("over $name", (road) => {
    let scene: Scene;
    let before: JsonObject;

    beforeAll(async () => {
      scene = await setScene(road);
      before = await look(scene.session);
    });

    for (const { title, token, request, told } of ROWS) {
      it(`${title}; nothing is touched`, async () => {
        expect(await answer(road, request(scene), token)).toMatchObject(told(scene));
        expect(await look(scene.session)).toEqual(before);
      });
    }

    it("18: after all these refusals the gate is answered, with its digest and a key of 256 characters, on the same pid", async () => {
      const { gates, pid } = await owner.session(scene.session);
      const { digest = "" } = gates.find(({ gateId }) => gateId === scene.open) ?? {};
      const idempotencyKey = "k".repeat(KEY_CHARACTERS);
      const request = { sessionId: scene.session, gateId: scene.open };
      const told = await answer(road, { ...request, ...ALLOW, digest, idempotencyKey, channel: "inbox" });
      expect(told).toMatchObject({ code: "OK", reply: { answerId: expect.any(String), turnId: expect.any(String) } });
      const { turn } = await owner.session(scene.session);
      const ended = await owner.ended(scene.session, turn?.turnId ?? "");
      expect(ended.of("ended").at(-1)?.outcome).toBe(Outcome.COMPLETED);
      expect(stack.ledger(scene.session, "ours").map(({ command, pid }) => [command, pid])).toEqual([
        ["echo first", Number(pid)],
        ["echo second", Number(pid)],
      ]);
      const { closedGates } = await owner.session(scene.session);
      expect(closedGates.find(({ gateId }) => gateId === scene.open)?.answer).toMatchObject({
        principal: "anna",
        channel: "inbox",
      });
    });

    it("75: an answer to a gate that an interrupting prompt has closed is GATE_SUPERSEDED; nothing is touched", async () => {
      const session = named("interrupted", road);
      const parked = await owner.turn(session, "run echo interrupted");
      await new StoreFile(stack.directory).change(session, "ours", interrupt());
      const before = await look(session, SessionState.STOPPING);
      const told = await answer(road, { sessionId: session, gateId: parked.gateId, ...ALLOW });
      expect(told).toMatchObject({
        code: "FAILED_PRECONDITION",
        reason: "GATE_SUPERSEDED",
        metadata: { session_id: session, gate_id: parked.gateId, close_reason: "superseded" },
      });
      expect(await look(session, SessionState.STOPPING)).toEqual(before);
      await owner.stop(session);
      await owner.ended(session, parked.turnId);
      expect(stack.ledger(session, "ours")).toEqual([]);
    });

    it("26: with the store locked an answer is UNAVAILABLE and says when to retry; the retry with the same key is OK, and runs once", async () => {
      const session = named("locked", road);
      const parked = await owner.turn(session, "run echo unlocked");
      const request = { sessionId: session, gateId: parked.gateId, ...ALLOW, idempotencyKey: "once" };
      const lock = new StoreFile(stack.directory).lock();
      try {
        const told = await answer(road, request);
        expect(told).toMatchObject({ code: "UNAVAILABLE", reason: "STORE_UNAVAILABLE", retryMs: expect.any(Number) });
      } finally {
        lock[Symbol.dispose]();
      }
      const replies = [await answer(road, request), await answer(road, request)];
      expect(replies).toMatchObject([{ code: "OK" }, { code: "OK", reply: { duplicate: true } }]);
      const ids = replies.map((told) => ("reply" in told ? [told.reply.answerId, told.reply.commandId] : []));
      expect(ids[0]).toEqual(ids[1]);
      const ended = await owner.ended(session, parked.turnId);
      expect(ended.one("ended").outcome).toBe(Outcome.COMPLETED);
      expect(stack.ledger(session, "ours")).toHaveLength(1);
    });
  });
});

describe("a gate that has expired", () => {
  beforeAll(async () => {
    const settings = {
      HOLDFAST_APPROVAL_TTL: "0s",
      HOLDFAST_APPROVAL_MAX: "0s",
      HOLDFAST_APPROVAL_EXPIRY: `${EXPIRY_MS}ms`,
    };
    stack = await Stack.start({ tokens: TOKENS, settings });
    owner = stack.caller({ token: "owner" });
  });
  afterAll(() => stack.close());

  it.each(ROADS)(
    "33: an answer to it over $name is GATE_EXPIRED; nothing is touched, nothing has run",
    async (road) => {
      const session = named("expired", road);
      const parked = await owner.turn(session, "run echo late");
      await eventually(
        "cold",
        () => owner.session(session),
        ({ owner: runner }) => runner === undefined,
      );
      const [gate] = (await owner.session(session)).gates;
      if (gate?.expiresAt === undefined) throw new Error("the gate says nothing of its end");
      const expiresAt = timestampMs(gate.expiresAt);
      await eventually("the gate has expired", () => Date.now() > expiresAt);
      const late = () => answer(road, { sessionId: session, gateId: parked.gateId, ...ALLOW });
      const told = {
        code: "FAILED_PRECONDITION",
        reason: "GATE_EXPIRED",
        metadata: { session_id: session, gate_id: parked.gateId },
      };
      // Whoever comes first finds the turn over, and the answer changes nothing of that.
      expect(await late()).toMatchObject(told);
      const ended = await owner.ended(session, parked.turnId);
      expect(ended.one("ended")).toMatchObject({ outcome: Outcome.CANCELLED, stopReason: "approval_expired" });
      const before = await look(session, SessionState.COLD);
      expect(await late()).toMatchObject(told);
      expect(await look(session, SessionState.COLD)).toEqual(before);
      expect(await owner.inbox(session)).toEqual([]);
      expect(stack.ledger(session, "ours")).toEqual([]);
    },
  );
});

const named = (what: string, { name }: Road) => `${what}-${name.replaceAll(" ", "-")}`;

/** A turn that was stopped while it was parked, then one whose first gate was allowed and whose second is open. */
async function setScene(road: Road): Promise<Scene> {
  const session = named("scene", road);
  const stopped = await owner.turn(session, "run echo zero");
  await owner.stop(session);
  await owner.ended(session, stopped.turnId);
  const parked = await owner.turn(session, "run echo first\nrun echo second");
  const key = `key of ${road.name}`;
  const first = await answer(road, { sessionId: session, gateId: parked.gateId, ...ALLOW, idempotencyKey: key });
  if (!("reply" in first)) throw new Error(`the first answer was refused: ${first.reason}`);
  const open = await owner.parkedOn(session, parked.gateId);
  const elsewhere = await owner.turn(`${session}-elsewhere`, "run echo elsewhere");
  const theirs = await stack.caller({ token: "stranger" }).turn(session, "run echo theirs");
  return {
    session,
    open,
    answered: parked.gateId,
    key,
    firstReply: first.reply,
    cancelled: stopped.gateId,
    elsewhere: elsewhere.gateId,
    theirs: theirs.gateId,
  };
}

/** Everything that an answer could have touched: the session with its gates, pid and last event, and every write of its record. */
async function look(session: string, state: SessionState = SessionState.PARKED): Promise<JsonObject> {
  const held = await owner.session(session);
  expect(held.state).toBe(state);
  const open = held.gates.filter((gate) => gate.state === GateState.PENDING);
  expect(open).toHaveLength(state === SessionState.PARKED ? 1 : 0);
  const revision = new StoreFile(stack.directory).revision(session, "ours");
  return { session: toJson(SessionSchema, held), revision, agents: [...stack.agentsOf(session, "ours")] };
}

/** What a gateway commits for a prompt that does not wait (A9): a Stop that names its successor. */
function interrupt(): Stop {
  return {
    type: "stop",
    expectedTurn: null,
    expectedExecution: null,
    idempotencyKey: null,
    contentDigest: "",
    commandId: newId("command"),
    principal: "olga",
    channel: "",
    why: "interrupt",
    next: { turnId: newId("turn"), requestId: null },
  };
}
