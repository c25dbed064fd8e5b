// Room for one more process (A4). Every slot counts, closing ones too: a seat is free when the teardown is over, not when
// it begins. A checkout that has to wait for that holds a claim, so that its seat goes to nobody else, and so that one
// waiting checkout costs one idle process, not one each time it asks.
//
// M1  Every claim has a seat that will be its own: claims never outnumber free seats and closing slots together.
// M2  Claims are served in the order they came. One whose own slot is still closing needs no seat yet.
// M3  Only idle slots make room, the one that is idle longest first; busy and waiting slots never do.
// M4  A claim ends: with its seat, when given up, after ROOM_CLAIM_MS, or by a drain. The last two tell the shell to ask again.
import type { ColdReason } from "../reasons.ts";
import { ROOM_CLAIM_MS } from "./limits.ts";
import type { PoolEffect } from "./reply.ts";
import type { Idle, SlotKey, Tick } from "./slot.ts";
import { andThen, type Change, type Claim, endSlot, type Pool } from "./state.ts";

export type Room =
  /** A seat for this session; `pool` without its claim. `reason`: what its claim was for. */
  { readonly kind: "seat"; readonly pool: Pool; readonly reason: ColdReason | null } | Queued;
export type Queued = { readonly kind: "wait"; readonly change: Change } | { readonly kind: "full" };

/** For a session without a slot. */
export function findRoom(pool: Pool, key: SlotKey, now: Tick): Room {
  if (freeSeats(pool) > claimsAhead(pool, key)) {
    const reason = pool.claims.find((held) => held.key === key)?.reason ?? null;
    return { kind: "seat", pool: withoutClaim(pool, key), reason };
  }
  return queueForRoom(pool, key, "first_turn", now);
}

/** For a session that cannot be seated yet: a seat that will be free, or one made free by an eviction. */
export function queueForRoom(pool: Pool, key: SlotKey, reason: ColdReason, now: Tick): Queued {
  if (pool.claims.some((held) => held.key === key)) return { kind: "wait", change: { state: pool, effects: [] } };
  const claim: Claim = { key, since: now, reason };
  const join = (state: Pool): Change => ({ state: { ...state, claims: [...state.claims, claim] }, effects: [] });
  if (freeSeats(pool) + closingSeats(pool) > pool.claims.length) return { kind: "wait", change: join(pool) };
  const victim = oldestIdle(pool);
  if (victim === null) return { kind: "full" };
  return { kind: "wait", change: andThen(endSlot(pool, victim.key, victim.slot, "lru", now), join) };
}

export function withoutClaim(pool: Pool, key: SlotKey): Pool {
  if (!pool.claims.some((held) => held.key === key)) return pool;
  return { ...pool, claims: pool.claims.filter((held) => held.key !== key) };
}

export function freeSeats(pool: Pool): number {
  return pool.settings.maxLive - pool.slots.size;
}

export function closingSeats(pool: Pool): number {
  return [...pool.slots.values()].filter((slot) => slot.state === "closing").length;
}

export function oldestIdle(pool: Pool): { readonly key: SlotKey; readonly slot: Idle } | null {
  let oldest: { readonly key: SlotKey; readonly slot: Idle } | null = null;
  for (const [key, slot] of pool.slots) {
    if (slot.state === "idle" && (oldest === null || slot.since < oldest.slot.since)) oldest = { key, slot };
  }
  return oldest;
}

/** Claims before this session's own, or all when it has none, that only lack a seat. */
function claimsAhead(pool: Pool, key: SlotKey): number {
  const own = pool.claims.findIndex((held) => held.key === key);
  const ahead = own < 0 ? pool.claims : pool.claims.slice(0, own);
  return ahead.filter((held) => !pool.slots.has(held.key)).length;
}

/** Sessions whose claim has its seat now. */
function servable(pool: Pool): readonly SlotKey[] {
  const seatless = pool.claims.filter((held) => !pool.slots.has(held.key));
  return seatless.slice(0, Math.max(0, freeSeats(pool))).map((held) => held.key);
}

/** Tells those whose seat has come with this step. */
export function announceRoom(before: Pool, after: Change): Change {
  if (after.state.claims.length === 0) return after;
  const told = servable(before);
  const effects: PoolEffect[] = servable(after.state)
    .filter((key) => !told.includes(key))
    .map((key) => ({ kind: "ask_again", key }));
  return effects.length === 0 ? after : { state: after.state, effects: [...after.effects, ...effects] };
}

export function claimDeadline(claim: Claim): Tick {
  return claim.since + ROOM_CLAIM_MS;
}

/** Ends the claims that `over` names. */
export function dropClaims(pool: Pool, over: (claim: Claim) => boolean): Change {
  const ended = pool.claims.filter(over);
  if (ended.length === 0) return { state: pool, effects: [] };
  const state = { ...pool, claims: pool.claims.filter((claim) => !over(claim)) };
  return { state, effects: ended.map(({ key }) => ({ kind: "ask_again", key })) };
}
