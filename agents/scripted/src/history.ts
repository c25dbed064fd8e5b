// What was said in a session: the updates as they were sent, the user's messages among them, so that `session/load` can
// send them again.
//
// 1. Bounded: above HISTORY_MAX_BYTES the oldest updates are forgotten, an update larger than all of it at once.

import type { SessionUpdate } from "@agentclientprotocol/sdk";

/** Most bytes of JSON one session keeps of its past. */
export const HISTORY_MAX_BYTES = 256 * 1_024;

export class History {
  readonly #updates: SessionUpdate[] = [];
  readonly #sizes: number[] = [];
  #bytes = 0;

  constructor(past: readonly SessionUpdate[] = []) {
    for (const update of past) this.record(update);
  }

  /** The updates kept, oldest first. */
  get updates(): readonly SessionUpdate[] {
    return this.#updates;
  }

  record(update: SessionUpdate): void {
    const bytes = Buffer.byteLength(JSON.stringify(update));
    this.#updates.push(update);
    this.#sizes.push(bytes);
    this.#bytes += bytes;
    while (this.#bytes > HISTORY_MAX_BYTES) {
      this.#updates.shift();
      this.#bytes -= this.#sizes.shift() ?? 0;
    }
  }
}
