// The protocol's part of a start: the handshake, the agent's own session, its model and mode.

import { methods, PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk";
import { systemClock, VERSION } from "@holdfast/runtime";
import type { z } from "zod";
import type { AgentMcpServer, AgentStart } from "./agent.ts";
import type { AgentConnection } from "./connection.ts";
import { StartProblem } from "./failure.ts";
import type { Hearing } from "./hearing.ts";
import { idsOf, readSelectors, type Selector, type Selectors, select } from "./selectors.ts";
import { initializeShape, newSessionShape } from "./shapes.ts";

/** After a load the agent has to be silent for this long: some go on replaying after their response (B5). */
const REPLAY_QUIET_MS = 250;
/** An agent that never falls silent is prompted all the same. */
const REPLAY_SETTLE_MS = 5_000;

/** Where a start is; named in the message when it fails there. */
export type Progress = { step: string };

export type OpenedSession = {
  readonly sessionId: string;
  readonly tier: "load" | "new";
  readonly canLoad: boolean;
  readonly selectors: Selectors;
};

export async function openSession(
  start: AgentStart,
  connection: AgentConnection,
  hearing: Hearing,
  progress: Progress,
): Promise<OpenedSession> {
  const capabilities = await shakeHands(connection, progress);
  const mcpServers = start.mcpServers.map((server) => toAcpServer(server, capabilities));
  const session = { cwd: start.directory, mcpServers };
  const found =
    (await bringBack(start, session, capabilities, connection, hearing, progress)) ??
    (await create(start, session, connection, progress));
  hearing.belongTo(found.sessionId);
  if (found.replays) await replayEnded(hearing);
  const { mode, model } = found.selectors;
  await choose("model", model, start.model, found.sessionId, connection, progress);
  await choose("mode", mode, start.mode, found.sessionId, connection, progress);
  const canLoad = waysBack(capabilities).length > 0;
  return { sessionId: found.sessionId, tier: found.tier, canLoad, selectors: found.selectors };
}

type Capabilities = NonNullable<z.output<typeof initializeShape>["agentCapabilities"]>;

async function shakeHands(connection: AgentConnection, progress: Progress): Promise<Capabilities> {
  progress.step = "initialize";
  const response = await connection.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    clientInfo: { name: "holdfast", version: VERSION },
  });
  const parsed = initializeShape.safeParse(response);
  if (!parsed.success) throw new StartProblem("the agent's answer is malformed");
  const { protocolVersion, agentCapabilities = EMPTY } = parsed.data;
  if (protocolVersion !== PROTOCOL_VERSION) {
    throw new StartProblem(`the agent speaks ACP version ${protocolVersion}, this runner speaks ${PROTOCOL_VERSION}`);
  }
  return agentCapabilities;
}

const EMPTY: Capabilities = { loadSession: undefined, mcpCapabilities: undefined, sessionCapabilities: undefined };

type Found = {
  readonly sessionId: string;
  readonly tier: "load" | "new";
  readonly selectors: Selectors;
  readonly replays: boolean;
};

type SessionParams = { readonly cwd: string; readonly mcpServers: readonly object[] };

/** How the agent can bring a session back, the silent way first. */
function waysBack({ loadSession, sessionCapabilities }: Capabilities): readonly string[] {
  const { resume, load } = methods.agent.session;
  const canResume = sessionCapabilities?.resume !== undefined && sessionCapabilities.resume !== null;
  return [...(canResume ? [resume] : []), ...(loadSession === true ? [load] : [])];
}

/** Null when there is nothing to bring back, or the agent no longer has it: then it begins without memory, and says so. */
async function bringBack(
  { load: sessionId, log, agentName: agent, instance }: AgentStart,
  session: SessionParams,
  capabilities: Capabilities,
  connection: AgentConnection,
  hearing: Hearing,
  progress: Progress,
): Promise<Found | null> {
  if (sessionId === null) return null;
  for (const method of waysBack(capabilities)) {
    progress.step = method;
    try {
      const response = await connection.request(method, { ...session, sessionId });
      const replays = method === methods.agent.session.load;
      return { sessionId, tier: "load", selectors: selectorsIn(response), replays };
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      log.warn("agent.start", { reason: "not_loaded", agent, instance, count: error.code, path: method });
    }
  }
  // A load that failed halfway may have replayed something already: it is as unwanted as the rest.
  if (hearing.updates > 0) await replayEnded(hearing);
  return null;
}

async function create(
  { systemPrompt }: AgentStart,
  session: SessionParams,
  connection: AgentConnection,
  progress: Progress,
): Promise<Found> {
  progress.step = methods.agent.session.new;
  const meta = systemPrompt === "" ? {} : { _meta: { systemPrompt: { append: systemPrompt } } };
  const response = await connection.request(methods.agent.session.new, { ...session, ...meta });
  const parsed = newSessionShape.safeParse(response);
  if (!parsed.success) throw new StartProblem("the agent's answer names no session");
  return { sessionId: parsed.data.sessionId, tier: "new", selectors: selectorsIn(response), replays: false };
}

function selectorsIn(response: unknown): Selectors {
  const selectors = readSelectors(response);
  if (selectors === null) throw new StartProblem("the agent's answer is malformed");
  return selectors;
}

async function replayEnded(hearing: Hearing): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + REPLAY_SETTLE_MS;
  for (let seen = -1; seen !== hearing.updates && systemClock.monotonicMs() < deadlineMs; ) {
    seen = hearing.updates;
    await systemClock.sleep(REPLAY_QUIET_MS);
  }
}

async function choose(
  what: "mode" | "model",
  selector: Selector | null,
  wanted: string,
  sessionId: string,
  connection: AgentConnection,
  progress: Progress,
): Promise<void> {
  if (wanted === "") return;
  progress.step = what;
  const selection = select(selector, sessionId, wanted);
  if (selection === null) {
    const offered = idsOf(selector).join(", ");
    throw new StartProblem(`the agent does not offer ${what} ${wanted}${offered === "" ? "" : `, but ${offered}`}`);
  }
  await connection.request(selection.method, selection.params);
}

/** Throws for a transport that the agent does not speak: a session without its tools would look as if it had them. */
function toAcpServer(server: AgentMcpServer, { mcpCapabilities }: Capabilities): object {
  const { name } = server;
  if (server.transport === "stdio") {
    return { name, command: server.command, args: [...server.args], env: named(server.env) };
  }
  if (mcpCapabilities?.[server.transport] !== true) {
    throw new StartProblem(`the agent takes no MCP servers over ${server.transport}, which ${name} needs`);
  }
  return { type: server.transport, name, url: server.url, headers: named(server.headers) };
}

function named(values: Readonly<Record<string, string>>): readonly object[] {
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}
