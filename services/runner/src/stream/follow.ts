// What the stream of one RunTurn shows of its session's feed: this turn's events, from `started` to the one last.
//
//  - Following UNTIL_PARKED it ends with `parked`: QUIET_MS after the last event, LATEST_MS after the first open gate at
//    the latest, whatever sibling calls still do (A19).
//  - Else it ends with `ended`. When the session leaves this runner before that, the stream just ends: a cut.
import type { TurnEvent } from "@holdfast/proto";
import { parkedEvent } from "@holdfast/wire";
import type { SessionHost } from "../session/host.ts";

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

/** Readers register with this call; nothing published after it is missed. */
export function followTurn(host: SessionHost, wanted: FollowWanted): AsyncIterable<TurnEvent> {
  const over = new AbortController();
  const feed = host.feed.follow(wanted.afterSeq, AbortSignal.any([wanted.signal, over.signal]));
  return showTurn(host, wanted, feed[Symbol.asyncIterator](), over);
}

async function* showTurn(
  host: SessionHost,
  { turnId, untilParked, signal }: FollowWanted,
  feed: AsyncIterator<TurnEvent>,
  over: AbortController,
): AsyncGenerator<TurnEvent> {
  const { clock } = host.world;
  const parkedGates = () => (untilParked ? openGates(host, turnId) : []);
  let lastAt = clock.monotonicMs();
  let gateAt: number | null = null;
  let next = feed.next();
  try {
    while (!signal.aborted) {
      const waitMs = parkedGates().length === 0 ? null : parkDue(lastAt, gateAt) - clock.monotonicMs();
      const came = waitMs === null ? await next : await orTimeout(host, next, waitMs);
      if (came === "timeout") {
        if (parkedGates().length > 0) return yield parkedMarker(host, parkedGates());
        continue;
      }
      if (came.done) {
        if (parkedGates().length > 0) yield parkedMarker(host, parkedGates());
        return;
      }
      next = feed.next();
      const event = came.value;
      if (event.turnId !== turnId || event.event.case === "prompt") continue;
      lastAt = clock.monotonicMs();
      if (event.event.case === "gateOpened") gateAt ??= lastAt;
      if (event.event.case === "gateAnswered" || event.event.case === "continued") gateAt = null;
      yield event;
      if (event.event.case === "ended") return;
    }
  } finally {
    // The reader may be waiting for an event: it is woken by the signal, and gone.
    over.abort();
  }
}

function parkDue(lastAt: number, gateAt: number | null): number {
  return Math.min(lastAt + QUIET_MS, (gateAt ?? lastAt) + LATEST_MS);
}

/** The gates that wait, when the turn is parked as the record has it. */
function openGates(host: SessionHost, turnId: string): string[] {
  const record = host.held?.record;
  if (record?.turn?.turnId !== turnId || record.execution?.state !== "parked") return [];
  return record.gates.filter(({ state }) => state.kind === "pending").map(({ gateId }) => gateId);
}

function parkedMarker(host: SessionHost, gateIds: readonly string[]): TurnEvent {
  const record = host.held?.record;
  const place = {
    turnId: record?.turn?.turnId ?? "",
    execution: record?.execution?.number ?? 0,
    at: host.world.clock.now(),
  };
  return parkedEvent(place, gateIds);
}

async function orTimeout<T>(host: SessionHost, next: Promise<T>, waitMs: number): Promise<T | "timeout"> {
  const timeout = Promise.withResolvers<"timeout">();
  const timer = host.world.clock.timer(Math.max(0, waitMs), () => timeout.resolve("timeout"));
  try {
    return await Promise.race([next, timeout.promise]);
  } finally {
    timer.cancel();
  }
}
