// Shutting down (E8): nothing new is started; idle processes go at once; turns may finish until the grace is over; waiting
// slots go last. Each is a deadline (deadlines.ts), looked at after every step from now on, so a process whose turn ends
// goes in that very step. Nothing here waits for a human, and nothing waits longer than the grace.
import { endDue } from "./deadlines.ts";
import type { Done, Ignored } from "./reply.ts";
import { dropClaims } from "./room.ts";
import type { Idle, SlotKey, Tick } from "./slot.ts";
import { andThen, type Change, DONE, endSlot, ignored, type Pool, type Step } from "./state.ts";

/** A second SIGTERM does not lengthen the grace. */
export function drain(pool: Pool, graceMs: number, now: Tick): Step<Done | Ignored> {
  if (pool.drain !== null) return ignored(pool, "draining");
  let change = dropClaims({ ...pool, drain: { since: now, endsAt: now + graceMs } }, () => true);
  for (const [key, slot] of idleSlots(pool))
    change = andThen(change, (state) => endSlot(state, key, slot, "drain", now));
  return { ...change, reply: DONE };
}

/** What a step in a draining pool brings with it. */
export function drainFurther(change: Change, now: Tick): Change {
  return change.state.drain === null ? change : andThen(change, (state) => endDue(state, now));
}

/** Whether the last process of a draining pool is gone. */
export function isDrained(pool: Pool): boolean {
  return pool.drain !== null && pool.slots.size === 0;
}

function idleSlots(pool: Pool): readonly (readonly [SlotKey, Idle])[] {
  return [...pool.slots].flatMap(([key, slot]) => (slot.state === "idle" ? [[key, slot] as const] : []));
}
