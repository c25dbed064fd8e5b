// What every served call shares, made of a service's telemetry and log: spans, and our own failures told.
import { randomUUID } from "node:crypto";
import type { RefusalReason } from "@holdfast/pool";
import type { Log, Telemetry } from "@holdfast/runtime";
import type { RpcEdge } from "./handlers.ts";

export function rpcEdge(log: Log, telemetry: Pick<Telemetry, "rpcServerSpan" | "rpcClientSpan">): RpcEdge {
  return {
    tracing: {
      serve: ({ service, method }, carrier, run) =>
        telemetry.rpcServerSpan(service, method, carrier, (span) =>
          run({ settle: (code, reason) => span.end(code, (reason ?? undefined) as RefusalReason | undefined) }),
        ),
      call: ({ service, method }, carrier) =>
        telemetry.rpcClientSpan(service, method, carrier, (span) => ({
          settle: (code, reason) => span.end(code, (reason ?? undefined) as RefusalReason | undefined),
        })),
    },
    newIncident: () => randomUUID(),
    failed: ({ rpc, incident, error }) => log.error("rpc.failed", { rpc, key: incident, error }),
  };
}
