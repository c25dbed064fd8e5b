// Who may call what: roles for each RPC, projects that do not see each other, a tokens file that changes, and services that do
// not start, or do not answer, without the credentials they need.
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import type { Metadata } from "@grpc/grpc-js";
import type { Refusal } from "@holdfast/pool";
import { ErrorInfoSchema, RunnerService, SessionState, Verdict } from "@holdfast/proto";
import { newSecret, sha256 } from "@holdfast/runtime";
import { bearerMetadata, createRpcClient } from "@holdfast/wire";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Caller, eventually, refusalOf } from "./src/caller.ts";
import { Service } from "./src/service.ts";
import { Stack } from "./src/stack.ts";
import { StoreFile } from "./src/store-file.ts";
import { type TokenOf, writeTokens } from "./src/tokens.ts";

const TOKENS = {
  runs: { project: "ours", principal: "rita", roles: ["run"] },
  approves: { project: "ours", principal: "anna", roles: ["approve"] },
  watches: { project: "ours", principal: "walt", roles: ["watch"] },
  owns: { project: "ours", principal: "olga", roles: ["admin"] },
  theirs: { project: "theirs", principal: "theo", roles: ["admin"] },
} satisfies Record<string, TokenOf>;
const BOUND_MS = 20_000;
const LONG_MS = 180_000;

type Role = "run" | "approve" | "watch" | "admin";
type Rpc = {
  readonly role: Role;
  readonly call: (caller: Caller, sessionId: string, gateId: string) => Promise<unknown>;
};

/** The first message is enough: a stream that was let in is left. */
async function first(stream: AsyncGenerator<unknown>): Promise<void> {
  await stream.next();
  await stream.return(undefined);
}

const RPCS: Readonly<Record<string, Rpc>> = {
  RunTurn: { role: "run", call: (caller, sessionId) => first(caller.stream(sessionId, "say hello")) },
  CancelTurn: { role: "run", call: (caller, sessionId) => caller.stop(sessionId) },
  CloseSession: {
    role: "run",
    call: (caller, sessionId) => caller.api.closeSession({ sessionId }, caller.options()),
  },
  RespondApproval: { role: "approve", call: (caller, sessionId, gateId) => caller.allow(sessionId, gateId) },
  WatchSession: {
    role: "watch",
    call: (caller, sessionId) => first(caller.api.watchSession({ sessionId }, caller.options())),
  },
  GetSession: { role: "watch", call: (caller, sessionId) => caller.session(sessionId) },
  ListSessions: { role: "watch", call: (caller) => caller.api.listSessions({}, caller.options()) },
  ListApprovals: { role: "watch", call: (caller) => caller.api.listApprovals({}, caller.options()) },
  WatchApprovals: { role: "watch", call: (caller) => first(caller.api.watchApprovals({}, caller.options(BOUND_MS))) },
  GetServerInfo: { role: "watch", call: (caller) => caller.api.getServerInfo({}, caller.options()) },
  DeleteSession: {
    role: "admin",
    call: (caller, sessionId) => caller.api.deleteSession({ sessionId }, caller.options()),
  },
};

const HOLDERS: Readonly<Record<string, Role | null>> = {
  runs: "run",
  approves: "approve",
  watches: "watch",
  owns: "admin",
  "a token nobody knows": null,
};

/** Null: it was let in, whatever came of it. */
async function doorOf(call: Promise<unknown>): Promise<string | null> {
  const refusal = await call.then(
    () => null,
    (error: unknown) => refusalOf(Promise.reject(error)),
  );
  return refusal !== null && ["ROLE_MISSING", "CREDENTIAL_INVALID"].includes(refusal.reason) ? refusal.reason : null;
}

