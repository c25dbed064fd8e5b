// The endings that come from outside: the process exits, the shell closes it, the teardown is over.
import type { EvictionReason } from "../reasons.ts";
import type { Named } from "./input.ts";
import type { Done, Ignored } from "./reply.ts";
import type { Tick } from "./slot.ts";
import { DONE, endSlot, ignored, type Pool, type Step, slotOf, withoutSlot } from "./state.ts";

/** At once, never after a TTL (A12): what is left of the tree is ended, too. An exit before the session was ready is a failed start. */
export function exited(pool: Pool, named: Named, now: Tick): Step<Done | Ignored> {
  const slot = slotOf(pool, named);
  if (slot === null) return ignored(pool, "stale");
  if (slot.state === "closing") return ignored(pool, "closing");
  const reason = slot.state === "starting" ? "start_failed" : "agent_exited";
  return { ...endSlot(pool, named.key, slot, reason, now), reply: DONE };
}

/**
 * Exactly once per process: a second one is ignored (A18). Gates of a waiting slot are the record's: the shell swaps it in
 * the same lane turn, before it begins the effects.
 */
export function close(pool: Pool, named: Named & { readonly reason: EvictionReason }, now: Tick): Step<Done | Ignored> {
  const slot = slotOf(pool, named);
  if (slot === null) return ignored(pool, "stale");
  if (slot.state === "closing") return ignored(pool, "closing");
  return { ...endSlot(pool, named.key, slot, named.reason, now), reply: DONE };
}

/** The seat is free. */
export function closed(pool: Pool, named: Named): Step<Done | Ignored> {
  const slot = slotOf(pool, named);
  if (slot === null) return ignored(pool, "stale");
  if (slot.state !== "closing") return ignored(pool, "not_closing");
  return { state: withoutSlot(pool, named.key), effects: [], reply: DONE };
}
