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
  const host = hosts.get({ project: routed.route.project, sessionId: message.request.sessionId });
  const closed = await host.inLane(() => closeInLane(host, routed.route));
  if (closed.kind === "closing") await host.emptied(call.signal);
  hosts.forgetIfEmpty(host);
  return closed.kind === "refused" ? closed : { ok: {} };
}
