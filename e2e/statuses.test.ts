// What each status of RespondApproval proves, over both roads to a gateway. One parked session takes every refusal of the
// table and is, to the byte, what it was before; then its gate is answered.
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Stop } from "@holdfast/pool";
import { GateState, Outcome, SessionSchema, SessionState } from "@holdfast/proto";
import { newId } from "@holdfast/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Caller, eventually } from "./src/caller.ts";
import { ROADS, type Road, type Told } from "./src/road.ts";
import { Stack } from "./src/stack.ts";
import { StoreFile } from "./src/store-file.ts";
import type { TokenOf } from "./src/tokens.ts";

const TOKENS = {
  owner: { project: "ours", principal: "olga", roles: ["admin"] },
  approver: { project: "ours", principal: "anna", roles: ["approve"] },
  watcher: { project: "ours", principal: "walt", roles: ["watch"] },
  stranger: { project: "theirs", principal: "theo", roles: ["admin"] },
} satisfies Record<string, TokenOf>;
const ALLOW = { verdict: "VERDICT_ALLOW" };
const REJECT = { verdict: "VERDICT_REJECT" };
const UNKNOWN_GATE = "gate_nobodyhaseverheardofit";
const KEY_CHARACTERS = 256;
const NOTE_BYTES = 16 * 1024;
const EXPIRY_MS = 3_000;

/** One parked session, a gate of each kind, and what its answered gate was answered with. */
type Scene = {
  readonly session: string;
  readonly open: string;
  readonly answered: string;
  readonly key: string;
  readonly firstReply: JsonObject;
  readonly cancelled: string;
  /** Open in another session of the same project, and in one of the same name in another project. */
  readonly elsewhere: string;
  readonly theirs: string;
};
type Row = {
  readonly title: string;
  /** Anna's, unless said; null: none. */
  readonly token?: string | null;
  readonly request: (scene: Scene) => JsonObject;
  readonly told: (scene: Scene) => object;
};

const refusal = (code: string, reason: string, metadata: object = {}, more: object = {}) => ({
  code,
  reason,
  domain: "holdfast",
  metadata: expect.objectContaining(metadata),
  retryMs: null,
  ...more,
});
const precondition = (reason: string, gate: string, scene: Scene, metadata: object = {}) =>
  refusal(
    "FAILED_PRECONDITION",
    reason,
    { session_id: scene.session, gate_id: gate, ...metadata },
    { preconditions: [`${reason} ${gate}`] },
  );
const invalid = (...fields: string[]) => refusal("INVALID_ARGUMENT", "FIELD_INVALID", {}, { fields });
const onOpen = (scene: Scene, more: JsonObject = ALLOW) => ({
  sessionId: scene.session,
  gateId: scene.open,
  ...more,
});

