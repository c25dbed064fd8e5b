import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { status } from "@grpc/grpc-js";
import { BadRequestSchema, ErrorInfoSchema, SessionService, SessionState } from "@holdfast/proto";
import { sha256 } from "@holdfast/runtime";
import { bearerMetadata } from "@holdfast/wire";
import { expect, it, onTestFinished } from "vitest";
import { type GatewayFixture, gatewayFixture } from "../fixture/gateway.ts";
import { changed, NOBODY, ownerOf, runningTurn } from "../fixture/records.ts";
import { drained, type Refused, refusalOf } from "../fixture/refused.ts";
import { runnerPeer } from "../fixture/runner-peer.ts";

type Rpc = keyof (typeof SessionService)["method"];

/** Every rpc and the one role besides admin that may call it. */
const ROLE_OF: Readonly<Record<Rpc, "run" | "approve" | "watch" | "admin">> = {
  runTurn: "run",
  cancelTurn: "run",
  closeSession: "run",
  respondApproval: "approve",
  watchSession: "watch",
  getSession: "watch",
  listSessions: "watch",
  listApprovals: "watch",
  watchApprovals: "watch",
  getServerInfo: "watch",
  deleteSession: "admin",
};
const ROLES = ["run", "approve", "watch", "admin"] as const;

async function withTokens(): Promise<GatewayFixture> {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-gateway-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "tokens.json");
  const tokens = [
    ...ROLES.map((role) => ({ sha256: sha256(role), project: "one", principal: role, roles: [role] })),
    { sha256: sha256("other"), project: "two", principal: "other", roles: ["admin"] },
  ];
  await writeFile(path, JSON.stringify({ tokens }));
  return gatewayFixture({ HOLDFAST_TOKENS_FILE: path });
}

/** What the gateway says to an rpc called with nothing in it. */
async function emptyCall({ client }: GatewayFixture, rpc: Rpc, token: string | null) {
  const options = token === null ? {} : { metadata: bearerMetadata(token) };
  const call = client.rpc[rpc]({} as never, options as never) as unknown;
  const reply =
    Symbol.asyncIterator in (call as object) ? drained(call as AsyncIterable<unknown>) : (call as Promise<unknown>);
  return reply.then(
    (): Refused => ({ code: status.OK }),
    (error: unknown) => refusalOf(Promise.reject(error)),
  );
}

it("lets each role call its own rpcs, admin all of them, and nobody else any", async () => {
  const fixture = await withTokens();
  for (const [rpc, role] of Object.entries(ROLE_OF) as [Rpc, string][]) {
    for (const token of ROLES) {
      const { code, reason, metadata } = await emptyCall(fixture, rpc, token);
      if (token === role || token === "admin") expect([code, reason]).not.toContain("ROLE_MISSING");
      else expect([rpc, code, reason, metadata?.role]).toEqual([rpc, status.PERMISSION_DENIED, "ROLE_MISSING", role]);
    }
    for (const token of [null, "nobody"]) {
      const { code, reason } = await emptyCall(fixture, rpc, token);
      expect([rpc, code, reason]).toEqual([rpc, status.UNAUTHENTICATED, "CREDENTIAL_INVALID"]);
    }
  }
});

it("checks the credential before the fields", async () => {
  const fixture = await withTokens();
  expect(await emptyCall(fixture, "getSession", "run")).toMatchObject({ reason: "ROLE_MISSING" });
  expect(await emptyCall(fixture, "getSession", "watch")).toMatchObject({ reason: "FIELD_INVALID" });
});

it("shows a project nothing of another one's sessions of the same name", async () => {
  const fixture = await withTokens();
  await runningTurn(fixture.ledger, NOBODY, {}, { project: "two", sessionId: "s-1" });
  const { rpc } = fixture.client;
  const mine = { metadata: bearerMetadata("admin") };
  expect(await refusalOf(rpc.getSession({ sessionId: "s-1" }, mine))).toMatchObject({
    code: status.NOT_FOUND,
    reason: "SESSION_UNKNOWN",
  });
  expect((await rpc.listSessions({}, mine)).sessions).toEqual([]);
  const theirs = await rpc.getSession({ sessionId: "s-1" }, { metadata: bearerMetadata("other") });
  expect(theirs.session).toMatchObject({ sessionId: "s-1", agent: "scripted", state: SessionState.COLD });
});

