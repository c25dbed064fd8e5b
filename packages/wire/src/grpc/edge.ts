// What every served call shares, made of a service's telemetry and log: spans, and our own failures told.
import { randomUUID } from "node:crypto";
import type { RefusalReason } from "@holdfast/pool";
import type { Log, Telemetry, RpcSpan as TelemetrySpan } from "@holdfast/runtime";
import type { RpcEdge } from "./handlers.ts";
import type { RpcSpan } from "./tracing.ts";

function settling(span: TelemetrySpan): RpcSpan {
  return {
    settle: (code, reason) => span.end(code, (reason ?? undefined) as RefusalReason | undefined),
    run: (run) => span.run(run),
  };
}

export function rpcEdge(log: Log, telemetry: Pick<Telemetry, "rpcServerSpan" | "rpcClientSpan">): RpcEdge {
  return {
    tracing: {
      serve: ({ service, method }, carrier, run) =>
        telemetry.rpcServerSpan(service, method, carrier, (span) => run(settling(span))),
      call: ({ service, method }, carrier) => telemetry.rpcClientSpan(service, method, carrier, settling),
    },
    newIncident: () => randomUUID(),
    failed: ({ rpc, incident, error }) => log.error("rpc.failed", { rpc, key: incident, error }),
  };
}
