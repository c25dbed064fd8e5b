// Test support: a SessionService on a port of its own, whose handlers a test gives in part.
import { ServerCredentials } from "@grpc/grpc-js";
import { refusal } from "@holdfast/pool";
import { SessionService } from "@holdfast/proto";
import { onTestFinished } from "vitest";
import { createRpcClient, type RpcClient } from "./client.ts";
import type { Handlers, RpcEdge, RpcFailure } from "./handlers.ts";
import { MAX_REQUEST_BYTES } from "./limits.ts";
import { buildGrpcServer, type GrpcServer, listenGrpc, stopGrpc } from "./server.ts";
import { grpcService } from "./service.ts";
import { NO_TRACING, type RpcTracing } from "./tracing.ts";

export type SessionHandlers = Handlers<typeof SessionService>;

const notBuilt = () => refusal("RPC_NOT_BUILT", "This server has not built it.", "See GetServerInfo.");
const unary = () => Promise.resolve({ refusal: notBuilt() });
// biome-ignore lint/correctness/useYield: a stream that is refused at once.
async function* stream() {
  return notBuilt();
}

/** Every RPC refused, except those given. */
export function sessionHandlers(given: Partial<SessionHandlers>): SessionHandlers {
  return {
    runTurn: stream,
    respondApproval: unary,
    cancelTurn: unary,
    watchSession: stream,
    getSession: unary,
    listSessions: unary,
    closeSession: unary,
    deleteSession: unary,
    listApprovals: unary,
    watchApprovals: stream,
    getServerInfo: unary,
    ...given,
  };
}

export type Running = {
  readonly built: GrpcServer;
  readonly address: string;
  readonly client: RpcClient<typeof SessionService>;
  /** What the handlers threw. */
  readonly failures: RpcFailure[];
};

export function testEdge(failures: RpcFailure[], tracing: RpcTracing = NO_TRACING): RpcEdge {
  let incidents = 0;
  return {
    tracing,
    newIncident: () => `incident-${++incidents}`,
    failed: (failure) => failures.push(failure),
  };
}

/** Serving until the test is over. */
export async function serveSessions(given: Partial<SessionHandlers>, tracing?: RpcTracing): Promise<Running> {
  const failures: RpcFailure[] = [];
  const service = grpcService(SessionService, sessionHandlers(given), testEdge(failures, tracing), MAX_REQUEST_BYTES);
  const built = buildGrpcServer([service]);
  const port = await listenGrpc(built.server, "127.0.0.1", 0, ServerCredentials.createInsecure());
  built.health.setServing(true);
  const address = `127.0.0.1:${port}`;
  const client = createRpcClient(SessionService, { address });
  onTestFinished(async () => {
    client.close();
    await stopGrpc(built, AbortSignal.abort());
  });
  return { built, address, client, failures };
}
