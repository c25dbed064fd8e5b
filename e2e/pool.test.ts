import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ErrorReason, FallReason, Outcome, SessionState, Tier } from "@holdfast/proto";
import { sha256 } from "@holdfast/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Caller, eventually } from "./src/caller.ts";
import { light, scripted } from "./src/catalogue.ts";
import { isAlive } from "./src/processes.ts";
import { Stack } from "./src/stack.ts";

/** For what stays until somebody stops it. */
const FOR_LONG = "sleep 600000";
const second = (seconds: number) => ({ seconds: BigInt(seconds), nanos: 0 });

describe("a process between turns and during them", () => {
  let stack: Stack;
  let caller: Caller;
  beforeAll(async () => {
    stack = await Stack.start({ agents: [scripted("scripted"), light("stuck", "--at", "initialize:hang")] });
    caller = stack.caller();
  });
  afterAll(() => stack.close());

  it("2: idle TTL ends an idle session, reason idle_ttl; the next turn is cold with that reason", async () => {
    await caller.turn("idle", "remember colour blue", { limits: { idleTtl: second(1) } });
    const cold = await eventually(
      "the process goes",
      () => caller.session("idle"),
      ({ state }) => state === SessionState.COLD,
    );
    expect(cold.coldReason).toBe(FallReason.IDLE_TTL);
    expect(cold.owner).toBeUndefined();
    expect(stack.agentsOf("idle")).toEqual([]);
    const next = await caller.turn("idle", "recall colour");
    expect(next.one("started")).toMatchObject({ tier: Tier.LOAD, coldReason: FallReason.IDLE_TTL });
    expect(next.text).toBe("colour=blue");
  });

  it("5: a second RunTurn while one is starting does not spawn a second process", async () => {
    const first = caller.turn("starting", "say never", { agent: "stuck" });
    const [pid] = await eventually(
      "the first process",
      () => stack.agentsOf("starting"),
      (pids) => pids.length > 0,
    );
    const refusal = await caller.refusedTurn("starting", "say never", { agent: "stuck" });
    expect(refusal.reason).toBe("TURN_IN_PROGRESS");
    expect(await stack.pool()).toMatchObject({ starting: 1 });
    expect(stack.agentsOf("starting")).toEqual([pid]);
    await caller.stop("starting");
    expect((await first).one("ended").outcome).toBe(Outcome.CANCELLED);
    await eventually("nothing is left", () => stack.agentsOf("starting").length === 0);
  });

  it("9: a changed model or mode is applied to the live process; what it does not offer is config_changed", async () => {
    await caller.turn("modes", "say first");
    const { pid } = await caller.session("modes");
    const readOnly = await caller.turn("modes", "run echo no", { config: { mode: "read-only", model: "fancy" } });
    expect(readOnly.one("started").tier).toBe(Tier.WARM);
    expect(readOnly.gateIds).toEqual([]);
    expect((await caller.session("modes")).pid).toBe(pid);
    expect(stack.ledger("modes")).toEqual([]);
    const unknown = await caller.turn("modes", "say no", { config: { mode: "no such mode" } });
    expect(unknown.one("ended").error?.reason).toBe(ErrorReason.AGENT_START_FAILED);
    expect(isAlive(Number(pid))).toBe(false);
  });

  it("9: a changed directory or MCP server: eviction config_changed, cold; another order of keys, other ids: warm", async () => {
    const server = (env: Record<string, string>) => ({
      name: "tools",
      transport: { case: "stdio" as const, value: { command: "true", args: [], env: literals(env) } },
    });
    await caller.turn("config", "pid", { config: { mcpServers: [server({ ONE: "1", TWO: "2" })] }, requestId: "a" });
    const { pid } = await caller.session("config");
    const reordered = { config: { mcpServers: [server({ TWO: "2", ONE: "1" })] }, requestId: "b", labels: { a: "b" } };
    const same = await caller.turn("config", "pid", reordered);
    expect(same.one("started").tier).toBe(Tier.WARM);
    expect((await caller.session("config")).pid).toBe(pid);

    const other = await caller.turn("config", "pid", { config: { mcpServers: [server({ ONE: "1", TWO: "3" })] } });
    expect(other.one("started")).toMatchObject({ tier: Tier.LOAD, coldReason: FallReason.CONFIG_CHANGED });
    const moved = await caller.turn("config", "pid", { config: { workingDirectory: "below" } });
    expect(moved.one("started").coldReason).toBe(FallReason.CONFIG_CHANGED);
    expect(new Set([`pid ${pid}`, other.text, moved.text]).size).toBe(3);
    expect(stack.agentsOf("config")).toEqual([Number((await caller.session("config")).pid)]);
  });

  it("13: the turn limit ends a running turn (reason turn_limit) and does not count while only a gate is open", async () => {
    const limits = { turnLimit: second(1) };
    const parked = await caller.turn("patient", "run echo held", { limits });
    const { pid } = await caller.session("patient");
    // Began later, has the same limit, and is at its end: the parked one has been waiting for longer than its own.
    const late = await caller.turn("late", FOR_LONG, { limits });
    expect(late.one("ended")).toMatchObject({ outcome: Outcome.FAILED, stopReason: "turn_limit" });
    expect(late.one("ended").error?.reason).toBe(ErrorReason.TURN_LIMIT);
    const ended = await caller.session("late");
    expect(ended).toMatchObject({ state: SessionState.COLD, coldReason: FallReason.TURN_LIMIT, pid: 0n });
    expect(stack.agentsOf("late")).toEqual([]);

    expect(await caller.session("patient")).toMatchObject({ state: SessionState.PARKED, pid });
    await caller.allow("patient", parked.gateId);
    const done = await caller.ended("patient", parked.turnId);
    expect(done.one("ended").outcome).toBe(Outcome.COMPLETED);
    expect(stack.ledger("patient")).toMatchObject([{ command: "echo held", pid: Number(pid) }]);
  });
});

