// Waiting for something only so long; it goes on by itself afterwards.
import type { Clock } from "./clock.ts";

/** Null when the time was up first. Rejects with what the promise rejects with, if that comes in time. */
export async function within<T>(clock: Pick<Clock, "timer">, ms: number, promise: Promise<T>): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = clock.timer(ms, () => late.resolve(null));
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    timer.cancel();
  }
}
