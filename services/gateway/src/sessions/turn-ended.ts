// Waiting for a turn's end, bounded. The log tells when to look; only the record says that it is over.
import type { SessionKey } from "@holdfast/pool";
import type { GatewayWorld } from "../world.ts";
import { currentSession } from "./current.ts";

/** How often the record is looked at when the log says nothing: an owner that dies says nothing. */
const LOOK_MS = 1_000;

/** False when the time was up, or the signal aborted, and the turn was still open. */
export async function turnEnded(
  world: GatewayWorld,
  key: SessionKey,
  turnId: string,
  boundMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const endsAtMs = world.clock.monotonicMs() + boundMs;
  let { last } = await world.store.events.tail(key);
  for (;;) {
    const current = await currentSession(world, key);
    const turn = current.kind === "found" ? current.held.record.turn : null;
    if (turn?.turnId !== turnId || turn.ending !== null) return true;
    const leftMs = Math.min(endsAtMs - world.clock.monotonicMs(), LOOK_MS);
    if (leftMs <= 0 || signal.aborted) return false;
    last = await nextEvent(world, key, last, leftMs, signal);
  }
}

/** The number of the next event, or the one given when none came in time. */
async function nextEvent(
  world: GatewayWorld,
  key: SessionKey,
  after: number,
  ms: number,
  signal: AbortSignal,
): Promise<number> {
  const late = new AbortController();
  const timer = world.clock.timer(ms, () => late.abort());
  try {
    for await (const { seq } of world.store.events.follow(key, after, AbortSignal.any([signal, late.signal])))
      return seq;
    return after;
  } finally {
    timer.cancel();
    late.abort();
  }
}
