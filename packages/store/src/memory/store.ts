// The store contract in the memory of one process: for tests, and for a simulation that shares one store between the
// services it runs. It keeps encoded documents, as a real store does, so nobody can change what was stored by holding on
// to it. No clock, no timer, no randomness. S5 does not hold: it ends with its process.
import type { Store } from "@holdfast/pool";
import { Bell } from "../follow.ts";
import { closedStore } from "../unavailable.ts";
import { memoryEvents } from "./events.ts";
import { memoryLeases } from "./leases.ts";
import { memoryRecords, type StoredRecord } from "./records.ts";

/** One step of the store: it runs whole, before any other. Throws StoreUnavailable once the store is closed. */
export type Step = <T>(work: () => T) => Promise<T>;

/** `records` is what the store begins with, each at revision 1, whatever state its document is in. */
export function openMemoryStore(records: readonly StoredRecord[] = []): Store {
  const bell = new Bell();
  const step: Step = async (work) => {
    if (bell.silenced) throw closedStore();
    return work();
  };
  return {
    records: memoryRecords(step, records),
    events: memoryEvents(step, bell),
    leases: memoryLeases(step),
    close: async () => bell.silence(),
  };
}
