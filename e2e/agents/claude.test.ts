// The whole pair with a real agent: Claude's ACP agent as npm has it, behind the gateway and a runner, in front of a
// scripted model. What a prompt makes the model say and call is in model-script.ts.
//
// A command that only reads is run without asking; one that redirects into a file is asked about. So each held command
// appends one line to a file, and counting lines counts how often it ran.

import { setTimeout as hold } from "node:timers/promises";
import { Disposition, FallReason, GateCloseReason, GateState, Outcome, SessionState, Tier } from "@holdfast/proto";
import { status } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFailed } from "vitest";
import { eventually, refusalOf, type TurnSeen } from "../src/caller.ts";
import { ClaudeStack } from "./claude-stack.ts";

/** How long a person takes to answer in one of these tests: it is what the test is about, not a wait for something. */
const HOLD_MS = 20_000;

/** Quotes, escapes, a variable and letters beyond ASCII: what is likely to come out changed somewhere on the way. */
const AWKWARD = String.raw`printf '%s\n' "it's \"held\" — \$HOME ✓ é" >> effects.txt`;
const AWKWARD_EFFECT = `it's "held" — $HOME ✓ é`;

const EFFECTS = "effects.txt";

describe("the real claude agent through gateway and runner", () => {
  let claude: ClaudeStack;
  beforeAll(async () => {
    claude = await ClaudeStack.start();
  });
  afterAll(() => claude.close());

  const pidOf = async (sessionId: string): Promise<number> => Number((await claude.caller.session(sessionId)).pid);

  /** Parks a session and checks what holds of every park: nothing has run, and the process that asked is there. */
  async function park(sessionId: string, prompt: string): Promise<{ readonly seen: TurnSeen; readonly pid: number }> {
    const seen = await claude.turn(sessionId, prompt);
    expect(seen.last).toBe("parked");
    const session = await claude.caller.session(sessionId);
    expect(session).toMatchObject({ state: SessionState.PARKED, gates: [{ gateId: seen.gateId, warm: true }] });
    expect(await claude.lines(sessionId, EFFECTS)).toEqual([]);
    expect(claude.stack.agentsOf(sessionId)).toContain(Number(session.pid));
    return { seen, pid: Number(session.pid) };
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
});
