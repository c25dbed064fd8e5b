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
import { MODEL_OPTION_ID, type Session } from "./session.ts";
import { Sessions } from "./sessions.ts";
import type { Stage } from "./stage.ts";
import { Turn } from "./turn.ts";
import { Voice } from "./voice.ts";

const AGENT_NAME = "scripted";
const AGENT_VERSION = "0.1.0";

/** The command of `--early-gate`. Whoever allows it finds it in the ledger. */
const EARLY_COMMAND = "echo early";

/** The agent, ready to be connected. Its sessions live as long as the object it gives. */
export function scriptedAgent(flags: Flags, outlet: Outlet): AgentApp {
  const sessions = new Sessions();
  let offers: ClientCapabilities = {};
  const staged = (client: AgentContext, session: Session): Stage => {
    return { session, turn: new Turn(), client, voice: new Voice(client, session), offers, outlet };
  };

  const app = agent({ name: AGENT_NAME })
    .onRequest(methods.agent.initialize, ({ params }) => {
      offers = params.clientCapabilities ?? {};
      return introduction(flags);
    })
    .onRequest(methods.agent.session.new, ({ params, client }) => {
      const session = sessions.create(params.cwd);
      if (flags.earlyGate) later(() => run(staged(client, session), EARLY_COMMAND));
      return { sessionId: session.id, ...settings(session) };
    })
    .onRequest(methods.agent.session.prompt, ({ params, client, signal }) => {
      const session = sessions.get(params.sessionId);
      if (session.turn) throw RequestError.invalidRequest(undefined, "this session has a prompt already");
      return play(staged(client, session), params.prompt, signal);
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => sessions.cancel(params.sessionId))
    .onRequest(methods.agent.session.close, ({ params }) => sessions.close(params.sessionId));
  offerSettings(app, sessions);
  if (!flags.noLoad) offerLoad(app, sessions, flags);
  return app;
}

/** Mode and model, changed while the session lives; a running turn looks at the mode before its next gate. */
function offerSettings(app: AgentApp, sessions: Sessions): void {
  app
    .onRequest(methods.agent.session.setMode, ({ params: { sessionId, modeId } }) => {
      if (!sessions.get(sessionId).setMode(modeId)) throw RequestError.invalidParams({ modeId });
    })
    .onRequest(methods.agent.session.setConfigOption, ({ params: { sessionId, configId, value } }) => {
      const session = sessions.get(sessionId);
      if (configId !== MODEL_OPTION_ID || typeof value !== "string" || !session.setModel(value)) {
        throw RequestError.invalidParams({ configId, value });
      }
      return { configOptions: session.configOptions };
    });
}

/** `load` sends the history again, `resume` does not; both bring the memory back. */
function offerLoad(app: AgentApp, sessions: Sessions, flags: Flags): void {
  app
    .onRequest(methods.agent.session.load, async ({ params, client }) => {
      const session = sessions.bringBack(params.cwd, params.sessionId);
      const voice = new Voice(client, session);
      const replay = session.history.slice();
      const late = flags.lateReplay ? replay.splice(Math.ceil(replay.length / 2)) : [];
      for (const update of replay) await voice.sendUnrecorded(update);
      later(async () => {
        for (const update of late) await voice.sendUnrecorded(update);
      });
      return settings(session);
    })
    .onRequest(methods.agent.session.resume, ({ params }) =>
      settings(sessions.bringBack(params.cwd, params.sessionId)),
    );
}

function settings({ modes, configOptions }: Session) {
  return { modes, configOptions };
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

/** After the response to the request being handled has been handed to the connection. */
function later(deed: () => Promise<void>): void {
  setImmediate(() => {
    deed().catch((error: unknown) => console.error(`scripted agent: ${String(error)}`));
  });
}
