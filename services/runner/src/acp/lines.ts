// Bytes to lines. A line above the limit is left out while it is read: it is counted, never held.
//
// L1  At most ACP_LINE_BYTES and one chunk are held, however the bytes arrive: in one piece or one at a time.
// L2  The last line counts without an end of line, too.
// L3  A line that is no UTF-8 has no text: two different byte strings never become one text.

/** Longest line an agent may write, without its end. */
export const ACP_LINE_BYTES = 8 * 1024 * 1024;
/** What the buffer begins with, and goes back to after a long line. */
const HELD_MIN_BYTES = 4_096;

/** `text` null: no UTF-8. */
export type Line =
  | { readonly kind: "line"; readonly text: string | null }
  | { readonly kind: "oversized"; readonly bytes: number };

const NEWLINE = 0x0a;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class LineCutter {
  #held = Buffer.alloc(HELD_MIN_BYTES);
  #length = 0;
  /** Bytes of the line that is being left out; null while none is. */
  #skipped: number | null = null;

  /** The lines that end in this chunk. */
  *push(chunk: Buffer): Generator<Line> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      this.#take(chunk.subarray(start, end));
      yield this.#finish();
      start = end + 1;
    }
    this.#take(chunk.subarray(start));
  }

  /** What is left when no more bytes come. */
  flush(): Line | null {
    return this.#length === 0 && this.#skipped === null ? null : this.#finish();
  }

  #take(piece: Buffer): void {
    if (this.#skipped === null && this.#length + piece.length > ACP_LINE_BYTES) {
      this.#skipped = this.#length;
      this.#length = 0;
      this.#held = Buffer.alloc(HELD_MIN_BYTES);
    }
    if (this.#skipped !== null) {
      this.#skipped += piece.length;
      return;
    }
    this.#reserve(this.#length + piece.length);
    piece.copy(this.#held, this.#length);
    this.#length += piece.length;
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#held.length) return;
    const larger = Buffer.alloc(Math.min(Math.max(2 * this.#held.length, bytes), ACP_LINE_BYTES));
    this.#held.copy(larger, 0, 0, this.#length);
    this.#held = larger;
  }

  #finish(): Line {
    if (this.#skipped !== null) {
      const bytes = this.#skipped;
      this.#skipped = null;
      return { kind: "oversized", bytes };
    }
    const text = decode(this.#held.subarray(0, this.#length));
    this.#length = 0;
    if (this.#held.length > 16 * HELD_MIN_BYTES) this.#held = Buffer.alloc(HELD_MIN_BYTES);
    return { kind: "line", text };
  }
}

function decode(bytes: Buffer): string | null {
  try {
    return decoder.decode(bytes).trim();
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}
