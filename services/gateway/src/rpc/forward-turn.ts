// One RunTurn, forwarded to one runner: its messages go to the caller as the bytes they came as, at the pace the caller reads.
import type { Refusal } from "@holdfast/pool";
import type { RunTurnRequest } from "@holdfast/proto";
import type { ClaimProposal, ValidRunTurn } from "@holdfast/wire";
import { type EventCase, frameHead } from "../frames/head.ts";
import { framesOf, type StreamEnd } from "../runners/channel.ts";
import { hasMoved, onBehalfOf, routeTo } from "../runners/route.ts";
import type { RunnerAt } from "../runners/runners.ts";
import type { GatewayWorld } from "../world.ts";
import { type Call, type Frame, streamCut } from "./call.ts";

export type TurnToForward = {
  readonly request: RunTurnRequest;
  readonly valid: ValidRunTurn;
  readonly call: Call;
  readonly runner: RunnerAt;
  /** 0 with a claim. */
  readonly epoch: number;
  readonly claim: ClaimProposal | null;
};

export type Forwarding =
  /** The stream is over; null: well. */
  | { readonly kind: "over"; readonly refusal: Refusal | null }
  /** Nothing ran: this runner does not own the session, or the claim came too late. */
  | { readonly kind: "moved"; readonly refusal: Refusal }
  /** Nothing ran: this runner has no room, takes nothing new, or is not there. */
  | { readonly kind: "full"; readonly refusal: Refusal };

export async function* forwardTurn(
  world: GatewayWorld,
  turn: TurnToForward,
): AsyncGenerator<Frame, Forwarding, undefined> {
  const { call, valid, runner } = turn;
  const { sessionId } = valid;
  const reached = await world.runners.reach(runner, call.signal);
  if (reached.kind === "refused") return { kind: "moved", refusal: reached.refusal };
  if (reached.kind === "unreachable") {
    const why = `runner ${runner.runner} cannot be reached (${reached.why}); nothing ran`;
    return { kind: "full", refusal: streamCut(sessionId, why, "send the request again") };
  }
  const route = routeTo(onBehalfOf(call.caller), runner, turn.epoch, { claim: turn.claim });
  const { signal, deadlineMs } = call;
  const frames = framesOf(reached.channel.bytes.runTurn({ route, request: turn.request }, { signal, deadlineMs }));
  let last: EventCase | null = null;
  let count = 0;
  let lastSeq = 0;
  try {
    for (;;) {
      const next = await frames.next();
      if (next.done === true) {
        const isWhole = last === "ended" || (last === "parked" && valid.follow === "until_parked");
        return count === 0 ? unbegun(turn, next.value) : begun(turn, next.value, isWhole, lastSeq);
      }
      const head = frameHead(next.value);
      last = head?.event ?? null;
      lastSeq = head?.seq || lastSeq;
      count += 1;
      yield next.value;
    }
  } finally {
    await frames.return({ kind: "over" });
  }
}

/** Nothing was forwarded yet. */
function unbegun({ call, valid, runner }: TurnToForward, end: StreamEnd): Forwarding {
  const { sessionId } = valid;
  if (end.kind === "refused") {
    if (hasMoved(end.refusal)) return { kind: "moved", refusal: end.refusal };
    switch (end.refusal.reason) {
      case "POOL_FULL":
      case "DRAINING":
        return { kind: "full", refusal: end.refusal };
      default:
        return { kind: "over", refusal: end.refusal };
    }
  }
  if (call.signal.aborted) return { kind: "over", refusal: null };
  const why = end.kind === "unreachable" ? end.why : "the stream ended without an event";
  const cut = `runner ${runner.runner} did not answer (${why}); it is not known whether the turn began`;
  return { kind: "over", refusal: streamCut(sessionId, cut, retryStep(valid)) };
}

/** Events were forwarded: from here on the caller watches, whatever happened. */
function begun({ call, valid, runner }: TurnToForward, end: StreamEnd, isWhole: boolean, lastSeq: number): Forwarding {
  if (end.kind === "over" && isWhole) return { kind: "over", refusal: null };
  if (call.signal.aborted) return { kind: "over", refusal: null };
  if (end.kind === "refused" && !hasMoved(end.refusal)) {
    return { kind: "over", refusal: end.refusal };
  }
  const why = end.kind === "unreachable" ? end.why : "it ended before the turn did";
  const cut = streamCut(valid.sessionId, `the stream from runner ${runner.runner} broke (${why})`);
  return { kind: "over", refusal: { ...cut, metadata: { ...cut.metadata, last_seq: `${lastSeq}` } } };
}

function retryStep({ requestId }: ValidRunTurn): string {
  return requestId === null
    ? "read the session; send a request_id with the next prompt, then a retry attaches instead of prompting twice"
    : "send the same request again: it attaches to its turn if that began";
}
