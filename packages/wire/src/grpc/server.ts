// A grpc-js server: built with its services, health and reflection; listening; stopped within a bound.
import { Server, type ServerCredentials, type ServerOptions } from "@grpc/grpc-js";
import { addHealth, type Health } from "./health.ts";
import { KEEPALIVE_MS, KEEPALIVE_TIMEOUT_MS, MAX_RECEIVED_BYTES } from "./limits.ts";
import { addReflection } from "./reflection.ts";
import type { GrpcService } from "./service.ts";

export type GrpcServer = { readonly server: Server; readonly health: Health };

/** Not listening yet: a port of its own (listenGrpc), or connections that somebody else accepts (createConnectionInjector). */
export function buildGrpcServer(services: readonly GrpcService[], options: ServerOptions = {}): GrpcServer {
  const server = new Server({
    "grpc.max_receive_message_length": MAX_RECEIVED_BYTES,
    // Responses are bounded where they are made.
    "grpc.max_send_message_length": -1,
    "grpc.keepalive_time_ms": KEEPALIVE_MS,
    "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
    ...options,
  });
  for (const { definition, implementation } of services) server.addService(definition, implementation);
  const descs = services.map(({ desc }) => desc);
  addReflection(server, descs);
  return { server, health: addHealth(server, descs) };
}

/** Resolves to the port, also when 0 was asked for. Rejects when the address cannot be had. */
export function listenGrpc(
  server: Server,
  host: string,
  port: number,
  credentials: ServerCredentials,
): Promise<number> {
  const address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(new Error(`cannot listen on ${address}: ${error.message}`, { cause: error }));
    });
  });
}

/** Takes nothing new, lets calls finish until the signal aborts, then cuts them. Resolves when every connection is gone. */
export function stopGrpc({ server, health }: GrpcServer, bound: AbortSignal): Promise<void> {
  health.setServing(false);
  return new Promise((resolve, reject) => {
    const cut = () => server.forceShutdown();
    server.tryShutdown((error) => {
      bound.removeEventListener("abort", cut);
      if (error === undefined) resolve();
      else reject(error);
    });
    if (bound.aborted) cut();
    else bound.addEventListener("abort", cut, { once: true });
  });
}
