// Writes have the file one at a time. Within this thread they stand in line; between processes sqlite's lock decides, and
// who does not get it tries again for a bounded time.
//
//  T1  A write is one IMMEDIATE transaction without a pause in it: all of it is in the file, or nothing.
//  T2  While a write waits for the lock, reads go on: each attempt blocks the thread for BUSY_WAIT_MS at most.
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { isBusy } from "./failure.ts";

/** sqlite's own wait for a lock within one attempt. */
export const BUSY_WAIT_MS = 20;
/** Between two attempts: for the calls that came meanwhile. */
const RETRY_PAUSE_MS = 2;
/** From when a read or write is asked for until it gives up on the lock; it is tried once at least. */
export const LOCK_WAIT_MS = 1_000;

export class Transactions {
  readonly #db: DatabaseSync;
  #line: Promise<unknown> = Promise.resolve();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  read<T>(work: () => T): Promise<T> {
    return whenFree(work, performance.now() + LOCK_WAIT_MS);
  }

  write<T>(work: () => T): Promise<T> {
    const deadline = performance.now() + LOCK_WAIT_MS;
    const turn = this.#line.then(() => whenFree(() => transact(this.#db, work), deadline));
    // The outcome is its caller's; the line only has to know that it is over.
    this.#line = Promise.allSettled([turn]);
    return turn;
  }

  /** When every write asked for so far is over. */
  async idle(): Promise<void> {
    await this.#line;
  }
}

/** Throws what `work` throws, after the file is back to what it was. */
export function transact<T>(db: DatabaseSync, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    // sqlite itself has rolled back after some failures of the disk.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** Does it, again and again while somebody else holds the file and the deadline (of performance.now) is ahead. */
export async function whenFree<T>(work: () => T, deadline: number): Promise<T> {
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
    }
    await pause(RETRY_PAUSE_MS);
  }
}
