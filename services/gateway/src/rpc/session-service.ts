// Every rpc of SessionService with the role it needs: who may not call it learns that, and nothing else.
import type { Refusal } from "@holdfast/pool";
import { refusal } from "@holdfast/pool";
import type { SessionService } from "@holdfast/proto";
import type { Handlers, Reply, ServedCall } from "@holdfast/wire";
import { hasRole, type Role } from "../credentials/caller.ts";
import type { Credentials } from "../credentials/credentials.ts";
import type { GatewayWorld } from "../world.ts";
import { type Call, type Frames, type Streaming, streamCut, type Unary } from "./call.ts";
import { cancelTurn } from "./cancel-turn.ts";
import { closeSession } from "./close-session.ts";
import { getServerInfo } from "./get-server-info.ts";
import { getSession } from "./get-session.ts";
import { listApprovals } from "./list-approvals.ts";
import { listSessions } from "./list-sessions.ts";
import { deleteSession, watchApprovals } from "./not-built.ts";
import { respondApproval } from "./respond-approval.ts";
import { runTurn } from "./run-turn.ts";
import { watchSession } from "./watch-session.ts";

/** `stopping` aborts when the gateway stops: streams end then, and unary calls finish. */
export function sessionService(
  world: GatewayWorld,
  credentials: Credentials,
  stopping: AbortSignal,
): Handlers<typeof SessionService> {
  const unary =
    <Request, Message>(role: Role, run: Unary<Request, Message>) =>
    async (request: Request, served: ServedCall): Promise<Reply<Message>> => {
      const admitted = admit(credentials, role, served, served.signal);
      return "refusal" in admitted ? admitted : run(world, request, admitted);
    };
  const stream =
    <Request extends object>(role: Role, run: Streaming<Request>) =>
    (request: Request, served: ServedCall): Frames =>
      stoppable(request, served, stopping, (signal) => {
        const admitted = admit(credentials, role, served, signal);
        return "refusal" in admitted ? admitted.refusal : run(world, request, admitted);
      });
  return {
    runTurn: stream("run", runTurn),
    respondApproval: unary("approve", respondApproval),
    cancelTurn: unary("run", cancelTurn),
    watchSession: stream("watch", watchSession),
    getSession: unary("watch", getSession),
    listSessions: unary("watch", listSessions),
    closeSession: unary("run", closeSession),
    deleteSession: unary("admin", deleteSession),
    listApprovals: unary("watch", listApprovals),
    watchApprovals: stream("watch", watchApprovals),
    getServerInfo: unary("watch", getServerInfo),
  };
}

function admit(
  credentials: Credentials,
  role: Role,
  served: ServedCall,
  signal: AbortSignal,
): Call | { readonly refusal: Refusal } {
  const caller = credentials.authenticate(served.header("authorization") ?? undefined);
  if ("reason" in caller) return { refusal: caller };
  if (hasRole(caller, role)) return { caller, signal, deadlineMs: served.deadlineMs };
  const what = `${served.rpc} needs the role ${role}`;
  return {
    refusal: refusal("ROLE_MISSING", `${what}; nothing was read or written`, "use a credential with that role", {
      role,
    }),
  };
}

async function* stoppable(
  request: object,
  served: ServedCall,
  stopping: AbortSignal,
  begin: (signal: AbortSignal) => Frames | Refusal,
): Frames {
  const frames = begin(AbortSignal.any([served.signal, stopping]));
  if ("reason" in frames) return frames;
  const refused = yield* frames;
  if (refused !== null || !stopping.aborted || served.signal.aborted) return refused;
  const sessionId = "sessionId" in request ? String(request.sessionId) : "";
  return streamCut(sessionId, "this gateway stops", "call again: another gateway goes on from the last number seen");
}
