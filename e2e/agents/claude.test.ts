// The whole pair with a real agent: Claude's ACP agent as npm has it, behind the gateway and a runner, in front of a
// scripted model. What a prompt makes the model say and call is in model-script.ts.
//
// A command that only reads runs without a question; one that redirects into a file raises a gate. So every held command
// appends a line to a file in its session's directory, and counting lines counts how often it ran.

import { readFileSync } from "node:fs";
import { setTimeout as hold } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import {
  Disposition,
  FallReason,
  GateCloseReason,
  GateState,
  OptionKind,
  Outcome,
  SessionState,
  Tier,
  ToolCallStatus,
} from "@holdfast/proto";
import { isServiceError } from "@holdfast/wire";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually, refusalOf, type TurnSeen } from "../src/caller.ts";
import { ClaudeStack } from "./claude-stack.ts";

/** How long a person takes to answer in one of these tests: what the test is about, not a wait for something. */
const HOLD_MS = 20_000;

const EFFECTS = "effects.txt";

/** Quotes, escapes, a variable, two spaces and letters beyond ASCII: what gets changed on the way if anything does. */
const AWKWARD = String.raw`printf '%s\n' "it's \"held\" —  \$HOME ✓ é" >> ${EFFECTS}`;
const AWKWARD_EFFECT = `it's "held" —  $HOME ✓ é`;

/** As short as a limit can be without being none. */
const AT_ONCE = { seconds: 0n, nanos: 1 };