describe("a full pool", () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await Stack.start({ settings: { HOLDFAST_MAX_LIVE: "2" } });
  });
  afterAll(() => stack.close());

  it("4: full of busy and waiting: a new session is refused POOL_FULL; an open gate still parks and is answerable", async () => {
    const caller = stack.caller();
    const first = await caller.turn("waiting", "run echo one\nrun echo two");
    const busy = caller.turn("busy", FOR_LONG);
    await eventually(
      "both work",
      () => stack.pool(),
      (pool) => pool.waiting === 1 && pool.busy === 1,
    );
    await expectFull(caller);

    await caller.allow("waiting", first.gateId);
    const again = await caller.watchUntil("waiting", 0, ({ event }) => {
      return event.case === "gateOpened" && event.value.gate?.gateId !== first.gateId;
    });
    await eventually(
      "it parks again",
      () => caller.session("waiting"),
      ({ state }) => state === SessionState.PARKED,
    );
    await expectFull(caller);
    await caller.allow("waiting", again.gateIds[1] ?? "");
    expect((await caller.ended("waiting", first.turnId)).one("ended").outcome).toBe(Outcome.COMPLETED);
    expect(stack.ledger("waiting").map(({ command }) => command)).toEqual(["echo one", "echo two"]);

    // Idle now, and the only one that may go.
    expect((await caller.turn("new", "say in")).text).toBe("in");
    expect((await caller.session("waiting")).coldReason).toBe(FallReason.LRU);
    await caller.stop("busy");
    expect((await busy).one("ended").outcome).toBe(Outcome.CANCELLED);
    expect(stack.agents()).toHaveLength(2);
  });

  async function expectFull(caller: Caller): Promise<void> {
    const refusal = await caller.refusedTurn("new", "say no");
    expect(refusal.reason).toBe("POOL_FULL");
    expect(refusal.retryAfterMs).toBeGreaterThan(0);
    expect(stack.agents()).toHaveLength(2);
  }
});

describe("two projects", () => {
  let files: string;
  let stack: Stack;
  beforeAll(async () => {
    files = mkdtempSync(join(tmpdir(), "holdfast-e2e-tokens-"));
    const tokens = ["red", "blue"].map((project) => {
      return { sha256: sha256(`token-of-${project}`), project, principal: "somebody", roles: ["admin"] };
    });
    const file = join(files, "tokens.json");
    writeFileSync(file, JSON.stringify({ tokens }));
    stack = await Stack.start({ settings: { HOLDFAST_TOKENS_FILE: file } });
  });
  afterAll(async () => {
    await stack.close();
    rmSync(files, { recursive: true });
  });

  it("8: same session_id in two projects: two processes; closing one leaves the other", async () => {
    const red = stack.caller({ token: "token-of-red" });
    const blue = stack.caller({ token: "token-of-blue" });
    await red.turn("twin", "remember colour red");
    await blue.turn("twin", "remember colour blue");
    const [redPid] = stack.agentsOf("twin", "red");
    const bluePids = stack.agentsOf("twin", "blue");
    expect(stack.agents()).toHaveLength(2);
    expect((await red.session("twin")).pid).toBe(BigInt(redPid ?? 0));

    await red.api.closeSession({ sessionId: "twin" }, red.options());
    expect(stack.agentsOf("twin", "red")).toEqual([]);
    expect(stack.agentsOf("twin", "blue")).toEqual(bluePids);
    const warm = await blue.turn("twin", "recall colour");
    expect(warm.one("started").tier).toBe(Tier.WARM);
    expect(warm.text).toBe("colour=blue");
    expect((await red.session("twin")).state).toBe(SessionState.COLD);
  });
});

function literals(values: Record<string, string>) {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, { value: { case: "literal" as const, value } }]),
  );
}
