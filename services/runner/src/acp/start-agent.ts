// A start, from nothing to a session that can be prompted:
//
//   spawn ──▶ initialize ──▶ session/resume | session/load | session/new ──▶ model, mode ──▶ ready
//
// S1  Whatever step fails, is given up or outlives the process: the whole tree is ended before the outcome is told (A1).
// S2  Each step is raced against the start's signal and the process's end; no step has a time limit of its own (A3 gives
//     the start one).
// S3  A mode or model that was asked for and is not offered fails the start: the mode may be what makes the agent ask (P5).

import { newId, redact, systemClock } from "@holdfast/runtime";
import { isDoneWithin, type ProcessTree, SharedTable, startTree } from "../process/index.ts";
import type { AgentStart, StartOutcome } from "./agent.ts";
import { AgentConnection } from "./connection.ts";
import { describeFailure, StartProblem } from "./failure.ts";
import { Hearing, NoiseCount } from "./hearing.ts";
import { LiveAgent } from "./live-agent.ts";
import { openSession, type Progress } from "./open-session.ts";
import { stderrTail } from "./stderr-tail.ts";

/** How long a process whose connection closed has to exit, so that its exit can be named. */
const EXIT_NAMED_MS = 500;

/** All agents of this process are measured by one reading of the process table. */
const tables = new SharedTable(systemClock);

export async function startAgent(start: AgentStart): Promise<StartOutcome> {
  const progress: Progress = { step: "spawn" };
  let tree: ProcessTree | null = null;
  try {
    start.signal.throwIfAborted();
    tree = await startTree(start, systemClock, tables);
    return { kind: "ready", agent: await begin(start, tree, progress) };
  } catch (error) {
    const ending = await tree?.end();
    const message = redact(`${progress.step}: ${describeFailure(error)}`, start.secrets);
    start.log.warn("agent.start", {
      reason: "failed",
      agent: start.agentName,
      instance: start.instance,
      count: ending?.left.length ?? 0,
      detail: message,
    });
    return { kind: "failed", message, stderr: stderrTail(tree, start.secrets) };
  }
}

async function begin(start: AgentStart, tree: ProcessTree, progress: Progress): Promise<LiveAgent> {
  const { instance, agentName: agent, log } = start;
  const noise = new NoiseCount((reason, count) => log.warn("agent.noise", { reason, count, agent, instance }));
  const hearing = new Hearing(start.listener, noise);
  const connection = new AgentConnection({ tree, hearing, room: start.room, newId });
  const broken = brokenStart(start.signal, tree, connection);
  try {
    // A request that fails because the connection closed says less than why it closed.
    const opening = openSession(start, connection, hearing, progress).catch((error: unknown) => {
      return connection.isClosed ? broken.promise : Promise.reject(error);
    });
    const opened = await Promise.race([opening, broken.promise]);
    hearing.ready(opened.tier);
    log.info("agent.ready", { agent, instance, pid: tree.pid, tier: opened.tier });
    return new LiveAgent({ start, tree, connection, hearing, opened });
  } catch (error) {
    hearing.close();
    connection.close();
    throw error;
  } finally {
    broken.forget();
  }
}

/** Rejects when the start is given up, or when the process goes or closes its stdout. */
function brokenStart(signal: AbortSignal, tree: ProcessTree, connection: AgentConnection) {
  const broken = Promise.withResolvers<never>();
  // The race may be over before it rejects.
  broken.promise.catch(() => undefined);
  const giveUp = (): void => broken.reject(new StartProblem(`given up: ${describeFailure(signal.reason)}`));
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  const name = async (): Promise<void> => {
    const hasExited = await isDoneWithin(tree.exited, EXIT_NAMED_MS, systemClock);
    if (!hasExited) return broken.reject(new StartProblem("the agent closed its stdout"));
    const { code, signal: by } = await tree.exited;
    broken.reject(
      new StartProblem(by === null ? `the agent exited with code ${code}` : `the agent was ended by ${by}`),
    );
  };
  const report = (): void => void name().catch((error: unknown) => broken.reject(error));
  tree.exited.then(report, report);
  connection.closed.then(report, report);
  return { promise: broken.promise, forget: () => signal.removeEventListener("abort", giveUp) };
}
