// The feed of one session: what its readers are told, live, with the log behind it.
//
//   lane ── publish ──▶ feed ──▶ reader (bounded queue) ──▶ RunTurn or WatchSession stream
//                         └──── a reader that fell behind reads from the log until it has caught up
//
// F1  A reader gets every durable event after its cursor once, in order (P9), however slow it is.
// F2  A reader's queue holds at most READER_EVENTS and READER_BYTES; beyond, it is dropped and the log takes over, so that
//     only live deltas can be missed (B4).
// F3  A reader that stops reading costs the others nothing; one whose signal aborts is forgotten at once, read or not.
import type { TurnEvent } from "@holdfast/proto";

/** Items one reader's queue may hold. */
export const READER_EVENTS = 1_024;
/** Size of what one reader's queue may hold. */
export const READER_BYTES = 4 * 1024 * 1024;
/** Entries read from the log at once while a reader catches up: an entry may have EVENT_BYTES. */
export const CATCH_UP_EVENTS = 32;

/** Durable events after a number, ascending; at most `limit`. */
export type ReadLog = (after: number, limit: number) => Promise<readonly TurnEvent[]>;

export class Feed {
  private readonly readers = new Set<Reader>();
  private readonly readLog: ReadLog;
  private last: number;
  private closed = false;

  /** `last`: the number of the newest durable event there is. */
  constructor(readLog: ReadLog, last: number) {
    this.readLog = readLog;
    this.last = last;
  }

  /** The newest durable number published or known. */
  get lastSeq(): number {
    return this.last;
  }

  get readerCount(): number {
    return this.readers.size;
  }

  /** A durable event carries its number; a live one has none (0). Durable events come in order. */
  publish(event: TurnEvent, bytes: number): void {
    if (event.seq > 0n) this.last = Number(event.seq);
    for (const reader of this.readers) reader.offer(event, bytes);
  }

  /** Registered at once: no durable event after the number is missed. Ends when the signal aborts or the feed closes. */
  follow(after: number, signal: AbortSignal): AsyncIterable<TurnEvent> {
    const reader = new Reader(after, after < this.last);
    if (this.closed) reader.close();
    else if (!signal.aborted) this.readers.add(reader);
    const gone = () => {
      this.readers.delete(reader);
      reader.wake();
    };
    signal.addEventListener("abort", gone, { once: true });
    return this.deliver(reader, signal, () => {
      signal.removeEventListener("abort", gone);
      this.readers.delete(reader);
    });
  }

  /** The session has left this runner: readers get what is left and end. */
  close(): void {
    this.closed = true;
    for (const reader of this.readers) reader.close();
  }

  private async *deliver(reader: Reader, signal: AbortSignal, forget: () => void): AsyncGenerator<TurnEvent> {
    try {
      while (!signal.aborted) {
        if (reader.behind) {
          yield* this.catchUp(reader, signal);
          continue;
        }
        const event = reader.take();
        if (event !== null) yield event;
        else if (reader.ended) return;
        else await reader.more(signal);
      }
    } finally {
      forget();
    }
  }

  /** What is published while the log is read is not in what was read: the reader is live only when it has the newest. */
  private async *catchUp(reader: Reader, signal: AbortSignal): AsyncGenerator<TurnEvent> {
    const promised = this.last;
    const missed = reader.cursor < promised ? await this.readLog(reader.cursor, CATCH_UP_EVENTS) : [];
    if (missed.length === 0 && reader.cursor < promised) {
      throw new Error(`the log holds nothing after event ${reader.cursor}, but event ${promised} was published`);
    }
    for (const event of missed) {
      if (signal.aborted) return;
      reader.cursor = Number(event.seq);
      yield event;
    }
    if (reader.cursor >= this.last) reader.live();
  }
}

/** One reader's place in the stream. While it is behind, the log is read before the queue is used. */
class Reader {
  cursor: number;
  behind: boolean;
  ended = false;
  private queue: { event: TurnEvent; bytes: number }[] = [];
  private bytes = 0;
  private woken: (() => void) | null = null;

  constructor(after: number, behind: boolean) {
    this.cursor = after;
    this.behind = behind;
  }

  offer(event: TurnEvent, bytes: number): void {
    if (this.behind) return;
    if (this.queue.length >= READER_EVENTS || this.bytes + bytes > READER_BYTES) {
      this.fallBehind();
      return;
    }
    this.queue.push({ event, bytes });
    this.bytes += bytes;
    this.wake();
  }

  take(): TurnEvent | null {
    for (;;) {
      const item = this.queue.shift();
      if (item === undefined) return null;
      this.bytes -= item.bytes;
      const seq = Number(item.event.seq);
      if (seq === 0) return item.event;
      if (seq <= this.cursor) continue;
      this.cursor = seq;
      return item.event;
    }
  }

  /** Caught up: from here on the queue is enough. */
  live(): void {
    this.behind = false;
  }

  close(): void {
    this.ended = true;
    this.wake();
  }

  wake(): void {
    this.woken?.();
    this.woken = null;
  }

  more(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) resolve();
      else this.woken = resolve;
    });
  }

  private fallBehind(): void {
    this.queue = [];
    this.bytes = 0;
    this.behind = true;
    this.wake();
  }
}
