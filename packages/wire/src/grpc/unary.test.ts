import { status } from "@grpc/grpc-js";
import { refusal } from "@holdfast/pool";
import { ErrorInfoSchema, SessionService, SessionState } from "@holdfast/proto";
import { describe, expect, test } from "vitest";
import { statusConnectError } from "../refusals/connect-error.ts";
import { fromServiceError, isServiceError, serviceErrorStatus } from "../refusals/service-error.ts";
import { createRpcClient } from "./client.ts";
import { type SessionHandlers, serveSessions } from "./grpc.fixture.ts";
import { MAX_RECEIVED_BYTES, MAX_REQUEST_BYTES } from "./limits.ts";
import { bearerMetadata, bearerToken } from "./metadata.ts";
import type { RpcSpan, RpcTracing } from "./tracing.ts";

const thrown = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error("the call succeeded");
};
const errorInfo = (error: unknown) => {
  const found = isServiceError(error) ? serviceErrorStatus(error) : null;
  return found === null ? null : statusConnectError(found).findDetails(ErrorInfoSchema)[0];
};
const codeOf = (error: unknown) => (error as { code: number }).code;

describe("a unary call", () => {
  test("brings the request to its handler and the response back", async () => {
    const { client } = await serveSessions({
      getSession: async ({ sessionId }) => ({ ok: { session: { sessionId, state: SessionState.IDLE, lastSeq: 7n } } }),
    });
    const { session } = await client.rpc.getSession({ sessionId: "s-1" });
    expect(session).toMatchObject({ sessionId: "s-1", state: SessionState.IDLE, lastSeq: 7n });
  });

  test("that is refused fails with the refusal as it was made", async () => {
    const refused = refusal("GATE_UNKNOWN", "Session é has no gate 50%.", "Look again.", { gate_id: "g" });
    const { client } = await serveSessions({ respondApproval: async () => ({ refusal: refused }) });
    const error = await thrown(client.rpc.respondApproval({}));
    expect(codeOf(error)).toBe(status.FAILED_PRECONDITION);
    expect(fromServiceError(error)).toEqual(refused);
  });

  test("whose handler throws is INTERNAL with an incident; the cause goes to the log and not to the caller", async () => {
    const { client, failures } = await serveSessions({
      getSession: () => Promise.reject(new Error("hunter2 in /etc/passwd")),
    });
    const error = await thrown(client.rpc.getSession({}));
    expect(codeOf(error)).toBe(status.INTERNAL);
    expect(errorInfo(error)).toMatchObject({
      reason: "INTERNAL_BUG",
      metadata: { incident: "incident-1" },
    });
    expect(JSON.stringify([String(error), (error as { details: string }).details])).not.toContain("hunter2");
    expect(failures).toMatchObject([
      { rpc: "SessionService/GetSession", incident: "incident-1", error: { message: /hunter2/ } },
    ]);
  });

  test("whose handler cannot reach the store is UNAVAILABLE STORE_UNAVAILABLE, and no bug", async () => {
    const { client, failures } = await serveSessions({
      getSession: () => Promise.reject(Object.assign(new Error("locked"), { name: "StoreUnavailable" })),
    });
    const error = await thrown(client.rpc.getSession({}));
    expect(codeOf(error)).toBe(status.UNAVAILABLE);
    expect(fromServiceError(error)).toMatchObject({ reason: "STORE_UNAVAILABLE", retryAfterMs: 1_000 });
    expect(failures).toEqual([]);
  });

  test("above 4 MiB is MESSAGE_TOO_LARGE and reaches no handler; far above it grpc-js refuses it itself", async () => {
    let handled = 0;
    const { client } = await serveSessions({
      getSession: async () => {
        handled += 1;
        return { ok: {} };
      },
    });
    // Tag and length of the field take 5 bytes.
    await client.rpc.getSession({ sessionId: "x".repeat(MAX_REQUEST_BYTES - 5) });
    expect(handled).toBe(1);
    const error = await thrown(client.rpc.getSession({ sessionId: "x".repeat(MAX_REQUEST_BYTES - 4) }));
    expect(codeOf(error)).toBe(status.RESOURCE_EXHAUSTED);
    expect(errorInfo(error)?.reason).toBe("MESSAGE_TOO_LARGE");
    const far = await thrown(client.rpc.getSession({ sessionId: "x".repeat(MAX_RECEIVED_BYTES) }));
    expect(codeOf(far)).toBe(status.RESOURCE_EXHAUSTED);
    expect(handled).toBe(1);
  });

  test("carries its bearer token, and its deadline as the moment it was given", async () => {
    const seen: unknown[] = [];
    const { client } = await serveSessions({
      getSession: async (_request, call) => {
        seen.push(bearerToken(call.header("authorization")), call.deadlineMs);
        return { ok: {} };
      },
    });
    const deadlineMs = Date.now() + 60_000;
    await client.rpc.getSession({}, { metadata: bearerMetadata("t0ken"), deadlineMs });
    await client.rpc.getSession({});
    expect(seen[0]).toBe("t0ken");
    expect(Math.abs((seen[1] as number) - deadlineMs)).toBeLessThan(5_000);
    expect(seen.slice(2)).toEqual([null, null]);
  });

  test("that is cancelled, or passes its deadline, tells its handler", async () => {
    const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const told = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let calls = 0;
    const { client } = await serveSessions({
      getSession: (_request, call) => {
        const at = calls++;
        begun[at]?.resolve();
        return new Promise((resolve) => {
          call.signal.addEventListener("abort", () => {
            told[at]?.resolve();
            resolve({ ok: {} });
          });
        });
      },
    });
    const stop = new AbortController();
    const cancelled = thrown(client.rpc.getSession({}, { signal: stop.signal }));
    await begun[0]?.promise;
    stop.abort();
    expect(codeOf(await cancelled)).toBe(status.CANCELLED);
    await told[0]?.promise;
    const late = thrown(client.rpc.getSession({}, { deadlineMs: Date.now() + 1_000 }));
    await begun[1]?.promise;
    expect(codeOf(await late)).toBe(status.DEADLINE_EXCEEDED);
    await told[1]?.promise;
    await expect(thrown(client.rpc.getSession({}, { signal: stop.signal }))).resolves.toBeDefined();
    expect(calls).toBe(2);
  });

  test("carries its client's metadata unless it has its own", async () => {
    const seen: unknown[] = [];
    const { address } = await serveSessions({
      getSession: async (_request, call) => {
        seen.push(bearerToken(call.header("authorization")));
        return { ok: {} };
      },
    });
    const client = createRpcClient(SessionService, { address, metadata: bearerMetadata("clients") });
    await client.rpc.getSession({});
    await client.rpc.getSession({}, { metadata: bearerMetadata("calls") });
    client.close();
    expect(seen).toEqual(["clients", "calls"]);
  });

  test("to nobody is UNAVAILABLE and no refusal", async () => {
    const client = createRpcClient(SessionService, { address: "127.0.0.1:1" });
    const error = await thrown(client.rpc.getSession({}));
    client.close();
    expect(codeOf(error)).toBe(status.UNAVAILABLE);
    expect(fromServiceError(error)).toBeNull();
  });

  test("is told to the tracing on both sides, with trace context between them and the reason of a refusal", async () => {
    const told: string[] = [];
    const span = (side: string): RpcSpan => ({
      settle: (code, reason) => told.push(`${side} ${code} ${reason}`),
      run: (run) => run(),
    });
    const tracing: RpcTracing = {
      serve: (_rpc, _carrier, run) => run(span("server")),
      call: ({ service, method }, carrier) => {
        carrier.set("traceparent", `of ${service}/${method}`);
        return span("client");
      },
    };
    let header: string | null = null;
    const getSession: SessionHandlers["getSession"] = async (_request, call) => {
      header = call.header("traceparent");
      return { refusal: refusal("SESSION_UNKNOWN", "", "") };
    };
    const { address } = await serveSessions({ getSession }, tracing);
    const client = createRpcClient(SessionService, { address, tracing });
    await thrown(client.rpc.getSession({}));
    client.close();
    expect(header).toBe("of holdfast.v1.SessionService/GetSession");
    const refused = `${status.NOT_FOUND} SESSION_UNKNOWN`;
    expect(told).toEqual([`server ${refused}`, `client ${refused}`]);
  });
});
