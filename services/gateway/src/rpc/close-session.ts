// CloseSession: the session's process ends now, with its whole tree. A running turn is stopped first; a parked one stays
// parked and its gates answerable. Without a process there is nothing to do, so it can be sent again at any time.
import { create } from "@bufbuild/protobuf";
import { canonicalJson, type Refusal, type SessionKey, type SessionRecord } from "@holdfast/pool";
import { type CloseSessionRequest, type CloseSessionResponse, CloseSessionResponseSchema } from "@holdfast/proto";
import { sha256 } from "@holdfast/runtime";
import { type Reply, validateCloseSession } from "@holdfast/wire";
import { replyOf } from "../runners/channel.ts";
import { hasMoved, onBehalfOf, routeTo } from "../runners/route.ts";
import { existingSession, type FoundSession } from "../sessions/current.ts";
import { stopTurn } from "../sessions/stop.ts";
import { turnEnded } from "../sessions/turn-ended.ts";
import type { GatewayWorld } from "../world.ts";
import { type Call, keyOf, streamCut } from "./call.ts";

/** How long a turn that was stopped may take to end before its process is ended under it: 10 s to settle, and a margin. */
const STOP_WAIT_MS = 12_000;
/** How long the owner may take to end a process tree: the stop's bound, and 2 s for each signal. */
const CLOSE_MS = 20_000;
const READS = 2;

export async function closeSession(
  world: GatewayWorld,
  request: CloseSessionRequest,
  call: Call,
): Promise<Reply<CloseSessionResponse>> {
  const valid = validateCloseSession(request);
  if ("refusal" in valid) return valid;
  const key = keyOf(call, valid.value.sessionId);
  const done = { ok: create(CloseSessionResponseSchema) };
  const first = await existingSession(world, key);
  if (first.kind === "refused") return first;
  const stopped = await stopWork(world, key, first, valid.value.idempotencyKey, call);
  if (stopped.kind === "refused") return stopped;
  if (stopped.kind === "done_before") return done;
  for (let reads = 1; ; reads++) {
    const current = await existingSession(world, key);
    if (current.kind === "refused") return current;
    if (current.owner.kind === "none") return done;
    const refusal = await endProcess(world, request, current, call);
    if (refusal === null) {
      world.log.info("session.closed", {
        project: key.project,
        session: key.sessionId,
        principal: call.caller.principal,
      });
      return done;
    }
    if (!hasMoved(refusal) || reads === READS) return { refusal };
  }
}

type Work =
  | { readonly kind: "stopped" }
  | { readonly kind: "done_before" }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** A turn that waits for a human is left alone. `done_before`: this key has closed the session, and another turn runs now. */
async function stopWork(
  world: GatewayWorld,
  key: SessionKey,
  { held }: FoundSession,
  idempotencyKey: string | null,
  call: Call,
): Promise<Work> {
  const { record } = held;
  if (!isWorking(record) && !isKnown(record, idempotencyKey)) return { kind: "stopped" };
  const wish = {
    expectedTurn: null,
    expectedExecution: null,
    idempotencyKey: scoped(idempotencyKey),
    contentDigest: sha256(canonicalJson({ close: true })),
    channel: "",
    why: "close" as const,
  };
  const stopped = await stopTurn(world, key, held, wish, call);
  if (stopped.kind === "refused") {
    // It ended by itself in the meantime.
    return stopped.refusal.reason === "EXECUTION_ENDED" ? { kind: "stopped" } : stopped;
  }
  const { turnId } = stopped.receipt;
  if (stopped.receipt.duplicate && stopped.held.record.turn?.turnId !== turnId) return { kind: "done_before" };
  await turnEnded(world, key, turnId, STOP_WAIT_MS, call.signal);
  return { kind: "stopped" };
}

function isWorking({ turn, execution }: SessionRecord): boolean {
  return turn !== null && turn.ending === null && execution?.state !== "parked";
}

/** A key belongs to one rpc; the record keeps those of all Stops together. Keys are printable, so no other one looks so. */
function scoped(idempotencyKey: string | null): string | null {
  return idempotencyKey === null ? null : `close\n${idempotencyKey}`;
}

function isKnown({ stops }: SessionRecord, idempotencyKey: string | null): boolean {
  return idempotencyKey !== null && stops.some((mark) => mark.idempotencyKey === scoped(idempotencyKey));
}

async function endProcess(
  world: GatewayWorld,
  request: CloseSessionRequest,
  { held, owner }: FoundSession,
  call: Call,
): Promise<Refusal | null> {
  if (owner.kind === "none") return null;
  const { sessionId } = request;
  const reached = await world.runners.reach(owner.owner, call.signal);
  if (reached.kind === "refused") return reached.refusal;
  if (reached.kind === "unreachable") return unknown(sessionId, reached.why);
  const route = routeTo(onBehalfOf(call.caller), owner.owner, held.record.epoch);
  const options = { deadlineMs: world.clock.now() + CLOSE_MS, signal: call.signal };
  const closed = await replyOf(reached.channel.rpc.closeSession({ route, request }, options));
  if (closed.kind === "reply") return null;
  return closed.kind === "refused" ? closed.refusal : unknown(sessionId, closed.why);
}

function unknown(sessionId: string, why: string): Refusal {
  return streamCut(sessionId, `its owner did not say that the process is gone (${why})`, "close it again");
}
