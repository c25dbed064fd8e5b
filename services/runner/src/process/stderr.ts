// An agent's stderr: always drained, so that it never blocks the agent, and kept only as far as its end (B3).

import type { Readable } from "node:stream";

/** How much of the end is kept. */
export const STDERR_RING_BYTES = 64 * 1024;

export class StderrRing {
  /** Resolves when the stream has ended, or broke. */
  readonly ended: Promise<void>;
  readonly #ring = Buffer.alloc(STDERR_RING_BYTES);
  /** All that was ever kept, in bytes: the ring's next place is its remainder. */
  #written = 0;

  constructor(stream: Readable) {
    const ended = Promise.withResolvers<void>();
    this.ended = ended.promise;
    stream.on("data", (piece: Buffer) => this.#keep(piece));
    // A pipe that breaks has nothing more to say; what was kept stays.
    stream.on("error", () => ended.resolve());
    stream.on("close", () => ended.resolve());
  }

  /** What is kept, as text. A character that the ring's edge cut in two shows as U+FFFD. */
  text(): string {
    const place = this.#written % STDERR_RING_BYTES;
    if (this.#written <= STDERR_RING_BYTES) return this.#ring.toString("utf8", 0, this.#written);
    return Buffer.concat([this.#ring.subarray(place), this.#ring.subarray(0, place)]).toString("utf8");
  }

  #keep(piece: Buffer): void {
    const tail = piece.subarray(-STDERR_RING_BYTES);
    const copied = tail.copy(this.#ring, this.#written % STDERR_RING_BYTES);
    tail.copy(this.#ring, 0, copied);
    this.#written += tail.length;
  }
}
