// The updates of one session: recorded, then sent. Every one waits until the client's pipe took it.

import { randomUUID } from "node:crypto";
import { type AgentContext, methods, type SessionUpdate } from "@agentclientprotocol/sdk";
import type { Session } from "./session.ts";

export class Voice {
  readonly #client: AgentContext;
  readonly #session: Session;

  constructor(client: AgentContext, session: Session) {
    this.#client = client;
    this.#session = session;
  }

  /** One message of its own: other than chunks of one message, two of them never run together. */
  say(text: string): Promise<void> {
    return this.send(message(text));
  }

  think(text: string): Promise<void> {
    const content = { type: "text", text } as const;
    return this.send({ sessionUpdate: "agent_thought_chunk", messageId: randomUUID(), content });
  }

  async send(update: SessionUpdate): Promise<void> {
    this.#session.record(update);
    await this.sendUnrecorded(update);
  }

  /** For what is sent in great numbers, or sent again. */
  sendUnrecorded(update: SessionUpdate): Promise<void> {
    return this.#client.notify(methods.client.session.update, { sessionId: this.#session.id, update });
  }
}

/** A chunk of an agent's message; without an id, a message of its own. */
export function message(text: string, messageId: string = randomUUID()): SessionUpdate {
  return { sessionUpdate: "agent_message_chunk", messageId, content: { type: "text", text } };
}
