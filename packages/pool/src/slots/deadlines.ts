// What is due when. Each live slot has at most one thing that will happen to it if nothing else does; the shell owns one
// timer, set to `nextDeadline`, and gives `tick` when it fires.
//
//   starting  the start limit                              start_failed      ended
//   busy      the turn limit, or the bound of a Stop       turn_limit, cancel_unsettled   ended
//   waiting   parked: the approval TTL                     approval_ttl      proposed
//             an answer is sending: the turn limit (D4)    turn_limit        proposed
//   idle      the idle TTL                                 idle_ttl          ended
//   closing   nothing: the shell bounds its teardown
//
// While draining, the end of the grace is a deadline of every live slot; a waiting one goes earlier, once nothing works on
// this runner any more and none of its answers is sending (E8: waiting last).
//
// T1  After a tick, the next deadline is in the future.
import type { EvictionReason } from "../reasons.ts";
import { proposeEviction } from "./eviction.ts";
import type { Named } from "./input.ts";
import { CANCEL_BOUND_MS } from "./limits.ts";
import { aboveHighMark, memoryEvictable } from "./memory.ts";
import type { Done } from "./reply.ts";
import { claimDeadline, dropClaims } from "./room.ts";
import type { Busy, Idle, Slot, SlotKey, Starting, Tick, Waiting } from "./slot.ts";
import { andThen, type Change, DONE, endSlot, type Pool, type Step, slotOf } from "./state.ts";

type Due = { readonly at: Tick; readonly reason: EvictionReason };

/** When to give `tick`; null: nothing is due until something else happens. */
export function nextDeadline(pool: Pool): Tick | null {
  const deadlines = pool.claims.map(claimDeadline);
  for (const slot of pool.slots.values()) {
    if (slot.state === "closing") continue;
    const { at } = dueOf(pool, slot);
    deadlines.push(slot.state === "waiting" && slot.proposal !== null ? Math.max(at, slot.proposal.againAt) : at);
  }
  return deadlines.length === 0 ? null : Math.min(...deadlines);
}

export function tick(pool: Pool, now: Tick): Step<Done> {
  const expired = dropClaims(pool, (claim) => claimDeadline(claim) <= now);
  return { ...andThen(expired, (state) => endDue(state, now)), reply: DONE };
}

/** Ends, or proposes to end, every slot whose time has come. */
export function endDue(pool: Pool, now: Tick): Change {
  let change: Change = { state: pool, effects: [] };
  for (const key of pool.slots.keys()) change = andThen(change, (state) => endIfDue(state, key, now));
  return change;
}

function endIfDue(pool: Pool, key: SlotKey, now: Tick): Change {
  const slot = pool.slots.get(key);
  const nothing: Change = { state: pool, effects: [] };
  if (slot === undefined || slot.state === "closing") return nothing;
  const due = dueOf(pool, slot);
  if (now < due.at) return nothing;
  if (slot.state !== "waiting") return endSlot(pool, key, slot, due.reason, now);
  if (slot.proposal !== null && now < slot.proposal.againAt) return nothing;
  return proposeEviction(pool, key, slot, due.reason, now);
}

/** Whether a proposed eviction still has its reason when its turn in the lane comes (A17). */
export function evictionDue(pool: Pool, named: Named & { readonly reason: EvictionReason }, now: Tick): boolean {
  const slot = slotOf(pool, named);
  if (slot === null || slot.state !== "waiting") return false;
  if (named.reason === "memory") return memoryEvictable(slot) && aboveHighMark(pool);
  return dueOf(pool, slot).at <= now;
}

function dueOf(pool: Pool, slot: Starting | Busy | Waiting | Idle): Due {
  const own = ownDue(pool, slot);
  const drain = drainDue(pool, slot);
  return drain !== null && drain.at < own.at ? drain : own;
}

function ownDue(pool: Pool, slot: Starting | Busy | Waiting | Idle): Due {
  switch (slot.state) {
    case "starting":
      return { at: slot.since + pool.settings.startLimitMs, reason: "start_failed" };
    case "idle":
      return { at: slot.since + slot.process.limits.idleTtlMs, reason: "idle_ttl" };
    case "busy":
      if (slot.stoppingSince === null) return turnLimit(slot);
      return { at: slot.stoppingSince + CANCEL_BOUND_MS, reason: "cancel_unsettled" };
    case "waiting":
      if (slot.clock.runs) return turnLimit(slot);
      return { at: slot.clock.since + slot.process.limits.approvalTtlMs, reason: "approval_ttl" };
  }
}

/** Only with a running clock. */
function turnLimit({ clock, process }: Busy | Waiting): Due {
  return { at: clock.since + process.limits.turnLimitMs - clock.ranMs, reason: "turn_limit" };
}

function drainDue(pool: Pool, slot: Slot): Due | null {
  if (pool.drain === null) return null;
  const last = slot.state === "waiting" && slot.sending.length === 0 && !anyWorks(pool);
  return { at: last ? pool.drain.since : pool.drain.endsAt, reason: "drain" };
}

function anyWorks(pool: Pool): boolean {
  return [...pool.slots.values()].some((slot) => slot.state === "starting" || slot.state === "busy");
}
