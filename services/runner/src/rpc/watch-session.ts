// WatchSession on the owner: a snapshot as the lane sees it, then the events after the cursor, then live, until the session
// leaves this runner or the watcher goes.
import { gateCalls } from "@holdfast/ledger";
import { WATCHERS_PER_SESSION } from "@holdfast/pool";
import type { RunnerServiceWatchSessionRequest, TurnEvent } from "@holdfast/proto";
import { type ReplyStream, type Route, type ServedCall, snapshotEvent } from "@holdfast/wire";
import { requestMissing, watchersFull } from "../refusals.ts";
import { takeAuthority } from "../session/authority.ts";
import type { SessionHost } from "../session/host.ts";
import { routeOf } from "./gate-keeper.ts";
import type { Service } from "./service.ts";

export async function* watchSession(
  { hosts, token }: Service,
  message: RunnerServiceWatchSessionRequest,
  call: ServedCall,
): ReplyStream<{ event: TurnEvent }> {
  const routed = routeOf(token, call, message.route);
  if ("refusal" in routed) return routed.refusal;
  if (message.request === undefined) return requestMissing(call.rpc);
  const { sessionId, afterSeq } = message.request;
  const host = hosts.enter({ project: routed.route.project, sessionId });
  host.watchers += 1;
  try {
    const began = await host.enter(() => begin(host, routed.route, Number(afterSeq), call.signal));
    if ("refusal" in began) return began.refusal;
    yield { event: began.snapshot };
    for await (const event of began.events) yield { event };
    return null;
  } finally {
    host.watchers -= 1;
    hosts.leave(host);
  }
}

async function begin(host: SessionHost, route: Route, afterSeq: number, signal: AbortSignal) {
  const authority = await takeAuthority(host, route);
  if (authority.kind === "refused") return authority;
  if (host.watchers > WATCHERS_PER_SESSION) return { refusal: watchersFull(host.key, WATCHERS_PER_SESSION) };
  await host.refresh();
  const tail = await host.world.store.log.tail(host.key);
  if (host.held === null) throw new Error(`session ${host.key.sessionId}: owned, and without a record`);
  const snapshot = snapshotEvent(host.held.record, {
    calls: await gateCalls(host.world.store.log, host.key, host.held.record),
    firstSeq: tail.first,
    lastSeq: host.feed.lastSeq,
    inProgress: host.clean(host.live?.message.peek() ?? null),
    showPid: route.admin,
    closedGates: true,
    nowMs: host.world.clock.now(),
  });
  return { snapshot, events: host.feed.follow(afterSeq, signal) };
}
