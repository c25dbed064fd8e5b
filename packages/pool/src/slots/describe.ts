// The pool for people and gauges: how many slots in which state, and how much memory.
import { measuredBytes } from "./memory.ts";
import type { SlotState } from "./slot.ts";
import type { Pool } from "./state.ts";

export type PoolDescription = {
  readonly maxLive: number;
  readonly states: Readonly<Record<SlotState, number>>;
  /** Of all process trees, as last measured. */
  readonly memoryBytes: number;
  readonly draining: boolean;
};

export function describePool(pool: Pool): PoolDescription {
  const states: Record<SlotState, number> = { starting: 0, busy: 0, waiting: 0, idle: 0, closing: 0 };
  for (const slot of pool.slots.values()) states[slot.state] += 1;
  const { maxLive } = pool.settings;
  return { maxLive, states, memoryBytes: measuredBytes(pool), draining: pool.drain !== null };
}
