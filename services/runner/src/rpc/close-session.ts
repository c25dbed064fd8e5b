// CloseSession on the owner: replies when nothing of the process is left.
import type { RunnerServiceCloseSessionRequest } from "@holdfast/proto";
import type { Reply, ServedCall } from "@holdfast/wire";
import { requestMissing } from "../refusals.ts";
import { closeSession as closeInLane } from "../session/close.ts";
import { routeOf } from "./gate-keeper.ts";
import type { Service } from "./service.ts";

export async function closeSession(
  { hosts, token }: Service,
  message: RunnerServiceCloseSessionRequest,
  call: ServedCall,
): Promise<Reply<Record<string, never>>> {
  const routed = routeOf(token, call, message.route);
  if ("refusal" in routed) return routed;
  if (message.request === undefined) return { refusal: requestMissing(call.rpc) };
  const { route } = routed;
  const key = { project: route.project, sessionId: message.request.sessionId };
  const closed = await hosts.using(key, async (host) => {
    const done = await host.enter(() => closeInLane(host, route));
    if (done.kind === "closing" && host.hasSlot) await host.emptying.wait(call.signal);
    return done;
  });
  return closed.kind === "refused" ? closed : { ok: {} };
}
