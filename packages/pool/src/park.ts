// When the stream of one turn that is followed until it parks may end: PARK_QUIET_MS after the last event it showed, and
// PARK_LATEST_MS after the park began at the latest, whatever sibling calls still do (A19). Pure: who streams tells what it
// showed, what the record says, and what time it is.
//
// P1  Nothing is due before every pending gate was shown.
// P2  While there is something left to show, only the latest moment counts.
import type { Gate } from "./record/record.ts";

/** Silence after which a parked turn's stream ends. */
export const PARK_QUIET_MS = 250;
/** Time from the gate after which it ends in any case. */
export const PARK_LATEST_MS = 2_000;

/** What of an event matters here. */
export type ParkNote = {
  /** 0: live, without a number. */
  readonly seq: number;
  /** False for what the stream leaves out. */
  readonly isShown: boolean;
  /** Null for an event that neither opens a gate nor answers or closes one. */
  readonly gate: { readonly state: "open" | "over"; readonly gateId: string } | null;
};

/** What one stream has shown. Times are monotonic milliseconds. */
export class ParkWatch {
  private readonly afterSeq: number;
  private seq: number;
  private lastAt: number;
  /** Since when the turn is parked on gates that were all shown. */
  private parkedAt: number | null = null;
  /** Gates that opened in this stream and are not answered or closed. */
  private readonly opened = new Set<string>();

  /** `afterSeq`: the number after which the stream began. */
  constructor(afterSeq: number, now: number) {
    this.afterSeq = afterSeq;
    this.seq = afterSeq;
    this.lastAt = now;
  }

  note({ seq, isShown, gate }: ParkNote, now: number): void {
    if (seq > 0) this.seq = seq;
    if (!isShown) return;
    this.lastAt = now;
    if (gate === null) return;
    if (gate.state === "open") this.opened.add(gate.gateId);
    else this.opened.delete(gate.gateId);
  }

  /**
   * When `parked` may be told; null: not as it is now. `gates` are those the parked turn waits for, none when it is not
   * parked; `lastSeq` is the newest event there is to show.
   */
  due(gates: readonly Pick<Gate, "gateId" | "callSeq">[], lastSeq: number, now: number): number | null {
    if (gates.length === 0 || !gates.every((gate) => this.wasShown(gate))) {
      this.parkedAt = null;
      return null;
    }
    this.parkedAt ??= now;
    const latest = this.parkedAt + PARK_LATEST_MS;
    return this.seq < lastSeq ? latest : Math.min(Math.max(this.lastAt, this.parkedAt) + PARK_QUIET_MS, latest);
  }

  /** In this stream, or before the number that it began after. */
  private wasShown({ gateId, callSeq }: Pick<Gate, "gateId" | "callSeq">): boolean {
    return this.opened.has(gateId) || callSeq <= this.afterSeq;
  }
}
