// Time, as an argument: whoever needs it is given a Clock. systemClock is the real one, ManualClock (manual-clock.ts)
// the one that tests and simulations move by hand; one suite of tests holds for both.

import { suspendAwareClock, systemSources } from "./boottime.ts";

export interface Timer {
  /** Idempotent; after it the callback is never called. */
  cancel(): void;
}

export interface Clock {
  /** Wall time, milliseconds since 1970. For records, events and people; it may jump. */
  now(): number;
  /** Milliseconds from an arbitrary origin; never goes back and runs through suspend. For leases and deadlines. */
  monotonicMs(): number;
  /** Resolves after a time, at once when it is not positive; rejects with the signal's reason when that aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls once after a time, however long; never before this call has returned. Keeps the process alive. */
  timer(ms: number, fire: () => void): Timer;
}

/** The longest wait one system timer can hold; longer ones wait in pieces. */
const SYSTEM_TIMER_MAX_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: suspendAwareClock(systemSources()),
  sleep: (ms, signal) => sleepOn(systemClock, ms, signal),
  timer(ms, fire) {
    let handle: NodeJS.Timeout;
    const wait = (left: number): void => {
      const piece = Math.min(Math.max(left, 0), SYSTEM_TIMER_MAX_MS);
      handle = setTimeout(() => (left > piece ? wait(left - piece) : fire()), piece);
    };
    wait(ms);
    return { cancel: () => clearTimeout(handle) };
  },
};

/** How every Clock sleeps: one timer, and one listener on the signal, both gone when it is over. */
export function sleepOn(clock: Pick<Clock, "timer">, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const abort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.timer(ms, () => {
      signal?.removeEventListener("abort", abort);
      resolve();
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}
