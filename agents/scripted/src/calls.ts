// The commands that run a CMD: run, both, both-held, batch, twice, gates, exit-gated. A call is announced, asked for, run
// and reported, always in this order:
//
//   tool_call pending ──► session/request_permission ──► tool_call_update in_progress ──► ledger ──► sh -c ──► completed
//                                   │ reject, cancel                                                    └────► failed
//                                   └──────────────────► tool_call_update failed
//
// 1. Nothing runs that is not in the ledger, and nothing is in the ledger twice for one announcement.
// 2. A call that was not allowed never reaches the ledger. A stopped turn starts nothing.

import { askFor, type Call, described, type Verdict } from "./gate.ts";
import { appendToLedger } from "./ledger.ts";
import { type Outcome, runInShell } from "./shell.ts";
import type { Stage } from "./stage.ts";

/** Exit code of an agent that leaves while its gate is open. */
const EXIT_GATED_CODE = 1;

/** `run CMD`: one gate, one command. */
export async function run(stage: Stage, command: string): Promise<void> {
  const call = await announce(stage, command);
  await settle(stage, call, await verdictOn(stage, call));
}

/** `both`, `twice` and `gates`: all gates open at once, each answered on its own, each running its command at once. */
export async function runAll(stage: Stage, commands: readonly string[]): Promise<void> {
  await Promise.all(commands.map((command) => run(stage, command)));
}

/** `both-held`: all gates open at once, but nothing runs before the last one is answered. */
export async function runAllHeld(stage: Stage, commands: readonly string[]): Promise<void> {
  const decided = await Promise.all(
    commands.map(async (command) => {
      const call = await announce(stage, command);
      return { call, verdict: await verdictOn(stage, call) };
    }),
  );
  for (const { call, verdict } of decided) await settle(stage, call, verdict);
}

/** `batch`: the first call needs no gate and looks as if it ran, but waits for the answer to the second one's. */
export async function batch(stage: Stage, first: string, second: string): Promise<void> {
  const free = await announce(stage, first);
  await report(stage, free, "in_progress");
  const gated = await announce(stage, second);
  const verdict = await verdictOn(stage, gated);
  await settle(stage, free, verdict.kind === "cancelled" ? verdict : { kind: "allowed" });
  await settle(stage, gated, verdict);
}

/** `exit-gated`: leaves as soon as the gate has been written. */
export async function exitGated(stage: Stage, command: string): Promise<never> {
  const call = await announce(stage, command);
  // Nobody will be here to read the answer.
  void askFor(stage, call);
  await stage.voice.say("leaving with a gate open");
  process.exit(EXIT_GATED_CODE);
}

async function announce(stage: Stage, command: string): Promise<Call> {
  const call = { toolCallId: stage.session.nextToolCallId(), command };
  await stage.voice.send({ sessionUpdate: "tool_call", ...described(call) });
  return call;
}

async function verdictOn(stage: Stage, call: Call): Promise<Verdict> {
  const { session, turn } = stage;
  if (turn.signal.aborted) return { kind: "cancelled" };
  if (session.readOnly) return { kind: "rejected", why: "nothing runs in read-only mode" };
  if (session.isAlwaysAllowed(call.command)) return { kind: "allowed" };
  return askFor(stage, call);
}

/** Does what the verdict says, and closes the call. */
async function settle(stage: Stage, call: Call, verdict: Verdict): Promise<void> {
  if (verdict.kind === "cancelled") return report(stage, call, "failed", "cancelled, not run");
  if (verdict.kind === "rejected") return report(stage, call, "failed", `${verdict.why}, not run`);
  await report(stage, call, "in_progress");
  if (stage.turn.signal.aborted) return report(stage, call, "failed", "cancelled, not run");
  const outcome = await start(stage, call);
  const done = outcome.kind === "exited" && outcome.code === 0;
  await report(stage, call, done ? "completed" : "failed", told(outcome), outcome);
}

/** From here to the spawn nothing waits, so that no cancel can come between the ledger's line and the command. */
function start(stage: Stage, call: Call): Promise<Outcome> {
  const { session, turn } = stage;
  try {
    appendToLedger(session.directory, {
      time: new Date().toISOString(),
      pid: process.pid,
      session: session.id,
      toolCallId: call.toolCallId,
      command: call.command,
    });
  } catch (error) {
    return Promise.resolve({ kind: "not-started", reason: `no ledger, so not run: ${String(error)}` });
  }
  return runInShell(call.command, session.directory, turn.signal);
}

function told(outcome: Outcome): string {
  switch (outcome.kind) {
    case "exited":
      return outcome.code === 0 ? outcome.output : `${outcome.output}exit code ${outcome.code}`;
    case "killed":
      return `${outcome.output}ended by ${outcome.signal}`;
    case "not-started":
      return outcome.reason;
  }
}

type Report = "in_progress" | "completed" | "failed";

function report(stage: Stage, call: Call, status: Report, text?: string, rawOutput?: Outcome): Promise<void> {
  const content = text === undefined ? undefined : [{ type: "content", content: { type: "text", text } } as const];
  return stage.voice.send({
    sessionUpdate: "tool_call_update",
    toolCallId: call.toolCallId,
    status,
    ...(content && { content }),
    ...(rawOutput && { rawOutput }),
  });
}
