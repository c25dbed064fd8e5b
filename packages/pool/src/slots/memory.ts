// Memory is the real limit (A5). One measurement: note what every process tree uses, then make room.
//
// Above the budget: idle slots go, the one idle longest first; and no process is started (checkout.ts).
// Above the high mark: waiting slots whose agent can load its session again are proposed for eviction, the one parked
// longest first, never one with an answer sending. Their gates stay answerable, cold (A20).
// What is closing or proposed already counts as given back, so that one peak does not cost more sessions than it must.
import { proposeEviction } from "./eviction.ts";
import type { Done } from "./reply.ts";
import { oldestIdle } from "./room.ts";
import { memoryOf, type Slot, type SlotKey, type Tick, type Waiting } from "./slot.ts";
import { andThen, type Change, DONE, endSlot, type MemoryMarks, type Pool, type Step } from "./state.ts";

export type Measurement = MemoryMarks & { readonly usage: ReadonlyMap<SlotKey, number> };

export function measured(pool: Pool, { usage, budgetBytes, highBytes }: Measurement, now: Tick): Step<Done> {
  const slots = new Map<SlotKey, Slot>();
  for (const [key, slot] of pool.slots) slots.set(key, weighed(slot, usage.get(key) ?? memoryOf(slot)));
  let change: Change = { state: { ...pool, slots, memory: { budgetBytes, highBytes } }, effects: [] };
  while (remainingBytes(change.state, now) > budgetBytes) {
    const idle = oldestIdle(change.state);
    if (idle === null) break;
    change = andThen(change, (state) => endSlot(state, idle.key, idle.slot, "memory", now));
  }
  while (remainingBytes(change.state, now) > highBytes) {
    const parked = longestParked(change.state, now);
    if (parked === null) break;
    change = andThen(change, (state) => proposeEviction(state, parked.key, parked.slot, "memory", now));
  }
  return { ...change, reply: DONE };
}

/** All there is now, with what is still being ended. */
export function measuredBytes(pool: Pool): number {
  return sum([...pool.slots.values()]);
}

/** Whether memory is a reason to end this waiting process, if it is above the high mark. */
export function memoryEvictable(slot: Waiting): boolean {
  return slot.process.canLoad && slot.sending.length === 0;
}

/** Above the high mark by the last measurement, whatever is proposed. */
export function aboveHighMark(pool: Pool): boolean {
  if (pool.memory === null) return false;
  return sum([...pool.slots.values()].filter((slot) => slot.state !== "closing")) > pool.memory.highBytes;
}

function remainingBytes(pool: Pool, now: Tick): number {
  return sum([...pool.slots.values()].filter((slot) => slot.state !== "closing" && !isProposed(slot, now)));
}

function isProposed(slot: Slot, now: Tick): boolean {
  return slot.state === "waiting" && slot.proposal !== null && !slot.proposal.refused && now < slot.proposal.againAt;
}

function longestParked(pool: Pool, now: Tick): { readonly key: SlotKey; readonly slot: Waiting } | null {
  let longest: { readonly key: SlotKey; readonly slot: Waiting } | null = null;
  for (const [key, slot] of pool.slots) {
    if (slot.state !== "waiting" || !memoryEvictable(slot)) continue;
    if (slot.proposal !== null && now < slot.proposal.againAt) continue;
    if (longest === null || slot.clock.since < longest.slot.clock.since) longest = { key, slot };
  }
  return longest;
}

function weighed(slot: Slot, memoryBytes: number): Slot {
  if (slot.state === "closing") return { ...slot, memoryBytes };
  return { ...slot, process: { ...slot.process, memoryBytes } };
}

function sum(slots: readonly Slot[]): number {
  return slots.reduce((total, slot) => total + memoryOf(slot), 0);
}
