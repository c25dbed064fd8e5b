// RunnerService: one file per RPC, put together.

import type { DrainRequest, RunnerService } from "@holdfast/proto";
import type { Handlers, ServedCall } from "@holdfast/wire";
import { notBuilt } from "../refusals.ts";
import type { SessionHosts } from "../session/hosts.ts";
import type { RunnerWorld } from "../world.ts";
import { cancelTurn } from "./cancel-turn.ts";
import { closeSession } from "./close-session.ts";
import { describePool } from "./describe-pool.ts";
import { admitGateway, type GatewayToken } from "./gate-keeper.ts";
import { respondApproval } from "./respond-approval.ts";
import { runTurn } from "./run-turn.ts";
import { watchSession } from "./watch-session.ts";

export type Service = { readonly world: RunnerWorld; readonly hosts: SessionHosts; readonly token: GatewayToken };

export function runnerHandlers(service: Service): Handlers<typeof RunnerService> {
  return {
    runTurn: (request, call) => runTurn(service, request, call),
    respondApproval: (request, call) => respondApproval(service, request, call),
    cancelTurn: (request, call) => cancelTurn(service, request, call),
    watchSession: (request, call) => watchSession(service, request, call),
    closeSession: (request, call) => closeSession(service, request, call),
    describePool: (request, call) => describePool(service, request, call),
    drain: (_request: DrainRequest, call: ServedCall) =>
      Promise.resolve({ refusal: admitGateway(service.token, call) ?? notBuilt(call.rpc) }),
  };
}
