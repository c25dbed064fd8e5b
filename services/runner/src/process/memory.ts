// How much memory a process tree holds, cheaply enough to be asked for all trees every few seconds.
//
// Pages that nobody shares are added up; of the pages that could be shared (mostly the program's own file, which every
// process of the tree maps) only the largest holding counts. That is near to what a cgroup is charged; the kernel's exact
// account (smaps_rollup) walks every page table and stalls the process that is looked at.

import type { Clock } from "@holdfast/runtime";
import { type ProcessEntry, type ProcessId, readPages, readProcessTable } from "./table.ts";

/** Memory pages are 4 KiB on every machine Node 24 is built for, save a few arm64 kernels, where this counts too little. */
const PAGE_BYTES = 4_096;
/** How old a process table may be to still be asked about memory: all trees measured in one round share one. */
const TABLE_FRESH_MS = 500;

/** Bytes held by these processes together; 0 when none of them can be read. */
export function memoryOf(members: readonly ProcessId[]): number {
  let own = 0;
  let shared = 0;
  for (const { pid } of members) {
    const pages = readPages(pid);
    if (pages === null) continue;
    own += Math.max(pages.resident - pages.shared, 0);
    shared = Math.max(shared, pages.shared);
  }
  return (own + shared) * PAGE_BYTES;
}

/** One process table for all who measure at the same time. */
export class SharedTable {
  readonly #clock: Clock;
  #table: readonly ProcessEntry[] = [];
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  recent(): readonly ProcessEntry[] {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#readMs >= TABLE_FRESH_MS) {
      this.#table = readProcessTable();
      this.#readMs = nowMs;
    }
    return this.#table;
  }
}
