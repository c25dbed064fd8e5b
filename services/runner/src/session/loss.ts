// A process goes, whatever the reason: its slot closes, its tree is ended, and when nothing of it is left one swap records
// the loss and releases the session (A12, A18, A20, D13). There is no other way out.
import { type ColdReason, EVICTION_REASONS, type EvictionReason, type Outcome, type TurnError } from "@holdfast/pool";
import type { AgentExit } from "../acp/agent.ts";
import { boundary } from "./content.ts";
import type { SessionHost } from "./host.ts";

/** Tells the pool; its `end` effect does the rest. A second time it is ignored. */
export function closeSlot(host: SessionHost, instance: string, reason: EvictionReason): void {
  host.world.pool.step({ kind: "close", key: host.slot, instance, reason });
}

export function agentExited(host: SessionHost, exit: AgentExit): void {
  const { live } = host;
  if (live === null) return;
  const how = exit.signal === null ? `with code ${exit.code}` : `by ${exit.signal}`;
  host.failure = { message: `the agent's process ended ${how}`, stderr: exit.stderr };
  host.world.pool.step({ kind: "exited", key: host.slot, instance: live.agent.instance });
}

/** The pool's `end`: from here on the process counts as gone; what it still says is stale. */
export function endProcess(host: SessionHost, instance: string, reason: EvictionReason): void {
  const { live, starting, world } = host;
  const again = beginsAgain(host, reason);
  let gone: Promise<void> = Promise.resolve();
  if (live !== null && host.isCurrent(instance)) {
    boundary(host, live);
    host.live = null;
    gone = live.agent.end();
  } else if (starting?.instance === instance) {
    host.starting = null;
    starting.abort.abort();
    gone = starting.outcome.then((outcome) => (outcome.kind === "ready" ? outcome.agent.end() : undefined));
  }
  if (live !== null || starting !== null) host.observer.evicted(reason);
  const report = (error: unknown) =>
    world.log.error("agent.exit", { reason: "teardown", error, instance, ...host.named });
  world.background(gone.catch(report).then(() => host.inLane(() => closed(host, instance, reason, again))));
}

/**
 * A18: a warm process failed its prompt before anything of it was shown and before an answer was written to it; the prompt is
 * begun again on a new process, once.
 */
function beginsAgain({ live, turn }: SessionHost, reason: EvictionReason): boolean {
  const failed = reason === "agent_exited" || reason === "prompt_failed" || reason === "config_changed";
  return failed && turn?.again != null && live !== null && !live.shown && live.written.size === 0;
}

async function closed(host: SessionHost, instance: string, reason: EvictionReason, again: boolean): Promise<void> {
  const { failure } = host;
  try {
    if (host.epoch !== null) await recordLoss(host, reason, failure, again);
  } finally {
    // Whatever fails here: the process is gone, and its seat is free.
    host.failure = null;
    host.world.pool.step({ kind: "closed", key: host.slot, instance });
    host.emptying.wake();
  }
  const goesOn = again && host.epoch !== null ? host.turn : null;
  const begin = goesOn?.again ?? null;
  if (goesOn !== null) goesOn.again = null;
  if (begin !== null && !begin(reason)) await recordLoss(host, reason, failure);
  host.world.forgetIfEmpty(host);
}

/**
 * D9: the write was not made, so the answer is queued again. When that cannot be recorded the process is ended, and the
 * answer is uncertain (D13).
 */
export async function handBack(host: SessionHost, gateId: string): Promise<boolean> {
  const { instance } = host;
  const changed = await host.change({ type: "hand_back", gateId });
  if (changed.kind !== "refused") return true;
  host.failure = { message: changed.refusal.message, stderr: "" };
  if (instance !== null) closeSlot(host, instance, "prompt_failed");
  return false;
}

export type Failure = { readonly message: string; readonly stderr: string };

/** How long the loss is tried in one turn of the lane, and when it is tried again. */
const LOSS_BUDGET_MS = 2_000;
const LOSS_RETRY_MS = 1_000;

/**
 * One swap: what was lost, how the turn ends if it ends, and the session released unless a start waits for it (E1) or the
 * turn is begun again.
 */
export async function recordLoss(
  host: SessionHost,
  reason: EvictionReason,
  failure: Failure | null,
  again = false,
): Promise<void> {
  const release = host.waiting.size === 0;
  const loss = { type: "lose_process", reason, ...endingOf(host, reason, failure), release } as const;
  const changed = await host.change(again ? { ...loss, restarts: true } : loss, host.writer, LOSS_BUDGET_MS);
  if (changed.kind === "refused") {
    if (host.epoch !== null) tryAgain(host, reason, failure);
    return;
  }
  const { turn, owner } = changed.held.record;
  if (turn === null || turn.ending !== null || !again) host.turn = null;
  if (owner === null) host.leave();
}

/** A start that waited for its seat did not come: what is owned without a process is released after all (E1). */
export async function releaseUnused(host: SessionHost): Promise<void> {
  if (host.waiting.size > 0) return;
  host.world.pool.step({ kind: "wait_given_up", key: host.slot });
  if (host.epoch === null || host.hasSlot) return;
  const reason = host.held?.record.coldReason ?? "closed";
  await recordLoss(host, isEviction(reason) ? reason : "closed", null);
}

function isEviction(reason: ColdReason): reason is EvictionReason {
  return (EVICTION_REASONS as readonly ColdReason[]).includes(reason);
}

/** The store does not answer: the record still names this runner, and says so truly once it can be written. */
function tryAgain(host: SessionHost, reason: EvictionReason, failure: Failure | null): void {
  const again = async () => {
    await host.world.clock.sleep(LOSS_RETRY_MS, host.world.ending);
    await host.inLane(async () => {
      if (host.epoch !== null && host.instance === null) await recordLoss(host, reason, failure);
      host.world.forgetIfEmpty(host);
    });
  };
  host.world.background(again());
}

type LossEnding = { readonly outcome: Outcome; readonly stopReason: string; readonly error: TurnError | null };

function endingOf(host: SessionHost, reason: EvictionReason, failure: Failure | null): LossEnding {
  const failed = (code: string, message: string, nextStep: string): LossEnding => ({
    outcome: "failed",
    stopReason: reason,
    error: { reason: code, message: withStderr(`session ${host.key.sessionId}: ${message}`, failure), nextStep },
  });
  switch (reason) {
    case "start_failed":
      return failed(
        "AGENT_START_FAILED",
        failure?.message ?? "the agent did not start in time",
        "check the agent's catalogue entry and what it printed",
      );
    case "agent_exited":
      return failed("AGENT_EXITED", failure?.message ?? "the agent's process ended", "run the turn again");
    case "prompt_failed":
      return failed("PROMPT_FAILED", failure?.message ?? "the agent failed the prompt", "run the turn again");
    case "turn_limit":
      return failed(
        "TURN_LIMIT",
        "the turn ran longer than its limit",
        "run a shorter turn, or ask for a higher turn_limit",
      );
    case "drain":
    case "closed":
      return { outcome: "cancelled", stopReason: reason, error: null };
    case "owner_lost":
      return { outcome: "lost", stopReason: "owner_dead", error: null };
    default:
      return { outcome: "failed", stopReason: reason, error: null };
  }
}

/** How much of an agent's stderr an error carries. */
const STDERR_TAIL_CHARACTERS = 2_000;

function withStderr(message: string, failure: Failure | null): string {
  const tail = failure?.stderr.trim().slice(-STDERR_TAIL_CHARACTERS) ?? "";
  return tail === "" ? message : `${message}; its stderr ended with: ${tail}`;
}
