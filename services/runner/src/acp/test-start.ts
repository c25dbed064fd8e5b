// For the tests here: agents of a few lines and the scripted one, started as a session would start them, and a listener
// that keeps what it is told.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import { type ContentBlock, ContentBlockSchema } from "@holdfast/proto";
import { createLog, newId } from "@holdfast/runtime";
import type {
  Agent,
  AgentExit,
  AgentListener,
  AgentStart,
  ContentEvent,
  PermissionAsk,
  PromptResult,
  StartOutcome,
} from "./agent.ts";
import { startAgent } from "./start-agent.ts";

const SCRIPTED = fileURLToPath(new URL("../../../../agents/scripted/src/main.ts", import.meta.url));

export type Told =
  | { readonly kind: "update"; readonly event: ContentEvent }
  | { readonly kind: "asks"; readonly ask: PermissionAsk }
  | { readonly kind: "withdraws"; readonly askId: string }
  | { readonly kind: "settled"; readonly result: PromptResult }
  | { readonly kind: "exited"; readonly exit: AgentExit }
  | { readonly kind: "dropped"; readonly bytes: number };

/** Keeps everything in order, and lets a test wait for something to be told. */
export class Recorder implements AgentListener {
  readonly told: Told[] = [];
  #waiting: (() => void)[] = [];

  update = (event: ContentEvent) => this.#keep({ kind: "update", event });
  asks = (ask: PermissionAsk) => this.#keep({ kind: "asks", ask });
  withdraws = (askId: string) => this.#keep({ kind: "withdraws", askId });
  settled = (result: PromptResult) => this.#keep({ kind: "settled", result });
  exited = (exit: AgentExit) => this.#keep({ kind: "exited", exit });
  dropped = (bytes: number) => this.#keep({ kind: "dropped", bytes });

  /** The `count`th of a kind. */
  async until<Kind extends Told["kind"]>(kind: Kind, count = 1): Promise<Extract<Told, { kind: Kind }>> {
    for (;;) {
      const found = this.of(kind)[count - 1];
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  of<Kind extends Told["kind"]>(kind: Kind): readonly Extract<Told, { kind: Kind }>[] {
    return this.told.filter((entry): entry is Extract<Told, { kind: Kind }> => entry.kind === kind);
  }

  /** All that was said, joined. */
  get said(): string {
    return this.of("update")
      .map(({ event }) => (event.case === "messageDelta" ? textOf(event.value.content) : ""))
      .join("");
  }

  #keep(entry: Told): void {
    this.told.push(entry);
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

function textOf(block: ContentBlock | undefined): string {
  return block?.block.case === "text" ? block.block.value.text : "";
}

export function text(value: string): ContentBlock {
  return create(ContentBlockSchema, { block: { case: "text", value: { text: value } } });
}

/** What a test started; `clear` ends and removes all of it. */
export class Stage {
  readonly directory = mkdtempSync(join(tmpdir(), "holdfast-acp-"));
  /** One JSON object for each line of the log. */
  readonly logged: Record<string, unknown>[] = [];
  readonly #agents: Agent[] = [];

  async start(over: Partial<AgentStart> & { readonly listener: AgentListener }): Promise<StartOutcome> {
    const outcome = await startAgent({
      instance: newId("instance"),
      owner: newId("nonce"),
      agentName: "test",
      command: process.execPath,
      args: [SCRIPTED],
      env: { PATH: process.env.PATH ?? "" },
      directory: this.directory,
      mcpServers: [],
      model: "",
      mode: "",
      systemPrompt: "",
      secrets: [],
      log: createLog({ service: "test", destination: { write: (line) => void this.logged.push(JSON.parse(line)) } }),
      load: null,
      signal: new AbortController().signal,
      room: () => Promise.resolve(),
      ...over,
    });
    if (outcome.kind === "ready") this.#agents.push(outcome.agent);
    return outcome;
  }

  async ready(over: Partial<AgentStart> & { readonly listener: AgentListener }): Promise<Agent> {
    const outcome = await this.start(over);
    if (outcome.kind === "failed") throw new Error(`the agent did not start: ${outcome.message}\n${outcome.stderr}`);
    return outcome.agent;
  }

  /** Which kinds of noise were logged. */
  get noise(): readonly unknown[] {
    return this.logged.filter(({ event }) => event === "agent.noise").map(({ reason }) => reason);
  }

  async clear(): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent.end()));
    rmSync(this.directory, { recursive: true });
  }
}

/** The scripted agent with flags. */
export function scripted(...flags: string[]): Pick<AgentStart, "args"> {
  return { args: [SCRIPTED, ...flags] };
}

/**
 * An agent of a few lines. `body` is JavaScript with `send(message)`, `write(text)`, and a function per method in `on`, each
 * given (params, reply, id); `initialize` and `session/new` are answered unless it says otherwise.
 */
export function smallAgent(body: string): Pick<AgentStart, "args"> {
  const script = `
    const write = (text) => process.stdout.write(text);
    const send = (message) => write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    const update = (update) => send({ method: "session/update", params: { sessionId: "s", update } });
    const say = (text) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
    const answers = new Map();
    const ask = (id, toolCall, more = {}) => new Promise((resolve) => {
      answers.set(id, resolve);
      const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }, { optionId: "no", name: "No", kind: "reject_once" }];
      send({ id, method: "session/request_permission", params: { sessionId: "s", toolCall, options, ...more } });
    });
    const on = {
      initialize: (params, reply) => reply({ protocolVersion: 1, agentCapabilities: {} }),
      "session/new": (params, reply) => reply({ sessionId: "s" }),
    };
    ${body}
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const message = JSON.parse(line);
      if (message.method === undefined) return answers.get(message.id)?.(message);
      on[message.method]?.(message.params, (result) => send({ id: message.id, result }), message.id);
    }).on("close", () => process.exit());
  `;
  return { args: ["-e", script] };
}
