// The table of RespondApproval's statuses, as requests to one parked session and what is told.
import type { JsonObject } from "@bufbuild/protobuf";
import { expect } from "vitest";
import type { TokenOf } from "./tokens.ts";

export const TOKENS = {
  owner: { project: "ours", principal: "olga", roles: ["admin"] },
  approver: { project: "ours", principal: "anna", roles: ["approve"] },
  watcher: { project: "ours", principal: "walt", roles: ["watch"] },
  stranger: { project: "theirs", principal: "theo", roles: ["admin"] },
} satisfies Record<string, TokenOf>;
export const ALLOW = { verdict: "VERDICT_ALLOW" };
const REJECT = { verdict: "VERDICT_REJECT" };
const UNKNOWN_GATE = "gate_nobodyhaseverheardofit";
export const KEY_CHARACTERS = 256;
const NOTE_BYTES = 16 * 1024;

/** One parked session, a gate of each kind, and what its answered gate was answered with. */
export type Scene = {
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
export type Row = {
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

/** In the order in which the checks are made; each is the first that fails, though later ones would fail too. */
export const ROWS: readonly Row[] = [...CREDENTIALS, ...FIELDS, ...SESSIONS, ...COMMITTED, ...GATES];
