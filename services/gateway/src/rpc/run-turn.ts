// RunTurn: a prompt goes to the session's owner or, when it has none, to the runner that shall claim it; what the runner says
// goes to the caller as it comes.
//
//   fields ──▶ session, settled ──▶ request_id known ──────▶ attach: the turn's events from the log, then live
//                               ├─▶ living owner ──────────▶ forward at its epoch
//                               └─▶ none ──▶ place ────────▶ forward with a claim, to one candidate after the other
//
// G1  A session that moved while it was read is read again, once, and never after the first event was forwarded.
// G2  A prompt goes to another candidate only if the one before proved that nothing ran: the runner reads the record itself
//     and claims by a compare-and-set from the epoch that was read here, so two candidates could not both win, but a lost
//     reply must not look like a refusal.
import { type Refusal, type RequestMark, refusal } from "@holdfast/pool";
import type { RunTurnRequest } from "@holdfast/proto";
import { type LimitRules, runTurnDigest, type ValidRunTurn, validateRunTurn } from "@holdfast/wire";
import { noRoom, place } from "../placement/place.ts";
import type { RunnerAt } from "../runners/runners.ts";
import { type Current, currentSession, type FoundSession } from "../sessions/current.ts";
import type { GatewayWorld } from "../world.ts";
import { attachTurn } from "./attach-turn.ts";
import { type Call, type Frames, keyOf, streamCut } from "./call.ts";
import { type Forwarding, forwardTurn } from "./forward-turn.ts";

type Asked = { readonly request: RunTurnRequest; readonly valid: ValidRunTurn };
/** `moved`: nothing ran, and the record is not what it was. */
type Outcome =
  | { readonly kind: "over"; readonly refusal: Refusal | null }
  | { readonly kind: "moved"; readonly refusal: Refusal };
type Routing = AsyncGenerator<Uint8Array, Outcome, undefined>;

/** Reads of the record for one call (G1). */
const READS = 2;

export async function* runTurn(world: GatewayWorld, request: RunTurnRequest, call: Call): Frames {
  const valid = validateRunTurn(request, {
    nowMs: world.clock.now(),
    limits: limitRules(world),
    capabilities: world.capabilities,
    catalogueSecretNames: null,
  });
  if ("refusal" in valid) return valid.refusal;
  const asked = { request, valid: valid.value };
  const key = keyOf(call, asked.valid.sessionId);
  for (let reads = 1; ; reads++) {
    const current = await currentSession(world, key);
    if (current.kind === "refused") return current.refusal;
    const outcome = yield* route(world, asked, current, call);
    if (outcome.kind === "over") return outcome.refusal;
    world.telemetry.metrics.ownerLookup("stale");
    if (reads === READS) return movedAgain(key.sessionId, outcome.refusal);
  }
}

async function* route(
  world: GatewayWorld,
  asked: Asked,
  current: Exclude<Current, { kind: "refused" }>,
  call: Call,
): Routing {
  if (current.kind === "found") {
    const { record } = current.held;
    const wrong = agentChanged(asked.valid, record.agent);
    if (wrong !== null) return { kind: "over", refusal: wrong };
    if (current.owner.kind === "alive") return yield* toOwner(world, asked, current, current.owner.owner, call);
    const mark = record.requests.find(({ requestId }) => requestId === asked.valid.requestId);
    if (mark !== undefined) return { kind: "over", refusal: yield* attach(world, asked, mark, call) };
  }
  return yield* toCandidates(world, asked, current, call);
}

/** D5: the same key with other content is refused. With a living owner, the owner looks at that. */
async function* attach(world: GatewayWorld, { request, valid }: Asked, mark: RequestMark, call: Call): Frames {
  if (mark.contentDigest !== runTurnDigest(request)) return keyReused(valid.sessionId, mark.requestId);
  return yield* attachTurn(world, valid, mark, call);
}

async function* toOwner(
  world: GatewayWorld,
  asked: Asked,
  { held }: FoundSession,
  owner: RunnerAt,
  call: Call,
): Routing {
  const forwarded = yield* forwardTurn(world, { ...asked, call, runner: owner, epoch: held.record.epoch, claim: null });
  if (forwarded.kind === "full") return { kind: "over", refusal: forwarded.refusal };
  return overOrMoved(forwarded);
}

async function* toCandidates(
  world: GatewayWorld,
  asked: Asked,
  current: Exclude<Current, { kind: "refused" }>,
  call: Call,
): Routing {
  const key = keyOf(call, asked.valid.sessionId);
  const record = current.kind === "found" ? current.held.record : null;
  const agent = asked.valid.agent ?? record?.agent ?? null;
  if (agent === null) return { kind: "over", refusal: agentMissing(key.sessionId) };
  const placed = await place(world, key, agent, call.signal);
  if ("refusal" in placed) return { kind: "over", refusal: placed.refusal };
  const claim = {
    fromRevision: current.kind === "found" ? current.held.revision : 0,
    fromEpoch: record?.epoch ?? 0,
    reason: record?.coldReason ?? "first_turn",
  };
  let last: Refusal | null = null;
  for (const runner of placed.candidates) {
    world.telemetry.metrics.ownerLookup("claimed");
    const forwarded = yield* forwardTurn(world, { ...asked, call, runner, epoch: 0, claim });
    if (forwarded.kind !== "full") return overOrMoved(forwarded);
    last = forwarded.refusal;
  }
  return { kind: "over", refusal: last ?? noRoom(key, "no runner has room") };
}

function overOrMoved(forwarded: Exclude<Forwarding, { kind: "full" }>): Outcome {
  return forwarded.kind === "moved" ? forwarded : { kind: "over", refusal: forwarded.refusal };
}

function limitRules({ settings }: GatewayWorld): LimitRules {
  const { turnLimitMs, idleTtlMs, approvalTtlMs, turnMaxMs, idleMaxMs, approvalMaxMs } = settings;
  return {
    defaults: { turnLimitMs, idleTtlMs, approvalTtlMs },
    maxima: { turnLimitMs: turnMaxMs, idleTtlMs: idleMaxMs, approvalTtlMs: approvalMaxMs },
  };
}

function keyReused(sessionId: string, key: string): Refusal {
  const what = `key "${key}" of session ${sessionId} was used with another prompt; nothing ran`;
  return refusal("IDEMPOTENCY_KEY_REUSED", what, "use a new key for a new request", { session_id: sessionId, key });
}

function agentMissing(sessionId: string): Refusal {
  return agentRefused(sessionId, "is required on a session's first turn");
}

function agentChanged({ sessionId, agent }: ValidRunTurn, has: string): Refusal | null {
  return agent === null || agent === has
    ? null
    : agentRefused(sessionId, `is not the session's agent, which is ${has}`);
}

function agentRefused(sessionId: string, description: string): Refusal {
  return {
    reason: "FIELD_INVALID",
    message: `session ${sessionId}: agent ${description}`,
    nextStep: "correct the field and send the request again; nothing was written",
    metadata: { session_id: sessionId },
    violations: [{ field: "agent", description }],
  };
}

function movedAgain(sessionId: string, { reason }: Refusal): Refusal {
  const cut = streamCut(
    sessionId,
    `its owner changed twice while it was looked for (${reason}); nothing ran`,
    "send the request again",
  );
  return cut;
}
