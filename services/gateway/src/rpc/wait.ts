// Waiting for something only so long; it goes on by itself afterwards.
import type { Clock } from "@holdfast/runtime";

/** How long a reply waits for the owner to admit a command that is committed already. */
export const ADMISSION_WAIT_MS = 250;

/** Null when the time was up first. Rejects with what the promise rejects with. */
export async function within<T>(clock: Pick<Clock, "timer">, ms: number, promise: Promise<T>): Promise<T | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = clock.timer(ms, () => resolve(null));
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.cancel();
  }
}
