import { Metadata } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { type RecordedTelemetry, recordTelemetry } from "./recording.ts";
import type { RpcSpan } from "./rpc.ts";
import { headersCarrier, metadataCarrier } from "./trace-context.ts";

const SERVICE = "holdfast.v1.SessionService";
const REMOTE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

function served(telemetry: RecordedTelemetry, run: (call: RpcSpan) => unknown): void {
  telemetry.rpcServerSpan(SERVICE, "RespondApproval", metadataCarrier(new Metadata()), run);
}

describe("a call", () => {
  it("is one trace through client and server, in gRPC metadata", async () => {
    const telemetry = recordTelemetry();
    const metadata = new Metadata();
    await telemetry.span("holdfast.command.deliver", { attempt: 1 }, () =>
      telemetry.rpcClientSpan(
        "holdfast.v1.RunnerService",
        "RespondApproval",
        metadataCarrier(metadata),
        async () =>
          telemetry.rpcServerSpan(
            "holdfast.v1.RunnerService",
            "RespondApproval",
            metadataCarrier(metadata),
            async () => undefined,
          ),
        { address: "10.0.0.7", port: 7421 },
      ),
    );
    const [server, client, deliver] = telemetry.spans();
    expect(server).toMatchObject({
      name: "holdfast.v1.RunnerService/RespondApproval",
      kind: "server",
      parentSpanId: client?.spanId,
      attributes: {
        "rpc.system.name": "grpc",
        "rpc.method": "holdfast.v1.RunnerService/RespondApproval",
        "rpc.status_code": "OK",
      },
    });
    expect(client).toMatchObject({
      kind: "client",
      parentSpanId: deliver?.spanId,
      attributes: { "rpc.status_code": "OK", "server.address": "10.0.0.7", "server.port": 7421 },
    });
    expect(new Set(telemetry.spans().map(({ traceId }) => traceId)).size).toBe(1);
  });

  it("begins where the caller's HTTP headers say", () => {
    const telemetry = recordTelemetry();
    telemetry.rpcServerSpan(SERVICE, "RunTurn", headersCarrier(new Headers({ traceparent: REMOTE })), (call) =>
      call.end(0),
    );
    expect(telemetry.spans()[0]).toMatchObject({ traceId: REMOTE.split("-")[1], parentSpanId: REMOTE.split("-")[2] });
  });

  it("without a caller's trace begins one, whatever is going on around it", () => {
    const telemetry = recordTelemetry();
    telemetry.span("holdfast.session.park", {}, () => served(telemetry, (call) => call.end(0)));
    expect(telemetry.spans()[0]).toMatchObject({ kind: "server", parentSpanId: null });
  });

  it("that streams lasts until its status is sent, and its messages make no spans", () => {
    const telemetry = recordTelemetry();
    let stream: RpcSpan | undefined;
    served(telemetry, (call) => {
      stream = call;
    });
    expect(telemetry.spans()).toEqual([]);
    stream?.run(() => expect(telemetry.traceparent()).toBe(stream?.traceparent));
    stream?.end(1);
    stream?.end(13);
    expect(telemetry.spans()).toHaveLength(1);
    expect(telemetry.spans()[0]).toMatchObject({ failed: false, attributes: { "rpc.status_code": "CANCELLED" } });
  });
});

describe("a server's span", () => {
  it.each([
    [9, "GATE_UNKNOWN", "FAILED_PRECONDITION"],
    [6, "GATE_ANSWERED_DIFFERENTLY", "ALREADY_EXISTS"],
    [8, "POOL_FULL", "RESOURCE_EXHAUSTED"],
    [14, "DRAINING", "UNAVAILABLE"],
    [12, "RPC_NOT_BUILT", "UNIMPLEMENTED"],
    [16, "CREDENTIAL_INVALID", "UNAUTHENTICATED"],
  ] as const)("of a refusal (%i %s) is no error, and carries the reason", (code, reason, status) => {
    const telemetry = recordTelemetry();
    served(telemetry, (call) => call.end(code, reason));
    expect(telemetry.spans()[0]).toMatchObject({
      failed: false,
      attributes: { "rpc.status_code": status, "holdfast.reason": reason },
    });
    expect(telemetry.spans()[0]?.attributes).not.toHaveProperty("error.type");
  });

  it("of a store that is away is an error with that reason", () => {
    const telemetry = recordTelemetry();
    served(telemetry, (call) => call.end(14, "STORE_UNAVAILABLE"));
    expect(telemetry.spans()[0]).toMatchObject({ failed: true, attributes: { "error.type": "STORE_UNAVAILABLE" } });
  });

  it("of a bug is an error, by the code the exception carries or UNKNOWN", async () => {
    const telemetry = recordTelemetry();
    const failing = (error: unknown): Promise<unknown> =>
      telemetry.rpcServerSpan(SERVICE, "RunTurn", metadataCarrier(new Metadata()), () => Promise.reject(error));
    await expect(failing(Object.assign(new Error("a"), { code: 13 }))).rejects.toThrow("a");
    await expect(failing(new Error("b"))).rejects.toThrow("b");
    expect(() =>
      served(telemetry, () => {
        throw Object.assign(new Error("c"), { code: 5 });
      }),
    ).toThrow("c");
    expect(telemetry.spans().map(({ failed, attributes }) => [failed, attributes["rpc.status_code"]])).toEqual([
      [true, "INTERNAL"],
      [true, "UNKNOWN"],
      [false, "NOT_FOUND"],
    ]);
  });
});

it("a client's span is an error with every status but OK", () => {
  const telemetry = recordTelemetry();
  telemetry.rpcClientSpan(SERVICE, "RunTurn", headersCarrier(new Headers()), (call) => call.end(9, "GATES_PENDING"));
  expect(telemetry.spans()[0]).toMatchObject({
    failed: true,
    attributes: { "rpc.status_code": "FAILED_PRECONDITION" },
  });
});
