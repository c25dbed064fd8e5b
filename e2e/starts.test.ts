import { existsSync, readdirSync } from "node:fs";
import { ErrorReason, FallReason, Outcome, SessionState, Tier } from "@holdfast/proto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Caller, eventually } from "./src/caller.ts";
import { light, scripted } from "./src/catalogue.ts";
import { openFiles } from "./src/processes.ts";
import { Stack } from "./src/stack.ts";

/** Long enough for a start that goes well on a busy machine. */
const START_LIMIT_SECONDS = 8;
const STEPS = ["spawn", "initialize", "session/new"];

describe("a start that goes wrong", () => {
  let stack: Stack;
  let caller: Caller;
  /** What the runner holds open when nothing runs. */
  let atRest = 0;

  beforeAll(async () => {
    stack = await Stack.start({
      settings: { HOLDFAST_START_LIMIT: `${START_LIMIT_SECONDS}s` },
      agents: [
        scripted("scripted"),
        scripted("fails", "--fail-start"),
        scripted("hangs", "--hang-start"),
        scripted("slow", "--slow-start", "600000"),
        scripted("foreign", "--protocol-version", "7"),
        { name: "nowhere", command: "/no/such/program", args: [] },
        ...STEPS.flatMap((step) => ["hang", "exit"].map((deed) => light(`${deed}:${step}`, "--at", `${step}:${deed}`))),
        ...STEPS.slice(1).map((step) => light(`refuse:${step}`, "--at", `${step}:refuse`)),
      ].map((agent) => ({ ...agent, name: agent.name.replaceAll(/[:/]/g, "-") })),
    });
    caller = stack.caller();
    await caller.turn("first", "say here");
    await caller.api.closeSession({ sessionId: "first" }, caller.options());
    await stack.pool();
    atRest = openFiles(stack.runner.pid);
  });
  afterAll(() => stack.close());

  it("80: a start that fails leaves no seat, process, directory or listener: ended FAILED with the agent's last words", async () => {
    const error = await failedStart("fails");
    expect(error?.message).toContain("the agent exited with code 3");
    expect(error?.message).toContain("failing to start, as --fail-start says");
    expect((await failedStart("nowhere"))?.message).toContain("ENOENT");
    for (const step of STEPS) {
      const exited = await failedStart(`exit-${step.replace("/", "-")}`);
      expect(exited?.message).toContain("exited with code 3");
      expect(exited?.message).toContain("light agent: gives up");
    }
    for (const step of STEPS.slice(1)) {
      expect((await failedStart(`refuse-${step.replace("/", "-")}`))?.message).toContain(`${step}: the agent answered`);
    }
  });

  it("80: a start that speaks another protocol version leaves nothing", async () => {
    expect((await failedStart("foreign"))?.message).toContain("ACP version 7");
  });

  it("80: a start that hangs is given up at its limit and leaves nothing", async () => {
    const begunAt = Date.now();
    const error = await failedStart("hangs");
    expect(error?.message).toContain("in time");
    expect(Date.now() - begunAt).toBeGreaterThanOrEqual(START_LIMIT_SECONDS * 1_000);
  });

  it.each(["slow", ...STEPS.map((step) => `hang-${step.replace("/", "-")}`)])(
    "80: a start that is cancelled leaves nothing: %s",
    async (agent) => {
      const turn = caller.turn(agent, "say never", { agent });
      await eventually("its process", () => stack.agentsOf(agent).length === 1);
      await caller.stop(agent);
      const ended = (await turn).one("ended");
      expect(ended).toMatchObject({ outcome: Outcome.CANCELLED, moot: [], uncertain: [] });
      await expectNothing(agent);
      expect((await caller.session(agent)).state).toBe(SessionState.COLD);
    },
  );

  it("80: a session whose start failed keeps what it had before", async () => {
    await caller.turn("kept", "remember colour blue");
    const before = readdirSync(stack.workOf("kept"));
    expect(before).not.toEqual([]);
    const failed = await caller.turn("kept", "say no", { config: { mode: "no such mode" } });
    expect(failed.one("ended").error?.reason).toBe(ErrorReason.AGENT_START_FAILED);
    expect(stack.agentsOf("kept")).toEqual([]);
    expect(readdirSync(stack.workOf("kept"))).toEqual(before);
    // A turn that failed leaves no session of the agent's to bring back (C2).
    const next = await caller.turn("kept", "say again", { config: {} });
    expect(next.one("started")).toMatchObject({ tier: Tier.NEW, coldReason: FallReason.START_FAILED });
    await caller.api.closeSession({ sessionId: "kept" }, caller.options());
    await expectNothing("");
  });

  async function failedStart(agent: string) {
    const turn = await caller.turn(agent, "say never", { agent });
    expect(turn.kinds).toEqual(["ended"]);
    const told = await caller.ended(agent, turn.turnId);
    expect(told.kinds.filter((kind) => kind !== "snapshot")).toEqual(["prompt", "ended"]);
    const { outcome, error } = turn.one("ended");
    expect(outcome).toBe(Outcome.FAILED);
    expect(error?.reason).toBe(ErrorReason.AGENT_START_FAILED);
    const session = await caller.session(agent);
    expect(session).toMatchObject({ state: SessionState.COLD, coldReason: FallReason.START_FAILED, pid: 0n });
    expect(session.owner).toBeUndefined();
    await expectNothing(agent);
    return error;
  }

  async function expectNothing(sessionId: string): Promise<void> {
    await eventually(
      "no seat is taken",
      () => stack.pool(),
      ({ starting, busy, waiting, idle, closing }) => starting + busy + waiting + idle + closing === 0,
    );
    expect(stack.agents()).toEqual([]);
    if (sessionId !== "") expect(existsSync(stack.directoryOf(sessionId))).toBe(false);
    await eventually(
      "nothing is open",
      () => openFiles(stack.runner.pid),
      (open) => open <= atRest,
    );
  }
});
