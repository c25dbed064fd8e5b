// Waiting with a bound.

import type { Clock } from "@holdfast/runtime";

/** Whether the work was done in time. It goes on either way; what it rejects with is the caller's to see. */
export async function isDoneWithin(work: Promise<unknown>, boundMs: number, clock: Clock): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = clock.timer(boundMs, () => late.resolve(false));
  try {
    return await Promise.race([work.then(() => true as const), late.promise]);
  } finally {
    timer.cancel();
  }
}
