// RunTurn: decode, begin the turn in the session's lane (asking again while it has to wait for its seat), follow it.
import type { Refusal } from "@holdfast/pool";
import type { RunnerServiceRunTurnRequest, TurnEvent } from "@holdfast/proto";
import type { ReplyStream, Route, ServedCall } from "@holdfast/wire";
import { callerGone, requestMissing, watchersFull } from "../refusals.ts";
import { beginTurn, type TurnBegun, type TurnRequest } from "../session/begin-turn.ts";
import type { SessionHost } from "../session/host.ts";
import { releaseUnused } from "../session/loss.ts";
import { followTurn } from "../stream/follow.ts";
import { routeOf } from "./gate-keeper.ts";
import type { Service } from "./service.ts";
import { turnRequest } from "./turn-request.ts";

/** RunTurn streams of one session on one runner: retries attach to a turn, and each of them reads. */
const FOLLOWERS_PER_SESSION = 32;

export async function* runTurn(
  { world, hosts, token }: Service,
  message: RunnerServiceRunTurnRequest,
  call: ServedCall,
): ReplyStream<{ event: TurnEvent }> {
  const routed = routeOf(token, call, message.route);
  if ("refusal" in routed) return routed.refusal;
  if (message.request === undefined) return requestMissing(call.rpc);
  const wanted = turnRequest(world, message.request);
  if ("refusal" in wanted) return wanted.refusal;
  const { sessionId, follow, request } = wanted.value;
  const host = hosts.enter({ project: routed.route.project, sessionId });
  host.followers += 1;
  try {
    if (host.followers > FOLLOWERS_PER_SESSION) return watchersFull(host.key, FOLLOWERS_PER_SESSION);
    const began = await beginWhenPossible(host, request, routed.route, follow === "until_parked", call.signal);
    if ("refusal" in began) {
      await host.inLane(() => releaseUnused(host));
      return began.refusal;
    }
    for await (const event of began.events) yield { event };
    return null;
  } finally {
    host.followers -= 1;
    hosts.leave(host);
  }
}

type Began = { readonly events: AsyncIterable<TurnEvent> } | { readonly refusal: Refusal };

/** The stream is opened in the very turn of the lane that began the turn: nothing of it is missed. */
async function beginWhenPossible(
  host: SessionHost,
  request: TurnRequest,
  route: Route,
  untilParked: boolean,
  signal: AbortSignal,
): Promise<Began> {
  for (;;) {
    const step = await host.enter(async (): Promise<Began | { readonly again: Promise<void> }> => {
      const { wakes } = host.waiting;
      const begun: TurnBegun = await beginTurn(host, request, route);
      if (begun.kind === "refused") return begun;
      // Room may have come while this turn of the lane was still at it.
      if (begun.kind === "wait") {
        return { again: wakes === host.waiting.wakes ? host.waiting.wait(signal) : Promise.resolve() };
      }
      const { turnId, afterSeq } = begun;
      return { events: followTurn(host, { turnId, afterSeq, untilParked, signal }) };
    });
    if (!("again" in step)) return step;
    await step.again;
    if (signal.aborted) return { refusal: callerGone(host.key) };
  }
}
