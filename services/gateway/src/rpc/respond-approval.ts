// RespondApproval: one decision on one gate.
//
//   fields ──▶ session ──▶ decide and swap (key, gate, state, digest, option): durable here ──▶ deliver to the owner ──▶ reply
//
// The reply follows the commit, never the delivery: it waits for the owner's admission only so long, to tell more of what has
// become of the answer. A refusal has written nothing.
import { type Changed, changeRecord, tellOwnerless } from "@holdfast/ledger";
import { type AnswerReceipt, canonicalJson, type GiveAnswer, type Refusal, slotKey } from "@holdfast/pool";
import { Disposition, type RespondApprovalRequest, type RespondApprovalResponse } from "@holdfast/proto";
import { type AnswerOutcome, sha256, within } from "@holdfast/runtime";
import {
  type Reply,
  respondApprovalResponse,
  type ValidRespondApproval,
  validateRespondApproval,
} from "@holdfast/wire";
import { isAdmin } from "../credentials/caller.ts";
import { ADMISSION_WAIT_MS, type Delivered } from "../deliver/deliveries.ts";
import { existingSession } from "../sessions/current.ts";
import type { GatewayWorld } from "../world.ts";
import { type Call, keyOf } from "./call.ts";

type Committed = Exclude<Changed<AnswerReceipt>, { kind: "refused" }>;

export async function respondApproval(
  world: GatewayWorld,
  request: RespondApprovalRequest,
  call: Call,
): Promise<Reply<RespondApprovalResponse>> {
  const committed = await world.telemetry.span(
    "holdfast.approval.answer",
    { project: call.caller.project, session: request.sessionId, gate: request.gateId },
    async (span) => {
      const answered = await commit(world, request, call);
      const outcome = outcomeOf(answered);
      const known = "refusal" in answered ? { reason: answered.refusal.reason } : { answer: answered.result.answerId };
      span.set({ outcome, ...known });
      tell(world, request, call, outcome, answered);
      return answered;
    },
  );
  if ("refusal" in committed) return { refusal: committed.refusal };
  const delivered = await deliver(world, request, committed, call);
  return { ok: replyOf(committed.result, delivered) };
}

async function commit(
  world: GatewayWorld,
  request: RespondApprovalRequest,
  call: Call,
): Promise<Committed | { readonly refusal: Refusal }> {
  const valid = validateRespondApproval(request, { nowMs: world.clock.now(), capabilities: world.capabilities });
  if ("refusal" in valid) return valid;
  const key = keyOf(call, valid.value.sessionId);
  const current = await existingSession(world, key);
  if (current.kind === "refused") return current;
  const { held } = current;
  const answer = giveAnswer(world, valid.value, call);
  return world.changes.runAlways(slotKey(key), () =>
    changeRecord(world.ledger, key, answer, { kind: "gateway" }, { held }),
  );
}

function giveAnswer(world: GatewayWorld, valid: ValidRespondApproval, call: Call): GiveAnswer {
  const { gateId, choice, digest, note, idempotencyKey, channel } = valid;
  return {
    type: "answer",
    gateId,
    choice,
    digest,
    note,
    idempotencyKey,
    // What was decided, on what. Where it came from is no part of it, and a secret never is.
    contentDigest: sha256(canonicalJson({ gateId, choice, digest, note })),
    principal: call.caller.principal,
    channel,
    answerId: world.newId("answer"),
    commandId: world.newId("command"),
    traceparent: world.telemetry.traceparent(),
  };
}

/** With no living owner the answer stays queued; what happened is told in its place. */
async function deliver(
  world: GatewayWorld,
  request: RespondApprovalRequest,
  committed: Committed,
  call: Call,
): Promise<Delivered | null> {
  const { held, kind, result } = committed;
  const key = keyOf(call, request.sessionId);
  if (held.record.owner === null) {
    await tellOwnerless(world.ledger, key, held);
    return null;
  }
  if (result.disposition.kind !== "queued") return null;
  const { principal } = call.caller;
  const admin = isAdmin(call.caller);
  const command = { kind: "answer" as const, key, commandId: result.commandId, principal, admin, request };
  // The swap that committed a new answer counted its first attempt; a duplicate found it queued, and tries again.
  const delivery = world.deliveries.deliver(world, command, kind === "written" && !result.duplicate);
  return within(world.clock, ADMISSION_WAIT_MS, delivery);
}

/** Ids and `duplicate` are those of the commit; what has become of it, the owner knows best. */
function replyOf(receipt: AnswerReceipt, delivered: Delivered | null): RespondApprovalResponse {
  const reply = respondApprovalResponse(receipt);
  const answer = delivered !== null && "answer" in delivered ? delivered.answer : null;
  if (answer === null || answer.disposition === Disposition.UNSPECIFIED) return reply;
  return { ...reply, disposition: answer.disposition, mootReason: answer.mootReason, recoverable: answer.recoverable };
}

function outcomeOf(answered: Committed | { readonly refusal: Refusal }): AnswerOutcome {
  if (!("refusal" in answered)) return answered.result.duplicate ? "duplicate" : "accepted";
  const { reason } = answered.refusal;
  return reason === "GATE_ANSWERED_DIFFERENTLY" || reason === "IDEMPOTENCY_KEY_REUSED" ? "conflict" : "refused";
}

function tell(
  world: GatewayWorld,
  { sessionId, gateId, channel }: RespondApprovalRequest,
  { caller }: Call,
  outcome: AnswerOutcome,
  answered: Committed | { readonly refusal: Refusal },
): void {
  const where = { project: caller.project, session: sessionId, gate: gateId, principal: caller.principal, channel };
  if ("refusal" in answered) {
    const { reason } = answered.refusal;
    world.telemetry.metrics.answer(outcome, reason);
    // A field that is refused may hold anything: it is not told.
    const said = reason === "FIELD_INVALID" ? { project: caller.project, principal: caller.principal } : where;
    world.log.info(outcome === "conflict" ? "answer.conflict" : "answer.refused", { ...said, reason });
    return;
  }
  world.telemetry.metrics.answer(outcome);
  const { answerId, commandId, turnId, execution, disposition } = answered.result;
  world.log.info(outcome === "duplicate" ? "answer.duplicate" : "answer.accepted", {
    ...where,
    answer: answerId,
    command: commandId,
    turn: turnId,
    execution,
    disposition: disposition.kind,
  });
}
