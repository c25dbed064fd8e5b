// One cleartext port for everything: gRPC with health and reflection over HTTP/2, gRPC-Web and Connect over HTTP/1.1.
//
//   connection ──▶ first bytes ──▶ HTTP/2 preface ──▶ grpc-js ─┐
//                             └──▶ anything else ──▶ node:http ──▶ Connect ──▶ the same handlers
//
// T1  An rpc is written once and served on both stacks, with the same statuses and details.
// T2  The port is taken before anything else is opened or changed; a connection that comes before it serves waits.
// T3  Stopping is bounded: nothing new is taken, calls under way may finish until the bound, then they are cut.
import type { Server as HttpServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { ServerCredentials } from "@grpc/grpc-js";
import { SessionService } from "@holdfast/proto";
import type { Clock } from "@holdfast/runtime";
import {
  buildGrpcServer,
  connectService,
  type GrpcServer,
  grpcService,
  type Handlers,
  MAX_REQUEST_BYTES,
  type RpcEdge,
  stopGrpc,
} from "@holdfast/wire";
import { onProtocol } from "./first-bytes.ts";
import { type HttpTimes, httpServer, serveConnect } from "./http.ts";

/** Connections at once; more are closed as they come. */
const CONNECTIONS = 4_096;
/** Calls at once on one HTTP/2 connection. */
const STREAMS_PER_CONNECTION = 1_024;

export type PortOptions = {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly clock: Pick<Clock, "now" | "timer">;
  readonly times?: HttpTimes;
};

export type BoundPort = {
  /** The port in use. */
  readonly port: number;
  /** Once. Health says "serving" from then on, on gRPC and at /healthz. */
  serve(handlers: Handlers<typeof SessionService>, edge: RpcEdge): void;
  /** T3. Resolves when every connection is gone. Idempotent. */
  close(graceMs: number): Promise<void>;
};

/** Throws when the address cannot be had, and says why. */
export async function bindPort({ host, port, clock, times }: PortOptions): Promise<BoundPort> {
  const http = httpServer(times);
  http.maxConnections = CONNECTIONS;
  const serveHttp1 = http.listeners("connection");
  http.removeAllListeners("connection");
  /** Connections that nobody serves yet: they came before there was anything to serve, or have not said what they speak. */
  const unserved = new Set<Socket>();
  let serveHttp2: (socket: Socket) => void = (socket) => socket.destroy();
  let grpc: GrpcServer | null = null;
  let isServing = false;
  const sort = (socket: Socket): void =>
    onProtocol(socket, clock, (protocol) => {
      unserved.delete(socket);
      if (protocol === "http2") serveHttp2(socket);
      else for (const serve of serveHttp1) serve.call(http, socket);
    });
  http.on("connection", (socket: Socket) => {
    // Small messages of a stream go out as they come.
    socket.setNoDelay(true);
    // Until somebody serves it, an error of the connection is nobody's.
    socket.on("error", () => socket.destroy());
    unserved.add(socket);
    socket.once("close", () => unserved.delete(socket));
    if (isServing) sort(socket);
  });
  await listen(http, host, port);
  return {
    port: (http.address() as AddressInfo).port,
    serve(handlers, edge) {
      grpc = buildGrpcServer([grpcService(SessionService, handlers, edge, MAX_REQUEST_BYTES)], {
        "grpc.max_concurrent_streams": STREAMS_PER_CONNECTION,
      });
      const injector = grpc.server.createConnectionInjector(ServerCredentials.createInsecure());
      serveHttp2 = (socket) => injector.injectConnection(socket);
      const rpcs = connectService(SessionService, handlers, edge, clock.now);
      serveConnect(
        http,
        (router) => void router.service(SessionService, rpcs),
        () => isServing,
      );
      isServing = true;
      grpc.health.setServing(true);
      for (const socket of unserved) sort(socket);
    },
    async close(graceMs) {
      isServing = false;
      for (const socket of unserved) socket.destroy();
      const bound = new AbortController();
      const timer = clock.timer(graceMs, () => bound.abort());
      const stopped = grpc === null ? null : stopGrpc(grpc, bound.signal);
      await Promise.all([stopped, stopHttp(http, bound.signal)]);
      timer.cancel();
    },
  };
}

function listen(http: HttpServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => reject(cannotListen(host, port, error));
    http.once("error", failed);
    http.listen({ host, port, exclusive: true }, () => {
      http.off("error", failed);
      resolve();
    });
  });
}

function cannotListen(host: string, port: number, cause: NodeJS.ErrnoException): Error {
  const why = cause.code === "EADDRINUSE" ? "another process listens there" : `${cause.code ?? cause.message}`;
  return new Error(
    `cannot listen on ${host} port ${port}: ${why}; nothing was changed. Set HOLDFAST_PORT to a free one`,
    {
      cause,
    },
  );
}

function stopHttp(http: HttpServer, bound: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cut = (): void => http.closeAllConnections();
    http.close(() => {
      bound.removeEventListener("abort", cut);
      resolve();
    });
    http.closeIdleConnections();
    if (bound.aborted) cut();
    else bound.addEventListener("abort", cut, { once: true });
  });
}
