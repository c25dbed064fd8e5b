// Requests in which something is wrong: each field is named, over gRPC and over JSON, and nothing is written or started.
import { toBinary } from "@bufbuild/protobuf";
import { Client, credentials, status } from "@grpc/grpc-js";
import { GetSessionRequestSchema, type IfBusy, SessionState } from "@holdfast/proto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Caller, refusalOf } from "./src/caller.ts";
import { post } from "./src/json-call.ts";
import { isAlive } from "./src/processes.ts";
import { Stack } from "./src/stack.ts";

const LONG_MS = 180_000;

const many = (length: number) => "x".repeat(length);

describe("fields", { timeout: LONG_MS }, () => {
  let stack: Stack;
  let caller: Caller;
  beforeAll(async () => {
    stack = await Stack.start();
    caller = stack.caller();
  }, LONG_MS);
  afterAll(() => stack.close(), LONG_MS);

  const BAD_ID = "no/slash";
  /** By RPC: a request in which much is wrong, as JSON and as a message, and the fields that have to be named. */
  const BAD = [
    {
      rpc: "RunTurn",
      call: (api: Caller["api"], options: object) =>
        first(
          api.runTurn(
            {
              sessionId: BAD_ID,
              agent: "a b",
              requestId: "\n",
              labels: { "": "v" },
              ifBusy: 77 as IfBusy,
              limits: { idleTtl: { seconds: -1n } },
            },
            options,
          ),
        ),
      fields: ["session_id", "agent", "prompt", 'labels[""]', "request_id", "if_busy", "limits.idle_ttl"],
    },
    {
      rpc: "RespondApproval",
      call: (api: Caller["api"], options: object) =>
        api.respondApproval({ sessionId: "", gateId: "", idempotencyKey: "\t", channel: many(65) }, options),
      json: { idempotencyKey: "\t", channel: many(65) },
      fields: ["session_id", "gate_id", "decision", "idempotency_key", "channel"],
    },
    {
      rpc: "CancelTurn",
      call: (api: Caller["api"], options: object) =>
        api.cancelTurn({ sessionId: BAD_ID, idempotencyKey: many(257) }, options),
      json: { sessionId: BAD_ID, idempotencyKey: many(257) },
      fields: ["session_id", "idempotency_key"],
    },
    {
      rpc: "WatchSession",
      call: (api: Caller["api"], options: object) => first(api.watchSession({ sessionId: "", afterSeq: -1n }, options)),
      fields: ["session_id", "after_seq"],
    },
    {
      rpc: "GetSession",
      call: (api: Caller["api"], options: object) => api.getSession({ sessionId: many(129) }, options),
      json: { sessionId: many(129) },
      fields: ["session_id"],
    },
    {
      rpc: "ListSessions",
      call: (api: Caller["api"], options: object) =>
        api.listSessions({ pageSize: -1, pageToken: "?", states: [77 as SessionState] }, options),
      json: { pageSize: -1, pageToken: "?", states: [77] },
      fields: ["page_size", "page_token", "states[0]"],
    },
    {
      rpc: "CloseSession",
      call: (api: Caller["api"], options: object) =>
        api.closeSession({ sessionId: BAD_ID, idempotencyKey: "\r" }, options),
      json: { sessionId: BAD_ID, idempotencyKey: "\r" },
      fields: ["session_id", "idempotency_key"],
    },
    {
      rpc: "ListApprovals",
      call: (api: Caller["api"], options: object) =>
        api.listApprovals({ pageSize: -1, filter: { sessionId: BAD_ID, agent: "a b" } }, options),
      json: { pageSize: -1, filter: { sessionId: BAD_ID, agent: "a b" } },
      fields: ["filter.session_id", "filter.agent", "page_size"],
    },
  ];

  it.each(BAD)(
    "71: bad fields of $rpc: INVALID_ARGUMENT naming every one of them, over gRPC and JSON",
    async ({ rpc, call, json, fields }) => {
      const refusal = await refusalOf(call(caller.api, caller.options()));
      expect(refusal.reason).toBe("FIELD_INVALID");
      expect((refusal.violations ?? []).map(({ field }) => field).sort()).toEqual([...fields].sort());
      if (json !== undefined) {
        const posted = await post(stack, rpc, JSON.stringify(json));
        expect([posted.status, posted.body.code]).toEqual([400, "invalid_argument"]);
        for (const field of fields) expect(posted.named).toContain(field);
      }
      expect((await caller.api.listSessions({}, caller.options())).sessions).toEqual([]);
      expect(stack.agents()).toEqual([]);
    },
  );

  it("71: JSON that is none, or holds another type than the field's, names the field and does nothing", async () => {
    for (const [body, names] of [
      ["{", ""],
      ['{"sessionId":5}', "session_id"],
      ['{"sessionId":"s","expectedExecution":-1}', "expected_execution"],
    ]) {
      const posted = await post(stack, "CancelTurn", body ?? "");
      expect([body, posted.status, posted.body.code]).toEqual([body, 400, "invalid_argument"]);
      expect(posted.body.message).toContain(names);
    }
    expect((await caller.api.listSessions({}, caller.options())).sessions).toEqual([]);
  });

  it("71: fields that nobody knows are ignored, over gRPC and JSON; bytes that are no message are refused, and nothing else happens", async () => {
    await caller.turn("known", "say hello");
    const posted = await post(stack, "GetSession", '{"sessionId":"known","colour":"green","deep":{"er":[1,2]}}');
    expect(posted.status).toBe(200);
    const request = Buffer.from(
      toBinary(GetSessionRequestSchema, { $typeName: "holdfast.v1.GetSessionRequest", sessionId: "known" }),
    );
    // Field 1000, a varint.
    expect(await rawCall(stack, "GetSession", Buffer.concat([request, Buffer.from([0xc0, 0x3e, 0x07])]))).toBe(
      status.OK,
    );
    // A length that goes past the end.
    const broken = await rawCall(stack, "GetSession", Buffer.from([0x0a, 0x7f, 0x61]));
    expect(broken).not.toBe(status.OK);
    expect(isAlive(stack.gateway.pid)).toBe(true);
    expect((await caller.session("known")).state).toBe(SessionState.IDLE);
  });
});

async function first(stream: AsyncGenerator<unknown>): Promise<void> {
  await stream.next();
  await stream.return(undefined);
}

/** A unary call with these very bytes; resolves to the status. */
async function rawCall(stack: Stack, method: string, bytes: Buffer): Promise<status> {
  const client = new Client(stack.gateway.address, credentials.createInsecure());
  const same = (message: Buffer) => message;
  const code = await new Promise<status>((resolve) => {
    client.makeUnaryRequest(`/holdfast.v1.SessionService/${method}`, same, same, bytes, (error) =>
      resolve(error?.code ?? status.OK),
    );
  });
  client.close();
  return code;
}
