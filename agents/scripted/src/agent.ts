// The story of the agent: an ACP agent whose prompts are scripts. Read language.ts for what a script can say, then this
// file from the top, then perform.ts and calls.ts.
//
//   client                          agent
//     │ initialize, session/new       │  one Session, its memory in the session's directory
//     │ session/prompt "run make" ──► │  parsePrompt ─► one Turn ─► perform, line by line
//     │ ◄── tool_call pending         │
//     │ ◄── request_permission        │  the gate: the prompt waits, for as long as it takes
//     │ allow-once ─────────────────► │  ledger line, then sh -c make
//     │ ◄── tool_call_update          │
//     │ ◄── end_turn                  │  the next line, or the end
//
// 1. One prompt at a time and session; a second one is refused (-32600), it neither waits nor replaces the first.
// 2. After a cancel nothing starts any more; gates are withdrawn, running commands are killed, the prompt ends `cancelled`.

import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import {
  type AgentApp,
  type AgentContext,
  agent,
  type ClientCapabilities,
  type ContentBlock,
  type InitializeResponse,
  methods,
  PROTOCOL_VERSION,
  type PromptResponse,
  RequestError,
} from "@agentclientprotocol/sdk";
import { run } from "./calls.ts";
import type { Flags } from "./flags.ts";
import { type Command, parsePrompt } from "./language.ts";
import type { Outlet } from "./outlet.ts";
import { perform } from "./perform.ts";
import { MODEL_OPTION_ID, Session } from "./session.ts";
import type { Stage } from "./stage.ts";
import { Turn } from "./turn.ts";
import { Voice } from "./voice.ts";

const AGENT_NAME = "scripted";
const AGENT_VERSION = "0.1.0";

/** The command of `--early-gate`. Whoever allows it finds it in the ledger. */
const EARLY_COMMAND = "echo early";

export function scriptedAgent(flags: Flags, outlet: Outlet): AgentApp {
  const sessions = new Map<string, Session>();
  let offers: ClientCapabilities = {};

  const app = agent({ name: AGENT_NAME })
    .onRequest(methods.agent.initialize, ({ params }) => {
      offers = params.clientCapabilities ?? {};
      return introduction(flags);
    })
    .onRequest(methods.agent.session.new, ({ params, client }) => {
      const session = Session.create(checkedDirectory(params.cwd));
      sessions.set(session.id, session);
      if (flags.earlyGate) later(() => run(staged(client, session, new Turn()), EARLY_COMMAND));
      return { sessionId: session.id, modes: session.modes, configOptions: session.configOptions };
    })
    .onRequest(methods.agent.session.setMode, ({ params }) => {
      if (!known(params.sessionId).setMode(params.modeId)) throw RequestError.invalidParams({ modeId: params.modeId });
      return {};
    })
    .onRequest(methods.agent.session.setConfigOption, ({ params }) => {
      const session = known(params.sessionId);
      const { configId, value } = params;
      if (configId !== MODEL_OPTION_ID || typeof value !== "string" || !session.setModel(value)) {
        throw RequestError.invalidParams({ configId, value });
      }
      return { configOptions: session.configOptions };
    })
    .onRequest(methods.agent.session.prompt, async ({ params, client, signal }) => {
      const session = known(params.sessionId);
      if (session.turn) throw RequestError.invalidRequest(undefined, "this session has a prompt already");
      return play(staged(client, session, new Turn()), params.prompt, signal);
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => sessions.get(params.sessionId)?.turn?.cancel())
    .onRequest(methods.agent.session.close, ({ params }) => {
      known(params.sessionId).turn?.cancel();
      sessions.delete(params.sessionId);
      return {};
    });
  return flags.noLoad ? app : withLoad(app);

  function withLoad(plain: AgentApp): AgentApp {
    return plain
      .onRequest(methods.agent.session.load, async ({ params, client }) => {
        const session = broughtBack(params.cwd, params.sessionId);
        const voice = new Voice(client, session);
        const replay = session.history.slice();
        const late = flags.lateReplay ? replay.splice(Math.ceil(replay.length / 2)) : [];
        for (const update of replay) await voice.sendUnrecorded(update);
        later(async () => {
          for (const update of late) await voice.sendUnrecorded(update);
        });
        return { modes: session.modes, configOptions: session.configOptions };
      })
      .onRequest(methods.agent.session.resume, ({ params }) => {
        const session = broughtBack(params.cwd, params.sessionId);
        return { modes: session.modes, configOptions: session.configOptions };
      });
  }

  function broughtBack(cwd: string, id: string): Session {
    if (sessions.get(id)?.turn) throw RequestError.invalidRequest(undefined, "this session has a prompt running");
    const session = Session.restore(checkedDirectory(cwd), id);
    if (session === undefined) throw RequestError.sessionNotFound(id);
    sessions.set(id, session);
    return session;
  }

  function known(id: string): Session {
    const session = sessions.get(id);
    if (session === undefined) throw RequestError.sessionNotFound(id);
    return session;
  }

  function staged(client: AgentContext, session: Session, turn: Turn): Stage {
    return { session, turn, client, voice: new Voice(client, session), offers, outlet };
  }
}

function introduction(flags: Flags): InitializeResponse {
  return {
    protocolVersion: flags.protocolVersion ?? PROTOCOL_VERSION,
    agentInfo: { name: AGENT_NAME, version: AGENT_VERSION },
    agentCapabilities: {
      loadSession: !flags.noLoad,
      promptCapabilities: { image: true, embeddedContext: true },
      sessionCapabilities: { close: {}, ...(flags.noLoad ? {} : { resume: {} }) },
    },
  };
}

/** One turn: every line in order, until the end or a stop. `signal`: the client gave the request up, or is gone. */
async function play(stage: Stage, prompt: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse> {
  const { session, turn } = stage;
  session.turn = turn;
  const giveUp = () => turn.cancel();
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    for (const content of prompt) session.record({ sessionUpdate: "user_message_chunk", content });
    for (const command of prompt.flatMap(commandsOf)) {
      if (turn.signal.aborted) break;
      await perform(command, stage);
    }
    return { stopReason: await turn.settle() };
  } finally {
    signal.removeEventListener("abort", giveUp);
    session.turn = undefined;
    later(() => turn.doAfterwards());
  }
}

/** Text is script; of anything else it is only said that it arrived. */
function commandsOf(block: ContentBlock): Command[] {
  return block.type === "text" ? parsePrompt(block.text) : [{ kind: "echo", text: `received: ${block.type}` }];
}

function checkedDirectory(path: string): string {
  if (!isAbsolute(path) || !statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    throw RequestError.invalidParams({ cwd: path }, "cwd must be an absolute path of a directory");
  }
  return path;
}

/** After the response to the request being handled has been handed to the connection. */
function later(deed: () => Promise<void>): void {
  setImmediate(() => {
    deed().catch((error: unknown) => console.error(`scripted agent: ${String(error)}`));
  });
}
