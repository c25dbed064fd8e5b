// A client that watches a session the way a page does: it keeps the last number it saw, and begins again from there whenever
// its stream breaks, at whatever gateway there is then.
import { status } from "@grpc/grpc-js";
import type { TurnEvent } from "@holdfast/proto";
import { isServiceError } from "@holdfast/wire";
import { type Caller, eventually } from "./caller.ts";

export class Follower {
  readonly from: number;
  /** Durable events, as they came. */
  readonly seen: TurnEvent[] = [];
  /** How often its stream broke. */
  breaks = 0;
  private readonly done: Promise<void>;
  private readonly leaving = new AbortController();

  /** `reach` gives a caller of a gateway that runs now. */
  constructor(reach: () => Caller, sessionId: string, from: number) {
    this.from = from;
    this.done = this.run(reach, sessionId);
  }

  get last(): number {
    return Number(this.seen.at(-1)?.seq ?? this.from);
  }

  /** Resolves when it has seen this number. */
  async upTo(seq: number): Promise<void> {
    await eventually(
      `follower from ${this.from} sees ${seq}`,
      () => this.last,
      (last) => last >= seq,
    );
  }

  async leave(): Promise<void> {
    this.leaving.abort();
    await this.done;
  }

  private async run(reach: () => Caller, sessionId: string): Promise<void> {
    while (!this.leaving.signal.aborted) {
      try {
        const { api, metadata } = watcherOf(reach());
        const options = { ...metadata, signal: this.leaving.signal };
        for await (const { event } of api.watchSession({ sessionId, afterSeq: BigInt(this.last) }, options)) {
          if (event !== undefined && event.seq > 0n) this.seen.push(event);
        }
      } catch (error) {
        if (!isServiceError(error) || ![status.UNAVAILABLE, status.CANCELLED].includes(error.code)) throw error;
      }
      this.breaks += 1;
      // A gateway that is not there refuses at once.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

function watcherOf(caller: Caller) {
  const { metadata } = caller.options();
  return { api: caller.api, metadata: metadata === undefined ? {} : { metadata } };
}