it("says of what it has not built that it has not", async () => {
  const fixture = await gatewayFixture();
  for (const rpc of ["deleteSession", "watchApprovals"] as const) {
    expect(await emptyCall(fixture, rpc, null)).toMatchObject({ code: status.UNIMPLEMENTED, reason: "RPC_NOT_BUILT" });
  }
  expect((await fixture.client.rpc.getServerInfo({})).capabilities).not.toContain("delete-session");
});

it("tells the agents that live runners have, and its limits by name", async () => {
  const fixture = await gatewayFixture({ HOLDFAST_APPROVAL_TTL: "7s" });
  await runnerPeer(fixture.store, { runner: "a-0", pool: { agents: ["scripted", "claude"] } });
  await runnerPeer(fixture.store, { runner: "b-0", pool: { agents: ["scripted"] } });
  await runnerPeer(fixture.store, { runner: "c-0", pool: { agents: ["gone"] }, lease: { state: "dead" } });
  const { agents, limits } = await fixture.client.rpc.getServerInfo({});
  expect(agents).toEqual(["claude", "scripted"]);
  expect(limits).toMatchObject({ approval_ttl_ms: "7000", watchers_per_session: "32", request_bytes: "4194304" });
});

it("names every invalid field, with the same details on both stacks", async () => {
  const fixture = await gatewayFixture();
  const web = createClient(SessionService, createConnectTransport({ baseUrl: fixture.url, httpVersion: "1.1" }));
  const wrong: [(rpc: Pick<Client<typeof SessionService>, Rpc>) => Promise<unknown>, string[]][] = [
    [(rpc) => rpc.getSession({ sessionId: "not an id" }), ["session_id"]],
    [(rpc) => rpc.respondApproval({ note: "x".repeat(16 * 1024 + 1) }), ["session_id", "gate_id", "decision", "note"]],
    [(rpc) => rpc.cancelTurn({ sessionId: "s", idempotencyKey: "k".repeat(257) }), ["idempotency_key"]],
    [(rpc) => rpc.closeSession({ sessionId: "s".repeat(129) }), ["session_id"]],
    [(rpc) => rpc.listSessions({ pageSize: -1, pageToken: "nonsense" }), ["page_size", "page_token"]],
    [(rpc) => rpc.listApprovals({ pageToken: "nonsense" }), ["page_token"]],
    [(rpc) => drained(rpc.watchSession({ sessionId: "s", afterSeq: -1n })), ["after_seq"]],
    [
      (rpc) => drained(rpc.runTurn({ sessionId: "s", ifBusy: 2, onDisconnect: 2 })),
      ["prompt", "if_busy", "on_disconnect"],
    ],
  ];
  for (const [call, fields] of wrong) {
    const grpc = await refusalOf(call(fixture.client.rpc as never));
    expect(grpc).toMatchObject({ code: status.INVALID_ARGUMENT, reason: "FIELD_INVALID" });
    expect(new Set(grpc.violations?.map(({ field }) => field))).toEqual(new Set(fields));
    const connect = await call(web).catch((error: unknown) => ConnectError.from(error));
    if (!(connect instanceof ConnectError)) throw new Error("it was not refused");
    expect(connect.code).toBe(Code.InvalidArgument);
    expect(connect.findDetails(ErrorInfoSchema)).toMatchObject([{ reason: "FIELD_INVALID", domain: "holdfast" }]);
    expect(connect.findDetails(BadRequestSchema)[0]?.fieldViolations.map(({ field }) => field)).toEqual(
      grpc.violations?.map(({ field }) => field),
    );
  }
});

it("shows the process id to an admin only", async () => {
  const fixture = await withTokens();
  const { owner } = await runnerPeer(fixture.store);
  const key = { project: "one", sessionId: "s-1" };
  const held = await runningTurn(fixture.ledger, owner, {}, key);
  const process = { instance: "proc_1", pid: 4711, tier: "new" } as const;
  const ready = { type: "ready", process, agentSessionId: null, coldReason: "first_turn", commandId: null } as const;
  await changed(fixture.ledger, key, ready, ownerOf(held));
  const pidFor = async (role: string) => {
    const reply = await fixture.client.rpc.getSession({ sessionId: "s-1" }, { metadata: bearerMetadata(role) });
    return reply.session?.pid;
  };
  expect([await pidFor("admin"), await pidFor("watch")]).toEqual([4711n, 0n]);
});
