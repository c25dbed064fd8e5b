// What every served call shares, in the words of the wire package: spans from telemetry, and our own failures in the log.
import { randomUUID } from "node:crypto";
import type { RefusalReason } from "@holdfast/pool";
import type { Log, Telemetry } from "@holdfast/runtime";
import type { RpcEdge } from "@holdfast/wire";

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
