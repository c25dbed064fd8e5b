// For tests: a log in memory that a feed reads, as slow as the test wants it, and readers that keep what they get.
import { create } from "@bufbuild/protobuf";
import { MessageSchema, type TurnEvent, TurnEventSchema } from "@holdfast/proto";
import { Feed } from "./feed.ts";

export type EventCase = TurnEvent["event"];

/** seq 0: live. */
function eventOf(seq: number, event?: EventCase, turnId = "t1"): TurnEvent {
  const shown = event ?? { case: "message", value: create(MessageSchema, {}) };
  return create(TurnEventSchema, { seq: BigInt(seq), turnId, execution: 1, event: shown as TurnEvent["event"] });
}

/** Lets what is ready run, so many times. */
export async function turns(count = 1): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export class FedLog {
  readonly events: TurnEvent[] = [];
  readonly feed: Feed;
  private untold: { readonly event: TurnEvent; readonly bytes: number }[] = [];
  /** Reads that were made. */
  reads = 0;
  /** Turns that a read takes before it looks, and after. */
  slow: { before: number; after: number } = { before: 0, after: 0 };
  /** Reads that succeed; the ones after them fail. */
  breaksAfter = Number.POSITIVE_INFINITY;

  constructor(last = 0) {
    for (let seq = 1; seq <= last; seq += 1) this.events.push(eventOf(seq));
    this.feed = new Feed((after, limit) => this.read(after, limit), last);
  }

  /** Into the log, then to the readers. */
  durable(event?: EventCase, bytes = 100, turnId = "t1"): number {
    const seq = this.write(event, bytes, turnId);
    this.tell();
    return seq;
  }

  /** Into the log alone: the readers are told later. */
  write(event?: EventCase, bytes = 100, turnId = "t1"): number {
    const seq = this.events.length + 1;
    const numbered = eventOf(seq, event, turnId);
    this.events.push(numbered);
    this.untold.push({ event: numbered, bytes });
    return seq;
  }

  tell(): void {
    for (const { event, bytes } of this.untold) this.feed.publish(event, bytes);
    this.untold = [];
  }

  live(event?: EventCase, bytes = 10, turnId = "t1"): void {
    this.feed.publish(eventOf(0, event, turnId), bytes);
  }

  private async read(after: number, limit: number): Promise<readonly TurnEvent[]> {
    this.reads += 1;
    const { before, after: since } = this.slow;
    await turns(before);
    if (this.reads > this.breaksAfter) throw new Error("no log");
    const found = this.events.slice(after, after + limit);
    await turns(since);
    return found;
  }
}

/** Takes events one at a time, when it is told to. */
export class Reader {
  readonly got: TurnEvent[] = [];
  readonly gone = new AbortController();
  isOver = false;
  private readonly events: AsyncIterator<TurnEvent>;

  constructor(feed: Feed, after = 0) {
    this.events = feed.follow(after, this.gone.signal)[Symbol.asyncIterator]();
  }

  async take(): Promise<TurnEvent | null> {
    const next = await this.events.next();
    if (next.done) this.isOver = true;
    else this.got.push(next.value);
    return next.done ? null : next.value;
  }

  /** Takes all there is and will be, until the feed ends it. */
  async drain(): Promise<this> {
    while ((await this.take()) !== null);
    return this;
  }

  async leave(): Promise<void> {
    await this.events.return?.();
  }

  /** Numbers of the durable ones. */
  get seqs(): readonly number[] {
    return this.got.map(({ seq }) => Number(seq)).filter((seq) => seq > 0);
  }

  get liveCount(): number {
    return this.got.length - this.seqs.length;
  }
}

export function numbers(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
