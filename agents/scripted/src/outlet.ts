// The one way to stdout, for the protocol's messages and for the noise between them.
//
// 1. Pieces go out in the order in which they were handed over, and a sequence of pieces is never interrupted, so noise
//    falls between messages and not into them, unless it means to.
// 2. Every write waits until the reader took it: a reader that stops reading stops the agent, and grows nothing.

import type { Writable } from "node:stream";

export class Outlet {
  readonly #target: Writable;
  #last: Promise<void> = Promise.resolve();

  constructor(target: Writable) {
    this.#target = target;
  }

  /** For the SDK: every chunk it writes is one whole line. */
  get messages(): WritableStream<Uint8Array> {
    return new WritableStream({ write: (line) => this.write([line]) });
  }

  /** Writes the pieces one after the other and resolves when the last one was taken. Rejects when the pipe is gone. */
  write(pieces: Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>): Promise<void> {
    const write = this.#last.then(async () => {
      for await (const piece of pieces) await this.#put(piece);
    });
    // The caller sees the failure; the next writer finds out for itself.
    this.#last = write.then(
      () => undefined,
      () => undefined,
    );
    return write;
  }

  #put(piece: Uint8Array | string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#target.write(piece, (error) => (error ? reject(error) : resolve()));
    });
  }
}