describe("credentials of callers", { timeout: LONG_MS }, () => {
  let stack: Stack;
  let owner: Caller;
  let gateId: string;
  beforeAll(async () => {
    stack = await Stack.start({ tokens: TOKENS });
    owner = stack.caller({ token: "owns" });
    gateId = (await owner.turn("parked", "run echo held")).gateId;
  }, LONG_MS);
  afterAll(() => stack.close(), LONG_MS);

  it("every RPC is open to its role and to admin, and to nobody else; who is not let in changes nothing", async () => {
    const { pid } = await owner.session("parked");
    const revision = new StoreFile(stack.directory).revision("parked", "ours");
    const doors: Record<string, Record<string, string | null>> = {};
    const expected: typeof doors = {};
    for (const [name, { role, call }] of Object.entries(RPCS)) {
      doors[name] = {};
      expected[name] = {};
      for (const [token, held] of Object.entries(HOLDERS)) {
        const isLetIn = held === "admin" || held === role;
        expected[name][token] = isLetIn ? null : held === null ? "CREDENTIAL_INVALID" : "ROLE_MISSING";
        // Who is let in names a session of its own: there is nothing to do to the parked one.
        const sessionId = isLetIn ? "nobodys" : "parked";
        doors[name][token] = await doorOf(call(stack.caller({ token }), sessionId, gateId));
      }
      expected[name].nothing = "CREDENTIAL_INVALID";
      doors[name].nothing = await doorOf(call(stack.caller(), "parked", gateId));
    }
    expect(doors).toEqual(expected);
    expect(new StoreFile(stack.directory).revision("parked", "ours")).toBe(revision);
    expect(await owner.session("parked")).toMatchObject({ pid, state: SessionState.PARKED, gates: [{ gateId }] });
    expect(stack.ledger("parked", "ours")).toEqual([]);
  });

  it("the same doors stand over Connect: 401 without a credential, 403 without the role", async () => {
    const post = async (method: string, token: string | null) => {
      const response = await fetch(`http://${stack.gateway.address}/holdfast.v1.SessionService/${method}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify({ sessionId: "parked" }),
      });
      const body = (await response.json()) as { details?: { value: string }[] };
      const info = fromBinary(ErrorInfoSchema, Buffer.from(body.details?.[0]?.value ?? "", "base64"));
      return [response.status, info.reason];
    };
    expect(await post("GetSession", null)).toEqual([401, "CREDENTIAL_INVALID"]);
    expect(await post("GetSession", "a token nobody knows")).toEqual([401, "CREDENTIAL_INVALID"]);
    expect(await post("CancelTurn", "watches")).toEqual([403, "ROLE_MISSING"]);
    expect(await post("GetSession", "watches")).toEqual([200, ""]);
  });

  it("22: another project's session is not there: every RPC says SESSION_UNKNOWN, lists do not show it, nothing is touched", async () => {
    const revision = new StoreFile(stack.directory).revision("parked", "ours");
    const stranger = stack.caller({ token: "theirs" });
    for (const name of ["CancelTurn", "CloseSession", "RespondApproval", "WatchSession", "GetSession"]) {
      const refusal = await refusalOf(RPCS[name]?.call(stranger, "parked", gateId) ?? Promise.resolve());
      expect([name, refusal.reason]).toEqual([name, "SESSION_UNKNOWN"]);
    }
    expect((await stranger.api.listSessions({}, stranger.options())).sessions).toEqual([]);
    expect((await stranger.api.listApprovals({}, stranger.options())).gates).toEqual([]);
    expect(new StoreFile(stack.directory).revision("parked", "ours")).toBe(revision);
  });

  it("8: the project comes from the credential alone: the same session id is another session, another process", async () => {
    const stranger = stack.caller({ token: "theirs" });
    const options = stranger.options();
    for (const name of ["x-project", "x-holdfast-project", "project", "holdfast-project"]) {
      (options.metadata as Metadata).set(name, "ours");
    }
    for await (const _ of stranger.api.runTurn(
      { sessionId: "parked", agent: "scripted", prompt: [{ block: { case: "text", value: { text: "say theirs" } } }] },
      options,
    ));
    const ours = await owner.session("parked");
    const theirs = await stranger.session("parked");
    expect(theirs.pid).not.toBe(ours.pid);
    expect(ours.gates).toMatchObject([{ gateId }]);
    await stranger.api.closeSession({ sessionId: "parked" }, options);
    expect((await owner.session("parked")).pid).toBe(ours.pid);
    expect(stack.agentsOf("parked", "theirs")).toEqual([]);
  });

  it("only an admin is shown an agent's process id", async () => {
    expect((await stack.caller({ token: "watches" }).session("parked")).pid).toBe(0n);
    expect((await owner.session("parked")).pid).toBeGreaterThan(0n);
  });

  it("an answer keeps who gave it, through what channel and when, from the credential", async () => {
    const parked = await owner.turn("kept", "run echo kept");
    await stack.caller({ token: "approves" }).answer("kept", parked.gateId, {
      decision: { case: "verdict", value: Verdict.ALLOW },
      channel: "inbox",
    });
    await owner.ended("kept", parked.turnId);
    const { closedGates } = await owner.session("kept");
    expect(closedGates).toMatchObject([{ gateId: parked.gateId, answer: { principal: "anna", channel: "inbox" } }]);
  });

  it("the tokens file is read again when it changes; one that cannot be used leaves the tokens as they were", async () => {
    const file = join(stack.directory, "tokens.json");
    const replace = (text: string) => {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    };
    const letIn = (token: string) => stack.caller({ token }).api.getServerInfo({}, stack.caller({ token }).options());
    const isLetIn = (token: string) => doorOf(letIn(token)).then((door) => door === null);
    const complaints = () => stack.gateway.log.split("the old tokens stay").length - 1;

    writeTokens(file, { ...TOKENS, late: { project: "ours", principal: "lara", roles: ["watch"] } });
    await eventually("the new token is known", () => isLetIn("late"));
    for (const broken of ['{"tokens": [', '{"tokens":[{"sha256":"short","project":"ours"}]}']) {
      const before = complaints();
      replace(broken);
      await eventually("the broken file is told of", complaints, (count) => count > before);
      expect([await isLetIn("late"), await isLetIn("owns")]).toEqual([true, true]);
    }
    const before = complaints();
    rmSync(file);
    await eventually("the missing file is told of", complaints, (count) => count > before);
    expect(await isLetIn("late")).toBe(true);
    writeTokens(file, TOKENS);
    await eventually(
      "the token that was taken out is refused",
      () => isLetIn("late"),
      (letsIn) => !letsIn,
    );
    expect(await isLetIn("owns")).toBe(true);
    expect(stack.gateway.log).not.toContain("late");
  });
});

describe("credentials of services", { timeout: LONG_MS }, () => {
  function directory(): string {
    const made = mkdtempSync(join(tmpdir(), "holdfast-e2e-credentials-"));
    onTestFinished(() => rmSync(made, { recursive: true, force: true }));
    return made;
  }

  const refusedStart = (service: "gateway" | "runner", env: Record<string, string>) =>
    Service.start({ service, name: service, env }).then(
      async (started) => {
        await started.end();
        return "it started";
      },
      (error: Error) => error.message,
    );

  it("a gateway that others could reach does not start without a tokens file, nor a runner without its gateway's token", async () => {
    const data = join(directory(), "data");
    const reachable = { HOLDFAST_HOST: "0.0.0.0", HOLDFAST_PORT: "0", HOLDFAST_DATA_DIR: data };
    expect(await refusedStart("gateway", reachable)).toMatch(
      /ended 2\n[\s\S]*HOLDFAST_HOST can be reached from other machines, so HOLDFAST_TOKENS_FILE must say who may call/,
    );
    expect(await refusedStart("runner", { ...reachable, HOLDFAST_RUNNER_NAME: "runner-1" })).toMatch(
      /ended 2\n[\s\S]*HOLDFAST_HOST can be reached from other machines, so HOLDFAST_GATEWAY_TOKEN_FILE must say/,
    );
    expect(() => readdirSync(data)).toThrow("ENOENT");
  });

  it("a tokens file that cannot be used ends the start, and says what is wrong with it and nothing of what is in it", async () => {
    const place = directory();
    const file = join(place, "tokens.json");
    const data = join(place, "data");
    const env = { HOLDFAST_HOST: "0.0.0.0", HOLDFAST_PORT: "0", HOLDFAST_DATA_DIR: data, HOLDFAST_TOKENS_FILE: file };
    expect(await refusedStart("gateway", env)).toContain(`tokens file ${file}: cannot be read (ENOENT)`);
    const clear = newSecret();
    writeFileSync(
      file,
      JSON.stringify({ tokens: [{ token: clear, project: "ours", principal: "x", roles: ["root"] }] }),
    );
    const told = await refusedStart("gateway", env);
    expect(told).toContain("tokens[0].sha256");
    expect(told).toContain("tokens[0].roles[0] must be one of run, approve, watch, admin");
    expect(told).not.toContain(clear);
    expect(() => readdirSync(data)).toThrow("ENOENT");
  });

  it("a runner answers its gateway only: without the gateway's token every RPC is refused and nothing is started", async () => {
    const place = directory();
    const file = join(place, "gateway-token");
    const token = newSecret();
    writeFileSync(file, `${token}\n`, { mode: 0o600 });
    const stack = await Stack.start({ settings: { HOLDFAST_GATEWAY_TOKEN_FILE: file }, tokens: { owns: TOKENS.owns } });
    onTestFinished(() => stack.close());
    const caller = stack.caller({ token: "owns" });
    expect((await caller.turn("through", "say hello")).last).toBe("ended");
    const agents = stack.agents();

    const client = createRpcClient(RunnerService, { address: stack.runner.address });
    onTestFinished(() => client.close());
    const route = { project: "ours", principal: "olga", incarnation: "any", epoch: 1n, admin: true };
    const request = { sessionId: "through" };
    const calls = (metadata?: Metadata): Record<string, Promise<unknown>> => {
      const options = { deadlineMs: Date.now() + BOUND_MS, ...(metadata === undefined ? {} : { metadata }) };
      return {
        RunTurn: first(client.rpc.runTurn({ route, request: { ...request, agent: "scripted" } }, options)),
        WatchSession: first(client.rpc.watchSession({ route, request }, options)),
        RespondApproval: client.rpc.respondApproval({ route, request: { ...request, gateId: "gate" } }, options),
        CancelTurn: client.rpc.cancelTurn({ route, request }, options),
        CloseSession: client.rpc.closeSession({ route, request }, options),
        DescribePool: client.rpc.describePool({}, options),
        Drain: client.rpc.drain({}, options),
      };
    };
    const strangers = {
      nothing: undefined,
      another: bearerMetadata(newSecret()),
      callers: bearerMetadata("owns"),
      digest: bearerMetadata(sha256(token)),
    };
    for (const [who, metadata] of Object.entries(strangers)) {
      for (const [name, call] of Object.entries(calls(metadata))) {
        const refusal: Refusal = await refusalOf(call);
        expect([who, name, refusal.reason]).toEqual([who, name, "CREDENTIAL_INVALID"]);
      }
    }
    const gateway = await client.rpc.describePool(
      {},
      { metadata: bearerMetadata(token), deadlineMs: Date.now() + BOUND_MS },
    );
    expect(gateway).toMatchObject({ runner: "runner-1", idle: 1 });
    expect(stack.agents()).toEqual(agents);
  });
});
