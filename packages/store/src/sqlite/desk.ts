// Everything the thread can be asked for. Reads are served between the attempts of a write that waits for the file, so a
// lock held elsewhere delays writes only.
import type { DatabaseSync } from "node:sqlite";
import type { Grown } from "./channel.ts";
import { eventCalls } from "./events.ts";
import { explain } from "./failure.ts";
import { leaseCalls } from "./leases.ts";
import { recordCalls } from "./records.ts";
import { openDatabase } from "./schema.ts";
import { Transactions } from "./transaction.ts";
import { Watch } from "./watch.ts";

export type Desk = Awaited<ReturnType<typeof openDesk>>;

/** What the three parts run on. `write` is one transaction that holds the file; both throw StoreUnavailable. */
export type Access = {
  readonly db: DatabaseSync;
  read<T>(work: () => T): Promise<T>;
  write<T>(work: () => T): Promise<T>;
};

export async function openDesk(file: string, grown: Grown) {
  const db = await explained(file, openDatabase(file));
  const transactions = new Transactions(db);
  const watch = new Watch(db, grown);
  const access: Access = {
    db,
    read: (work) => explained(file, transactions.read(work)),
    write: (work) => explained(file, transactions.write(work)),
  };
  return {
    ready: () => undefined,
    ...recordCalls(access),
    ...eventCalls(access),
    ...leaseCalls(access),
    beginWatch: () => access.read(() => watch.begin()),
    endWatch: () => watch.end(),
    close: async () => {
      await transactions.idle();
      watch.stop();
      db.close();
    },
  };
}

async function explained<T>(file: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw explain(error, file);
  }
}
