// A cold start: long, so it runs beside the lane and comes back into it as one input. Whatever it acquired is released when
// it fails, is given up, or comes too late (A1).
import type { ColdReason, SessionConfig } from "@holdfast/pool";
import type { Agent, StartOutcome } from "../acp/agent.ts";
import { startAgent } from "../acp/start-agent.ts";
import type { AgentEntry } from "../catalogue/catalogue.ts";
import type { SessionHost } from "./host.ts";
import { handleCome, listen } from "./listen.ts";
import { Live } from "./live.ts";
import { closeSlot } from "./loss.ts";
import { sendPrompt } from "./prompt.ts";
import type { Secrets } from "./secrets.ts";

/** How long the swap that names a new process is tried. Then the process is ended and the start has failed. */
const READY_BUDGET_MS = 10_000;

/** How often what an agent says before its first prompt is heard out; one that never stops is prompted all the same. */
const EARLY_ROUNDS = 64;

export type StartWanted = {
  readonly instance: string;
  readonly entry: AgentEntry;
  readonly config: SessionConfig;
  readonly directory: string;
  readonly secrets: Secrets;
  readonly coldReason: ColdReason;
  /** For the agent's TRACEPARENT. */
  readonly traceparent: string;
};

export function beginStart(host: SessionHost, wanted: StartWanted): void {
  const abort = new AbortController();
  const load = loadable(host, wanted);
  const outcome = launch(host, wanted, abort.signal, load).catch((error: unknown): StartOutcome => {
    host.world.log.error("crash", { reason: "agent_start", error, ...host.named });
    return { kind: "failed", message: "the start failed by a mistake of the runner's own; see its log", stderr: "" };
  });
  host.starting = { instance: wanted.instance, abort, outcome };
  host.secrets = wanted.secrets;
  const arrive = (result: StartOutcome) => host.inLane(() => arrived(host, wanted, result));
  host.world.background(outcome.then(arrive));
}

/** C2: the agent's own session, if it is that of the latest turn before this one, and the agent can load it. */
function loadable(host: SessionHost, { entry }: StartWanted): string | null {
  return entry.load ? (host.held?.record.agentSession?.id ?? null) : null;
}

async function launch(
  host: SessionHost,
  { instance, entry, config, directory, secrets, traceparent }: StartWanted,
  signal: AbortSignal,
  load: string | null,
): Promise<StartOutcome> {
  const prepared = await entry.prepare({ key: host.key, directory, config, secrets, traceparent });
  if (prepared.kind === "failed") return { kind: "failed", message: prepared.message, stderr: "" };
  host.secretValues = prepared.start.secrets;
  const outcome = await startAgent({
    ...prepared.start,
    instance,
    load,
    signal,
    listener: listen(host, instance),
    room: async () => {
      await host.inbox.room();
      await host.teller.hasRoom();
    },
  });
  if (outcome.kind === "failed") await prepared.undo();
  return outcome;
}

async function arrived(host: SessionHost, wanted: StartWanted, outcome: StartOutcome): Promise<void> {
  const { instance } = wanted;
  if (host.starting?.instance !== instance || host.starting.abort.signal.aborted) {
    // Given up meanwhile: the teardown waits for the outcome itself and ends what came of it (loss.ts).
    return;
  }
  host.starting = null;
  if (outcome.kind === "failed") {
    host.failure = { message: outcome.message, stderr: outcome.stderr };
    host.world.pool.step({ kind: "start_failed", key: host.slot, instance });
    return;
  }
  await becomeReady(host, wanted, outcome.agent);
}

async function becomeReady(host: SessionHost, wanted: StartWanted, agent: Agent): Promise<void> {
  const { instance, coldReason } = wanted;
  host.live = new Live(agent);
  host.world.pool.step({ kind: "started", key: host.slot, instance, offers: agent.offers });
  const { tier, pid, sessionId } = agent;
  const process = { instance, pid, tier };
  const ready = { type: "ready", process, agentSessionId: sessionId, coldReason, commandId: null } as const;
  const changed = await host.change(ready, undefined, READY_BUDGET_MS);
  if (changed.kind === "refused") {
    host.failure = { message: changed.refusal.message, stderr: "" };
    closeSlot(host, instance, "start_failed");
    return;
  }
  host.observer.ready("prompt", tier, coldReason, pid);
  for (let rounds = 0; rounds < EARLY_ROUNDS && !host.inbox.isEmpty; rounds += 1) await handleCome(host);
  if (host.turn !== null && host.isCurrent(instance)) sendPrompt(host, host.turn.prompt);
}
