import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { refusal } from "@holdfast/pool";
import { ErrorInfoSchema, SessionService, WatchSessionResponseSchema } from "@holdfast/proto";
import { describe, expect, test } from "vitest";
import { connectService } from "./connect.ts";
import { type SessionHandlers, sessionHandlers, testEdge } from "./grpc.fixture.ts";
import type { RpcFailure } from "./handlers.ts";

const NOW_MS = 1_000_000;

function serve(given: Partial<SessionHandlers>) {
  const failures: RpcFailure[] = [];
  const service = connectService(SessionService, sessionHandlers(given), testEdge(failures), () => NOW_MS);
  const transport = createRouterTransport(({ service: mount }) => mount(SessionService, service));
  return { client: createClient(SessionService, transport), failures };
}

describe("the same handlers behind Connect", () => {
  test("answer, with header and deadline at hand", async () => {
    const seen: unknown[] = [];
    const { client } = serve({
      getSession: async ({ sessionId }, call) => {
        seen.push(call.rpc, call.header("authorization"), call.deadlineMs);
        return { ok: { session: { sessionId } } };
      },
    });
    const options = { headers: { authorization: "Bearer t" }, timeoutMs: 10_000 };
    expect((await client.getSession({ sessionId: "s" }, options)).session?.sessionId).toBe("s");
    expect(seen.slice(0, 2)).toEqual(["SessionService/GetSession", "Bearer t"]);
    expect(seen[2]).toBeGreaterThan(NOW_MS);
  });

  test("refuse with code and details", async () => {
    const { client } = serve({ getSession: async () => ({ refusal: refusal("SESSION_UNKNOWN", "No s.", "Look.") }) });
    const error = ConnectError.from(await client.getSession({}).catch((caught: unknown) => caught));
    expect(error.code).toBe(Code.NotFound);
    expect(error.findDetails(ErrorInfoSchema)[0]).toMatchObject({ domain: "holdfast", reason: "SESSION_UNKNOWN" });
  });

  test("fail as INTERNAL with an incident, whatever they throw", async () => {
    const { client, failures } = serve({ getSession: () => Promise.reject(new Error("hunter2")) });
    const error = ConnectError.from(await client.getSession({}).catch((caught: unknown) => caught));
    expect(error.code).toBe(Code.Internal);
    expect(error.message).toContain("incident-1");
    expect(error.message).not.toContain("hunter2");
    expect(failures).toHaveLength(1);
  });

  test("stream messages and bytes alike, and end with a refusal after them", async () => {
    const bytes = toBinary(WatchSessionResponseSchema, create(WatchSessionResponseSchema, { event: { seq: 2n } }));
    const { client } = serve({
      async *watchSession() {
        yield { event: { seq: 1n } };
        yield bytes;
        return refusal("STREAM_CUT", "Cut.", "Watch again.");
      },
    });
    const found: bigint[] = [];
    const read = async () => {
      for await (const { event } of client.watchSession({})) found.push(event?.seq ?? 0n);
    };
    await expect(read()).rejects.toMatchObject({ code: Code.Unavailable });
    expect(found).toEqual([1n, 2n]);
  });

  test("end their generator when the reader leaves", async () => {
    const ended = Promise.withResolvers<void>();
    const { client } = serve({
      async *watchSession(_request, call) {
        try {
          yield { event: { seq: 1n } };
          await new Promise<void>((resolve) => call.signal.addEventListener("abort", () => resolve()));
          return null;
        } finally {
          ended.resolve();
        }
      },
    });
    const leave = new AbortController();
    const read = async () => {
      for await (const { event } of client.watchSession({}, { signal: leave.signal })) {
        expect(event?.seq).toBe(1n);
        leave.abort();
      }
    };
    await expect(read()).rejects.toMatchObject({ code: Code.Canceled });
    await ended.promise;
  });
});
