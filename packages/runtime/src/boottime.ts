// A monotonic clock that runs through suspend.
//
// Node's own monotonic clock (process.hrtime) stops while the machine sleeps, and a runner that slept through its lease
// must find out. Linux counts the time since boot, sleep included, in /proc/uptime, in steps of 10 ms. The two are joined:
// the fine clock gives the reading, and whenever the coarse one has run ahead of it by more than the steps explain, the
// difference is time asleep and is added for good. Readings never go back.
//
// Where there is no /proc/uptime the fine clock is all there is, and time asleep is not seen.

import { openSync, readSync } from "node:fs";

const UPTIME_FILE = "/proc/uptime";
const UPTIME_BYTES = 64;
/** Less than this is the coarse clock's granularity, not sleep. */
const SUSPEND_FLOOR_MS = 50;
const NANOSECONDS_PER_MS = 1_000_000;
const MS_PER_SECOND = 1_000;

/** Readings in milliseconds, each from an origin of its own. `sinceBootMs` is null where the system has no such clock. */
export interface MonotonicSources {
  readonly fineMs: () => number;
  readonly sinceBootMs: (() => number) | null;
}

export function systemSources(): MonotonicSources {
  return { fineMs: () => Number(process.hrtime.bigint()) / NANOSECONDS_PER_MS, sinceBootMs: uptimeReader() };
}

/** Milliseconds from an arbitrary origin, never going back, time asleep included. */
export function suspendAwareClock({ fineMs, sinceBootMs }: MonotonicSources): () => number {
  if (sinceBootMs === null) return fineMs;
  const ahead = sinceBootMs() - fineMs();
  let asleepMs = 0;
  return () => {
    const now = fineMs();
    const gained = sinceBootMs() - now - ahead;
    if (gained > asleepMs + SUSPEND_FLOOR_MS) asleepMs = gained;
    return now + asleepMs;
  };
}

/** The file stays open for the life of the process: it is read before every write to an agent. */
function uptimeReader(): (() => number) | null {
  if (process.platform !== "linux") return null;
  const file = openSync(UPTIME_FILE, "r");
  const buffer = Buffer.alloc(UPTIME_BYTES);
  return () => {
    const length = readSync(file, buffer, 0, UPTIME_BYTES, 0);
    return Number.parseFloat(buffer.toString("latin1", 0, length)) * MS_PER_SECOND;
  };
}
