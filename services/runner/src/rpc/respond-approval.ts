// RespondApproval on the owner: always a command of the record (D9). The reply follows the admission.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RunnerServiceRespondApprovalRequest, RunnerServiceRespondApprovalResponseSchema } from "@holdfast/proto";
import { dispositionFields, type Reply, type ServedCall } from "@holdfast/wire";
import { noCommand, requestMissing } from "../refusals.ts";
import { continueCommand } from "../session/answers.ts";
import { routeOf } from "./gate-keeper.ts";
import type { Service } from "./service.ts";

type Response = MessageInitShape<typeof RunnerServiceRespondApprovalResponseSchema>;

export async function respondApproval(
  { hosts, token }: Service,
  message: RunnerServiceRespondApprovalRequest,
  call: ServedCall,
): Promise<Reply<Response>> {
  const routed = routeOf(token, call, message.route);
  if ("refusal" in routed) return routed;
  if (message.request === undefined) return { refusal: requestMissing(call.rpc) };
  const { route } = routed;
  const key = { project: route.project, sessionId: message.request.sessionId };
  const { command } = route;
  if (command === null) return { refusal: noCommand(key) };
  const continued = await hosts.using(key, (host) => host.enter(() => continueCommand(host, route, command)));
  if (continued.kind === "refused") return continued;
  const { duplicate, disposition } = continued;
  return {
    ok: { duplicate, response: { commandId: command.commandId, duplicate, ...dispositionFields(disposition) } },
  };
}
