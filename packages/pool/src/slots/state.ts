// The pool's state, and the few ways in which slots enter, change and leave it. Everything else is made of these.
import type { ColdReason, EvictionReason } from "../reasons.ts";
import type { Named } from "./input.ts";
import { START_LIMIT_MS } from "./limits.ts";
import type { Done, Ignored, IgnoredReason, PoolEffect } from "./reply.ts";
import {
  type Closing,
  instanceOf,
  type LiveSlot,
  memoryOf,
  type Process,
  type Slot,
  type SlotKey,
  type Tick,
} from "./slot.ts";

export type PoolSettings = {
  /** Processes alive at once, in every state, 1 or more (A4). */
  readonly maxLive: number;
  readonly startLimitMs: number;
};

/** A checkout that waits for its seat (room.ts). */
export type Claim = {
  readonly key: SlotKey;
  readonly since: Tick;
  /** What its cold start will show. */
  readonly reason: ColdReason;
};

export type MemoryMarks = { readonly budgetBytes: number; readonly highBytes: number };
export type Drain = { readonly since: Tick; readonly endsAt: Tick };

export type Pool = {
  readonly settings: PoolSettings;
  readonly slots: ReadonlyMap<SlotKey, Slot>;
  /** Oldest first. */
  readonly claims: readonly Claim[];
  /** From the last measurement; null before the first. */
  readonly memory: MemoryMarks | null;
  readonly drain: Drain | null;
};

export type Change = { readonly state: Pool; readonly effects: readonly PoolEffect[] };
export type Step<Reply> = Change & { readonly reply: Reply };

export function createPool(maxLive: number, startLimitMs: number = START_LIMIT_MS): Pool {
  return { settings: { maxLive, startLimitMs }, slots: new Map(), claims: [], memory: null, drain: null };
}

export const DONE: Done = { kind: "done" };

export function ignored(state: Pool, why: IgnoredReason): Step<Ignored> {
  return { state, effects: [], reply: { kind: "ignored", why } };
}

/** The slot of this process, or null when the input that names it comes too late. */
export function slotOf(pool: Pool, named: Named): Slot | null {
  const slot = pool.slots.get(named.key);
  return slot !== undefined && instanceOf(slot) === named.instance ? slot : null;
}

export function withSlot(pool: Pool, key: SlotKey, slot: Slot): Pool {
  return { ...pool, slots: new Map(pool.slots).set(key, slot) };
}

export function withoutSlot(pool: Pool, key: SlotKey): Pool {
  const slots = new Map(pool.slots);
  slots.delete(key);
  return { ...pool, slots };
}

/** A slot's new state, with nothing for the shell to do. */
export function changed(pool: Pool, key: SlotKey, slot: Slot): Step<Done> {
  return { state: withSlot(pool, key, slot), effects: [], reply: DONE };
}

/** The only way out of a live state: exactly one `end` per process (A18). */
export function endSlot(pool: Pool, key: SlotKey, slot: LiveSlot, reason: EvictionReason, now: Tick): Change {
  const instance = instanceOf(slot);
  const closing: Closing = { state: "closing", instance, reason, since: now, memoryBytes: memoryOf(slot) };
  return { state: withSlot(pool, key, closing), effects: [{ kind: "end", key, instance, reason }] };
}

/** Between turns: idle, or not kept at all (idle_ttl 0, draining). */
export function rest(pool: Pool, key: SlotKey, process: Process, since: Tick, now: Tick): Change {
  const idle: LiveSlot = { state: "idle", process, since };
  if (pool.drain !== null) return endSlot(pool, key, idle, "drain", now);
  if (process.limits.idleTtlMs === 0) return endSlot(pool, key, idle, "idle_ttl", now);
  return { state: withSlot(pool, key, idle), effects: [] };
}

/** Applies a change that follows another one. (Not `then`: a module that exports one is taken for a promise.) */
export function andThen(before: Change, next: (pool: Pool) => Change): Change {
  const after = next(before.state);
  return { state: after.state, effects: [...before.effects, ...after.effects] };
}
