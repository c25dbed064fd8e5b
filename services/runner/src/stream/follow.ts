// What the stream of one RunTurn shows of its session's feed: this turn's events, from `started` to the one last.
//
// W1  Following UNTIL_PARKED it ends with `parked` once every pending gate was shown, when the park is due (ParkWatch, A19).
// W2  Else it ends with `ended`. When the session leaves this runner before that, the stream just ends: a cut.
// W3  What the record says is looked at with every event, and at least every PARK_LATEST_MS: not every park has an event of
//     its own (an answer may become moot while another gate is pending).
import { type Gate, PARK_LATEST_MS, ParkWatch } from "@holdfast/pool";
import type { TurnEvent } from "@holdfast/proto";
import { parkedEvent, parkNote } from "@holdfast/wire";
import type { SessionHost } from "../session/host.ts";
import type { RunnerWorld } from "../world.ts";

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
  const park = new ParkWatch(afterSeq, clock.monotonicMs());
  let next = feed.next();
  try {
    while (!signal.aborted) {
      const now = clock.monotonicMs();
      const due = untilParked ? park.due(openGates(host, turnId), source.lastSeq, now) : null;
      if (due !== null && due <= now) return yield parkedMarker(host, turnId);
      const came = untilParked ? await orTimeout(host, next, (due ?? now + PARK_LATEST_MS) - now) : await next;
      if (came === "timeout") continue;
      if (came.done) {
        const isParked = untilParked && openGates(host, turnId).length > 0;
        if (isParked && !signal.aborted) yield parkedMarker(host, turnId);
        return;
      }
      next = feed.next();
      const event = came.value;
      const isShown = event.turnId === turnId && event.event.case !== "prompt";
      park.note(parkNote(event, isShown), clock.monotonicMs());
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
