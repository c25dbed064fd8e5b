// CancelTurn on the owner: the cancel command of the record is admitted and reaches the process (A10, D7).
import type { RunnerServiceCancelTurnRequest } from "@holdfast/proto";
import type { Reply, ServedCall } from "@holdfast/wire";
import { noCommand, requestMissing } from "../refusals.ts";
import { cancelCommand } from "../session/stops.ts";
import { routeOf } from "./gate-keeper.ts";
import type { Service } from "./service.ts";

export async function cancelTurn(
  { hosts, token }: Service,
  message: RunnerServiceCancelTurnRequest,
  call: ServedCall,
): Promise<Reply<{ duplicate: boolean }>> {
  const routed = routeOf(token, call, message.route);
  if ("refusal" in routed) return routed;
  if (message.request === undefined) return { refusal: requestMissing(call.rpc) };
  const { route } = routed;
  const key = { project: route.project, sessionId: message.request.sessionId };
  const { command } = route;
  if (command === null) return { refusal: noCommand(key) };
  const stopped = await hosts.using(key, (host) => host.enter(() => cancelCommand(host, route, command.commandId)));
  return stopped.kind === "refused" ? stopped : { ok: { duplicate: stopped.duplicate } };
}
