// What every served call shares, made of a service's telemetry and log: spans, and our own failures told.
import { randomUUID } from "node:crypto";
import type { RefusalReason } from "@holdfast/pool";
import type { Log, Peer, Telemetry, RpcSpan as TelemetrySpan } from "@holdfast/runtime";
import type { RpcEdge } from "./handlers.ts";
import type { RpcSpan, RpcTracing } from "./tracing.ts";

type RpcTelemetry = Pick<Telemetry, "rpcServerSpan" | "rpcClientSpan">;

function settling(span: TelemetrySpan): RpcSpan {
  return {
    settle: (code, reason) => span.end(code, (reason ?? undefined) as RefusalReason | undefined),
    run: (run) => span.run(run),
  };
}

export function rpcEdge(log: Log, telemetry: RpcTelemetry): RpcEdge {
  return {
    tracing: rpcTracing(telemetry),
    newIncident: () => randomUUID(),
    failed: ({ rpc, incident, error }) => log.error("rpc.failed", { rpc, key: incident, error }),
  };
}

/** For a client that serves nobody. */
export function rpcTracing(telemetry: RpcTelemetry): RpcTracing {
  return {
    serve: ({ service, method }, carrier, run) =>
      telemetry.rpcServerSpan(service, method, carrier, (span) => run(settling(span))),
    call: ({ service, method, address }, carrier) =>
      telemetry.rpcClientSpan(service, method, carrier, settling, peerOf(address)),
  };
}

function peerOf(address: string): Peer {
  const colon = address.lastIndexOf(":");
  return { address: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}