const CREDENTIALS: readonly Row[] = [
  {
    title: "71: a call without a credential is UNAUTHENTICATED, whatever its fields",
    token: null,
    request: () => ({}),
    told: () => refusal("UNAUTHENTICATED", "CREDENTIAL_INVALID"),
  },
  {
    title: "71: a token that nobody knows is UNAUTHENTICATED",
    token: "nobody",
    request: onOpen,
    told: () => refusal("UNAUTHENTICATED", "CREDENTIAL_INVALID"),
  },
  {
    title: "71: a caller who may only watch is PERMISSION_DENIED, whatever the fields",
    token: "watcher",
    request: () => ({}),
    told: () => refusal("PERMISSION_DENIED", "ROLE_MISSING", { role: "approve" }),
  },
];
const FIELDS: readonly Row[] = [
  {
    title: "71: an answer without anything names every missing field",
    request: () => ({}),
    told: () => invalid("session_id", "gate_id", "decision"),
  },
  {
    title: "71: a verdict of no meaning is an invalid field, also in a session that does not exist",
    request: () => ({ sessionId: "nowhere", gateId: UNKNOWN_GATE, verdict: "VERDICT_UNSPECIFIED" }),
    told: () => invalid("verdict"),
  },
  {
    title: "27: a key of more than 256 characters is INVALID_ARGUMENT",
    request: (scene) => onOpen(scene, { ...ALLOW, idempotencyKey: "k".repeat(KEY_CHARACTERS + 1) }),
    told: () => invalid("idempotency_key"),
  },
  {
    title: "27: a key that cannot be printed is INVALID_ARGUMENT",
    request: (scene) => onOpen(scene, { ...ALLOW, idempotencyKey: "schlüssel" }),
    told: () => invalid("idempotency_key"),
  },
  {
    title: "71: a note, a channel and a session id beyond their limits are named together",
    request: () => ({
      sessionId: "no spaces",
      gateId: UNKNOWN_GATE,
      ...REJECT,
      note: "n".repeat(NOTE_BYTES + 1),
      channel: "c".repeat(65),
    }),
    told: () => invalid("session_id", "note", "channel"),
  },
];
const SESSIONS: readonly Row[] = [
  {
    title: "22: a session that does not exist is NOT_FOUND",
    request: (scene) => ({ sessionId: "nowhere", gateId: scene.open, ...ALLOW, idempotencyKey: scene.key }),
    told: () => refusal("NOT_FOUND", "SESSION_UNKNOWN", { session_id: "nowhere" }),
  },
  {
    title: "22: a session of another project is NOT_FOUND, as if it did not exist",
    request: () => ({ sessionId: "only-theirs", gateId: UNKNOWN_GATE, ...ALLOW }),
    told: () => refusal("NOT_FOUND", "SESSION_UNKNOWN", { session_id: "only-theirs" }),
  },
];
const COMMITTED: readonly Row[] = [
  {
    title: "27: a key reused for another gate is ALREADY_EXISTS, also for a gate that nobody knows",
    request: (scene) => ({ ...onOpen(scene), gateId: UNKNOWN_GATE, idempotencyKey: scene.key }),
    told: (scene) => refusal("ALREADY_EXISTS", "IDEMPOTENCY_KEY_REUSED", { session_id: scene.session, key: scene.key }),
  },
  {
    title: "27: a key reused for the other decision is ALREADY_EXISTS",
    request: (scene) => ({ ...onOpen(scene, REJECT), gateId: scene.answered, idempotencyKey: scene.key }),
    told: (scene) => refusal("ALREADY_EXISTS", "IDEMPOTENCY_KEY_REUSED", { key: scene.key }),
  },
  {
    title: "20: another decision on an answered gate is ALREADY_EXISTS and names the one that stands",
    request: (scene) => ({ ...onOpen(scene, REJECT), gateId: scene.answered, digest: "other" }),
    told: (scene) =>
      refusal("ALREADY_EXISTS", "GATE_ANSWERED_DIFFERENTLY", {
        gate_id: scene.answered,
        answer_id: scene.firstReply.answerId,
        option_id: "allow-once",
        verdict: "allow",
        principal: "anna",
      }),
  },
  {
    title: "20: the same decision again is OK, a duplicate with the same ids and today's disposition",
    request: (scene) => ({ ...onOpen(scene), gateId: scene.answered }),
    told: duplicate,
  },
  {
    title: "26: the same key and content again is OK, a duplicate with the same ids",
    request: (scene) => ({ ...onOpen(scene), gateId: scene.answered, idempotencyKey: scene.key }),
    told: duplicate,
  },
];
const GATES: readonly Row[] = [
  {
    title: "22: a gate that nobody knows is GATE_UNKNOWN",
    request: (scene) => ({ ...onOpen(scene), gateId: UNKNOWN_GATE, digest: "other", idempotencyKey: "fresh" }),
    told: (scene) => precondition("GATE_UNKNOWN", UNKNOWN_GATE, scene),
  },
  {
    title: "22: another session's gate is GATE_UNKNOWN",
    request: (scene) => ({ ...onOpen(scene), gateId: scene.elsewhere }),
    told: (scene) => precondition("GATE_UNKNOWN", scene.elsewhere, scene),
  },
  {
    title: "22: another project's gate, in a session of the same name, is GATE_UNKNOWN",
    request: (scene) => ({ ...onOpen(scene), gateId: scene.theirs }),
    told: (scene) => precondition("GATE_UNKNOWN", scene.theirs, scene),
  },
  {
    title: "21: the gate of a turn that was stopped is GATE_CANCELLED, whatever the digest and the option",
    request: (scene) => ({ ...onOpen(scene, { optionId: "never" }), gateId: scene.cancelled, digest: "other" }),
    told: (scene) => precondition("GATE_CANCELLED", scene.cancelled, scene, { close_reason: "cancelled" }),
  },
  {
    title: "29: a digest that differs is DIGEST_MISMATCH and names the gate's, whatever the option",
    request: (scene) => onOpen(scene, { optionId: "never", digest: "0".repeat(64) }),
    told: (scene) =>
      precondition("DIGEST_MISMATCH", scene.open, scene, { digest: expect.stringMatching(/^[0-9a-f]{64}$/) }),
  },
  {
    title: "28: an option that is not offered is INVALID_ARGUMENT and names those that are",
    request: (scene) => onOpen(scene, { optionId: "never" }),
    told: (scene) =>
      refusal("INVALID_ARGUMENT", "OPTION_NOT_OFFERED", {
        gate_id: scene.open,
        options: "allow-once,allow-always,reject-once",
      }),
  },
];

function duplicate({ firstReply }: Scene): object {
  const { answerId, commandId, turnId, execution } = firstReply;
  return {
    code: "OK",
    reply: expect.objectContaining({
      answerId,
      commandId,
      turnId,
      execution,
      duplicate: true,
      disposition: "DISPOSITION_APPLIED",
    }),
  };
}

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

    for (const { title, token, request, told } of [...CREDENTIALS, ...FIELDS, ...SESSIONS, ...COMMITTED, ...GATES]) {
      it(`${title}; nothing is touched`, async () => {
        expect(await answer(road, request(scene), token)).toMatchObject(told(scene));
        expect(await look(scene.session)).toEqual(before);
      });
    }

    it("18: after all these refusals the gate is answered, with its digest and a key of 256 characters, on the same pid", async () => {
      const { gates, pid } = await owner.session(scene.session);
      const { digest = "" } = gates.find(({ gateId }) => gateId === scene.open) ?? {};
      const idempotencyKey = "k".repeat(KEY_CHARACTERS);
      const told = await answer(road, onOpen(scene, { ...ALLOW, digest, idempotencyKey, channel: "inbox" }));
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
