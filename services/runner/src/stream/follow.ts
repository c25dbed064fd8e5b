// What the stream of one RunTurn shows of its session's feed: this turn's events, from `started` to the one last.
//
// W1  Following UNTIL_PARKED it ends with `parked` once every pending gate was shown: QUIET_MS after the last event, and
//     LATEST_MS after the park began at the latest, whatever sibling calls still do (A19).
// W2  Else it ends with `ended`. When the session leaves this runner before that, the stream just ends: a cut.
// W3  What the record says is looked at with every event, and at least every LATEST_MS: not every park has an event of its
//     own (an answer may become moot while another gate is pending).
import type { Gate } from "@holdfast/pool";
import type { TurnEvent } from "@holdfast/proto";
import { parkedEvent } from "@holdfast/wire";
import type { SessionHost } from "../session/host.ts";
import type { RunnerWorld } from "../world.ts";

/** Silence after which a parked turn's stream ends. */
export const QUIET_MS = 250;
/** Time from the gate after which it ends in any case. */
export const LATEST_MS = 2_000;

export type FollowWanted = {
  readonly turnId: string;
  readonly afterSeq: number;
  readonly untilParked: boolean;
  readonly signal: AbortSignal;
};

/** The session that is followed: its feed, and its record as the lane knows it. */
export type Followed = Pick<SessionHost, "feed" | "held"> & { readonly world: Pick<RunnerWorld, "clock"> };

/** Readers register with this call; nothing durable that is published after it is missed. */
export function followTurn(host: Followed, wanted: FollowWanted): AsyncIterable<TurnEvent> {
  const over = new AbortController();
  const feed = host.feed.follow(wanted.afterSeq, AbortSignal.any([wanted.signal, over.signal]));
  return showTurn(host, wanted, feed[Symbol.asyncIterator](), over);
}

async function* showTurn(
  host: Followed,
  { turnId, afterSeq, untilParked, signal }: FollowWanted,
  feed: AsyncIterator<TurnEvent>,
  over: AbortController,
): AsyncGenerator<TurnEvent> {
  const { clock } = host.world;
  const { feed: source } = host;
  const shown = new Shown(afterSeq, clock.monotonicMs());
  let next = feed.next();
  try {
    while (!signal.aborted) {
      const now = clock.monotonicMs();
      const due = untilParked ? shown.parkDue(openGates(host, turnId), source.lastSeq, now) : null;
      if (due !== null && due <= now) return yield parkedMarker(host, turnId);
      const came = untilParked ? await orTimeout(host, next, (due ?? now + LATEST_MS) - now) : await next;
      if (came === "timeout") continue;
      if (came.done) {
        const isParked = untilParked && openGates(host, turnId).length > 0;
        if (isParked && !signal.aborted) yield parkedMarker(host, turnId);
        return;
      }
      next = feed.next();
      const event = came.value;
      const isShown = event.turnId === turnId && event.event.case !== "prompt";
      shown.note(event, isShown, clock.monotonicMs());
      if (!isShown) continue;
      yield event;
      if (event.event.case === "ended") return;
    }
  } finally {
    // The reader may be waiting for an event: the signal wakes it. What it still brings, or fails with, is nobody's any more.
    over.abort();
    void Promise.allSettled([next]);
  }
}

/** What this stream has shown, and when it may end because the turn is parked. */
class Shown {
  private readonly afterSeq: number;
  private seq: number;
  private lastAt: number;
  /** Since when the turn is parked on gates that were all shown. */
  private parkedAt: number | null = null;
  /** Gates that opened in this stream and are not answered or closed. */
  private readonly opened = new Set<string>();

  constructor(afterSeq: number, now: number) {
    this.afterSeq = afterSeq;
    this.seq = afterSeq;
    this.lastAt = now;
  }

  note({ seq, event }: TurnEvent, isShown: boolean, now: number): void {
    if (seq > 0n) this.seq = Number(seq);
    if (!isShown) return;
    this.lastAt = now;
    if (event.case === "gateOpened") this.opened.add(event.value.gate?.gateId ?? "");
    if (event.case === "gateAnswered" || event.case === "gateClosed") this.opened.delete(event.value.gateId);
  }

  /** When `parked` may be told; null: not as it is now. `lastSeq` is the newest there is to show. */
  parkDue(gates: readonly Gate[], lastSeq: number, now: number): number | null {
    if (gates.length === 0 || !gates.every((gate) => this.wasShown(gate))) {
      this.parkedAt = null;
      return null;
    }
    this.parkedAt ??= now;
    const latest = this.parkedAt + LATEST_MS;
    return this.seq < lastSeq ? latest : Math.min(Math.max(this.lastAt, this.parkedAt) + QUIET_MS, latest);
  }

  /** In this stream, or before the number that it began after. */
  private wasShown({ gateId, callSeq }: Gate): boolean {
    return this.opened.has(gateId) || callSeq <= this.afterSeq;
  }
}

/** The gates that wait, when the turn is parked as the record has it. */
function openGates({ held }: Followed, turnId: string): readonly Gate[] {
  const record = held?.record;
  if (record?.turn?.turnId !== turnId || record.execution?.state !== "parked") return [];
  return record.gates.filter(({ state }) => state.kind === "pending");
}

function parkedMarker(host: Followed, turnId: string): TurnEvent {
  const execution = host.held?.record.execution?.number ?? 0;
  const gateIds = openGates(host, turnId).map(({ gateId }) => gateId);
  return parkedEvent({ turnId, execution, at: host.world.clock.now() }, gateIds);
}

async function orTimeout<T>(host: Followed, next: Promise<T>, waitMs: number): Promise<T | "timeout"> {
  const timeout = Promise.withResolvers<"timeout">();
  const timer = host.world.clock.timer(waitMs, () => timeout.resolve("timeout"));
  try {
    return await Promise.race([next, timeout.promise]);
  } finally {
    timer.cancel();
  }
}
