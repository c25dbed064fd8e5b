// The ACP connection of one agent process: the SDK between our stdout reader and our stdin writer, and what it hands us
// taken to the hearing.
//
//   stdout ──▶ readMessages ──▶ SDK ──▶ Hearing ──▶ AgentListener
//                     └── session/update ──▲
//   stdin  ◀── AgentStdin  ◀── SDK ◀── request, notify
//                     ▲────────────── OpenAsks.answer (at once, past the SDK's queue)
//
// fs/* and terminal/* are not offered; those and every other method that nobody registered the SDK answers with -32601.

import { type ClientConnection, client, methods, RequestError } from "@agentclientprotocol/sdk";
import type { NewId } from "@holdfast/runtime";
import type { ProcessTree } from "../process/index.ts";
import type { AskOutcome } from "./agent.ts";
import { OpenAsks } from "./asks.ts";
import type { Hearing } from "./hearing.ts";
import { AgentStdin } from "./stdin.ts";
import { readMessages } from "./stdout.ts";

const CLIENT_NAME = "holdfast";

export type ConnectionParts = {
  readonly tree: Pick<ProcessTree, "stdin" | "stdout">;
  readonly hearing: Hearing;
  readonly room: () => Promise<void>;
  readonly newId: NewId;
};

export class AgentConnection {
  readonly #stdin: AgentStdin;
  readonly #asks: OpenAsks;
  readonly #hearing: Hearing;
  readonly #newId: NewId;
  readonly #sdk: ClientConnection;

  constructor({ tree, hearing, room, newId }: ConnectionParts) {
    this.#stdin = new AgentStdin(tree.stdin);
    this.#asks = new OpenAsks(this.#stdin);
    this.#hearing = hearing;
    this.#newId = newId;
    const readable = readMessages({
      stdout: tree.stdout,
      room: async () => {
        await this.#stdin.isRead();
        await room();
      },
      isAwaited: (id) => this.#stdin.takeAwaited(id),
      onUpdate: (params) => hearing.update(params),
      onNoise: (kind) => hearing.noise.hear(kind),
      onDropped: (bytes) => hearing.dropped(bytes),
    });
    this.#sdk = this.#app().connect({ readable, writable: this.#stdin.messages });
  }

  /** Resolves when the agent's stdout has ended, or close() was called. */
  get closed(): Promise<void> {
    return this.#sdk.closed;
  }

  get isClosed(): boolean {
    return this.#sdk.signal.aborted;
  }

  /** The unchecked result. Rejects with the agent's error, or when the connection closes first. */
  request(method: string, params: unknown): Promise<unknown> {
    return this.#sdk.agent.request<unknown>(method, params);
  }

  /** Nothing comes back, and nobody is told when the pipe is gone: the process's exit tells it. */
  notify(method: string, params: unknown): void {
    this.#sdk.agent.notify(method, params).catch(() => this.close());
  }

  answer(askId: string, outcome: AskOutcome): boolean {
    return this.#asks.answer(askId, outcome);
  }

  close(): void {
    this.#sdk.close();
  }

  #app() {
    // What is checked of a request, and how strictly, is the hearing's.
    const unchecked = (params: unknown) => params;
    return client({ name: CLIENT_NAME })
      .onRequest(methods.client.session.requestPermission, unchecked, (context) => this.#permissionRequest(context))
      .onNotification("*", ({ method }) => {
        if (method !== methods.protocol.cancelRequest) this.#hearing.noise.hear("unknown_notification");
      });
  }

  #permissionRequest(context: RequestContext) {
    const askId = this.#newId("gate");
    const heard = this.#hearing.request(context.params, askId);
    if (heard.kind === "malformed") throw RequestError.invalidParams();
    const response = this.#asks.open(askId, context, () => this.#hearing.withdraws(askId));
    if (heard.kind === "ask") this.#hearing.asks(heard.ask);
    else this.#asks.answer(askId, { kind: "cancelled" });
    return response;
  }
}

type RequestContext = {
  readonly params: unknown;
  readonly requestId?: string | number | null;
  readonly signal: AbortSignal;
};