describe("the real claude agent behind gateway and runner", () => {
  let claude: ClaudeStack;
  beforeAll(async () => {
    claude = await ClaudeStack.start();
  });
  afterAll(() => claude.close());

  type Parked = { readonly seen: TurnSeen; readonly pid: number };

  /** Parks a session, and looks at what holds of every park: one gate, nothing has run, the process that asks lives. */
  async function park(sessionId: string, prompt: string): Promise<Parked> {
    const seen = await claude.turn(sessionId, prompt);
    expect(seen.last).toBe("parked");
    const { state, gates, pid } = await claude.caller.session(sessionId);
    expect(state).toBe(SessionState.PARKED);
    expect(gates).toMatchObject([{ gateId: seen.gateId, state: GateState.PENDING, warm: true }]);
    expect(claude.stack.agentsOf(sessionId)).toContain(Number(pid));
    return { seen, pid: Number(pid) };
  }

  async function pidOf(sessionId: string): Promise<number> {
    return Number((await claude.caller.session(sessionId)).pid);
  }

  function effects(sessionId: string): Promise<readonly string[]> {
    return claude.lines(sessionId, EFFECTS);
  }

  it("1: a cold first turn leaves the session idle; the next turn runs on the same process, warm", async () => {
    const first = await claude.turn("warm", "say: hello");
    expect(first.one("started")).toMatchObject({ tier: Tier.NEW, coldReason: FallReason.FIRST_TURN });
    expect(first.text).toBe("hello");
    expect(first.one("ended").outcome).toBe(Outcome.COMPLETED);
    const { state, pid } = await claude.caller.session("warm");
    expect(state).toBe(SessionState.IDLE);
    const second = await claude.turn("warm", "say: again");
    expect(second.one("started").tier).toBe(Tier.WARM);
    expect(second.text).toBe("again");
    expect(await pidOf("warm")).toBe(Number(pid));
  });

  it("18: allow, twenty seconds later, runs the held call once, byte for byte, on the same pid; the turn goes on to its end", async () => {
    const { seen, pid } = await park("allow", `bash: ${AWKWARD}`);
    const gate = seen.one("gateOpened").gate;
    expect(JSON.parse(gate?.toolCall?.rawInputJson ?? "").command).toBe(AWKWARD);
    expect(gate?.options.map(({ kind }) => kind)).toContain(OptionKind.ALLOW_ALWAYS);
    await hold(HOLD_MS);
    expect(await claude.caller.session("allow")).toMatchObject({ state: SessionState.PARKED, pid: BigInt(pid) });
    expect(await effects("allow")).toEqual([]);
    await claude.caller.allow("allow", seen.gateId);
    const turn = await claude.caller.ended("allow", seen.turnId);
    expect(turn.one("ended").outcome).toBe(Outcome.COMPLETED);
    expect(turn.one("continued").tier).toBe(Tier.WARM);
    expect(turn.text).toMatch(/^allowed: /);
    expect(await effects("allow")).toEqual([AWKWARD_EFFECT]);
    const session = await claude.caller.session("allow");
    expect(session).toMatchObject({ state: SessionState.IDLE, pid: BigInt(pid) });
    expect(session.closedGates).toMatchObject([{ answer: { disposition: Disposition.APPLIED } }]);
    expect(turn.events.flatMap(({ seq }) => (seq === 0n ? [] : [Number(seq)]))).toEqual(
      Array.from({ length: Number(session.lastSeq) }, (_, index) => index + 1),
    );
  });

  it("20, 22: an answer that matches nothing leaves the session parked; the same one twice runs the call once", async () => {
    const { seen, pid } = await park("matchless", `bash: echo once >> ${EFFECTS}`);
    expect(await refusalOf(claude.caller.allow("matchless", "gate_of_nobody"))).toMatchObject({
      reason: "GATE_UNKNOWN",
    });
    expect(await claude.caller.session("matchless")).toMatchObject({
      state: SessionState.PARKED,
      pid: BigInt(pid),
      gates: [{ gateId: seen.gateId, state: GateState.PENDING, warm: true }],
    });
    const answered = await claude.caller.allow("matchless", seen.gateId);
    const again = await claude.caller.allow("matchless", seen.gateId);
    expect(again).toMatchObject({ duplicate: true, answerId: answered.answerId, commandId: answered.commandId });
    await claude.caller.ended("matchless", seen.turnId);
    expect(await effects("matchless")).toEqual(["once"]);
    expect(await pidOf("matchless")).toBe(pid);
  });

  it("19: reject reaches the agent as a rejection; the turn goes on by the agent's own rules", async () => {
    const { seen, pid } = await park("reject", `bash: echo never >> ${EFFECTS}\nnext:\nsay: going on`);
    await claude.caller.reject("reject", seen.gateId);
    const turn = await claude.caller.ended("reject", seen.turnId);
    expect(turn.one("ended").outcome).toBe(Outcome.COMPLETED);
    expect(turn.text).toMatch(/^refused: .*going on$/);
    expect(turn.of("toolCallUpdate").at(-1)?.status).toBe(ToolCallStatus.FAILED);
    expect(await effects("reject")).toEqual([]);
    expect(await pidOf("reject")).toBe(pid);
  });

  it("39, 42: Stop while parked cancels the gate and runs nothing; a late allow is refused; the next prompt is warm on the same pid", async () => {
    const { seen, pid } = await park("stop", `bash: echo never >> ${EFFECTS}`);
    await claude.caller.stop("stop");
    const stopped = await claude.caller.ended("stop", seen.turnId);
    expect(stopped.one("ended").outcome).toBe(Outcome.CANCELLED);
    expect(stopped.one("gateClosed")).toMatchObject({ gateId: seen.gateId, reason: GateCloseReason.CANCELLED });
    const late = claude.caller.allow("stop", seen.gateId);
    await expect(late).rejects.toSatisfy((error) => isServiceError(error) && error.code === status.FAILED_PRECONDITION);
    expect(await refusalOf(late)).toMatchObject({ reason: "GATE_CANCELLED" });
    const next = await claude.turn("stop", "say: after");
    expect(next.one("started").tier).toBe(Tier.WARM);
    expect(next.text).toBe("after");
    expect(await pidOf("stop")).toBe(pid);
    expect(await effects("stop")).toEqual([]);
  });

  it("23: two calls in one response are asked about one after the other, and each answer runs its own call", async () => {
    const { seen, pid } = await park("two", `bash: echo first >> ${EFFECTS}\nbash: echo second >> ${EFFECTS}`);
    await claude.caller.allow("two", seen.gateId);
    const isSecond = ({ gateId }: { readonly gateId: string }) => gateId !== seen.gateId;
    const asked = await claude.caller.watchUntil("two", 0, ({ event }) => {
      return event.case === "gateOpened" && event.value.gate !== undefined && isSecond(event.value.gate);
    });
    expect(await effects("two")).toEqual(["first"]);
    const second = asked.gateIds.at(-1) ?? "";
    expect(await claude.caller.session("two")).toMatchObject({
      state: SessionState.PARKED,
      gates: [{ gateId: second, state: GateState.PENDING }],
    });
    await claude.caller.allow("two", second);
    const turn = await claude.caller.ended("two", seen.turnId);
    expect(turn.gateIds).toEqual([seen.gateId, second]);
    expect(turn.one("ended").outcome).toBe(Outcome.COMPLETED);
    expect(await effects("two")).toEqual(["first", "second"]);
    expect(await pidOf("two")).toBe(pid);
  });

  it("34: the agent dies while parked: its gate is cold, and no process of it is left", async () => {
    const { seen, pid } = await park("killed", `bash: echo never >> ${EFFECTS}`);
    expect(claude.stack.agentsOf("killed").length).toBeGreaterThan(1);
    process.kill(pid, "SIGKILL");
    const cold = await eventually(
      "the gate is cold",
      () => claude.caller.session("killed"),
      ({ gates }) => gates[0]?.warm === false,
    );
    expect(claude.stack.agentsOf("killed")).toEqual([]);
    expect(cold).toMatchObject({ state: SessionState.PARKED, pid: 0n, coldReason: FallReason.AGENT_EXITED });
    expect(cold.owner).toBeUndefined();
    expect(cold.gates).toMatchObject([{ gateId: seen.gateId, state: GateState.PENDING }]);
    expect(await effects("killed")).toEqual([]);
    await claude.caller.stop("killed");
    const turn = await claude.caller.ended("killed", seen.turnId);
    expect(turn.one("ended").outcome).toBe(Outcome.CANCELLED);
  });

  it("32: after approval_ttl the process is gone, the gate is cold and still pending", async () => {
    const seen = await claude.turn("unanswered", `bash: echo never >> ${EFFECTS}`, {
      limits: { approvalTtl: AT_ONCE },
    });
    const cold = await eventually(
      "the gate is cold",
      () => claude.caller.session("unanswered"),
      ({ pid, gates }) => pid === 0n && gates[0]?.warm === false,
    );
    expect(cold).toMatchObject({ state: SessionState.PARKED, coldReason: FallReason.APPROVAL_TTL });
    expect(cold.gates).toMatchObject([{ gateId: seen.gateId, state: GateState.PENDING }]);
    await eventually("its processes are gone", () => claude.stack.agentsOf("unanswered").length === 0);
    expect(await effects("unanswered")).toEqual([]);
  });

  it("4: after idle eviction the next turn is served by the agent's own load, and the model is told what went before", async () => {
    await claude.turn("idle", "say: the word is walrus", { limits: { idleTtl: AT_ONCE } });
    const cold = await eventually(
      "the session is cold",
      () => claude.caller.session("idle"),
      ({ state }) => state === SessionState.COLD,
    );
    expect(cold).toMatchObject({ pid: 0n, coldReason: FallReason.IDLE_TTL });
    expect(claude.stack.agentsOf("idle")).toEqual([]);
    const prompt = "say: which word was it";
    const seen = await claude.turn("idle", prompt);
    expect(seen.one("started")).toMatchObject({ tier: Tier.LOAD, coldReason: FallReason.IDLE_TTL });
    expect(seen.text).toBe("which word was it");
    const asked = claude.model.exchanges.find(({ reading }) => reading.prompt === prompt);
    expect(asked?.texts).toEqual(
      expect.arrayContaining(["say: the word is walrus", "the word is walrus", "say: which word was it"]),
    );
  });

  it("12: the catalogue's secret is in no log, no event, no error and no command line", async () => {
    const seen = await claude.turn("secret", "say: nothing");
    const told = JSON.stringify(seen.events, (_, value) => (typeof value === "bigint" ? `${value}` : value));
    const commandLines = claude.stack.agents().map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8"));
    expect(commandLines.length).toBeGreaterThan(0);
    expect([claude.log, told, ...commandLines].filter((text) => text.includes(claude.apiKey))).toEqual([]);
  });

  it("15: a runner that is told to end leaves no process of an agent, whether idle or parked", async () => {
    await claude.turn("idle-at-end", "say: here");
    await park("parked-at-end", `bash: echo never >> ${EFFECTS}`);
    await claude.stack.runner.end();
    expect(claude.stack.agents()).toEqual([]);
    expect(await effects("parked-at-end")).toEqual([]);
    expect(claude.model.strays).toEqual([]);
  });
});
