// Messages to an agent's stdin.
//
// I1  A message is handed to the pipe in the step in which it is written; nothing here waits, so that nothing can come
//     between the decision to write and the write (D9). What the agent does not read yet waits in the pipe's buffer.
// I2  Every message is one write of one line: lines never mix.
// I3  An agent that does not read its stdin is not read either, once STDIN_BACKLOG_BYTES wait for it: what it can make us
//     answer is bounded (B4).

import type { Writable } from "node:stream";
import type { AnyMessage } from "@agentclientprotocol/sdk";

/** What may wait for the agent before nothing more is read from it. Above the largest prompt, which alone never stops it. */
export const STDIN_BACKLOG_BYTES = 16 * 1024 * 1024;

export class AgentStdin {
  /** For the SDK. It queues behind what it wrote before, but never behind the agent. */
  readonly messages: WritableStream<AnyMessage>;
  readonly #stdin: Writable;
  /** Our open requests. */
  readonly #awaited = new Set<unknown>();
  /** Results that were written ahead of the SDK. */
  readonly #writtenAhead = new WeakSet<object>();

  constructor(stdin: Writable) {
    this.#stdin = stdin;
    this.messages = new WritableStream({ write: (message) => this.#pass(message) });
  }

  /** A request of ours with this id is open. Asked once per response: it is not open afterwards. */
  takeAwaited(id: unknown): boolean {
    return this.#awaited.delete(id);
  }

  /**
   * Writes the response to a request now, ahead of the SDK, which is given the same `result` and will pass it on in its own
   * time: then it is left out. False when the pipe is gone and nothing was written.
   */
  respond(id: string | number, result: object): boolean {
    if (!this.#stdin.writable) return false;
    this.#writtenAhead.add(result);
    this.#write({ jsonrpc: "2.0", id, result });
    return true;
  }

  /** Resolves when the agent has read enough of what was written to it, or the pipe is gone. */
  async isRead(): Promise<void> {
    while (this.#stdin.writable && this.#stdin.writableLength > STDIN_BACKLOG_BYTES) await this.#drained();
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        this.#stdin.off("drain", settle).off("close", settle);
        resolve();
      };
      this.#stdin.on("drain", settle).on("close", settle);
    });
  }

  #pass(message: AnyMessage): void {
    if ("result" in message && typeof message.result === "object" && message.result !== null) {
      if (this.#writtenAhead.has(message.result)) return;
    }
    if (!this.#stdin.writable) throw new Error("the agent's stdin is closed");
    if ("method" in message && "id" in message) this.#awaited.add(message.id);
    this.#write(message);
  }

  #write(message: unknown): void {
    this.#stdin.write(`${JSON.stringify(message)}\n`);
  }
}
