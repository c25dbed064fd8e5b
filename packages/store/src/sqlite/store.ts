// The store contract over one sqlite file, for one machine: any number of processes open the same file. This side is thin;
// the database lives in a thread of its own, so that no lock and no disk ever stalls the loop of the process.
//
//   schema.ts       opens the file, brings it to our schema, or says why not
//   transaction.ts  when a write has the file: one at a time, whole or not at all, waiting a bounded time for others
//   records.ts, events.ts, leases.ts   the three parts in SQL
//   watch.ts        notices what other processes appended
//   desk.ts         all of these as one set of calls
//   channel.ts      the calls, from this side to the thread's (thread.ts)
//   failure.ts      what sqlite's errors mean to whoever reads them
import { resolve } from "node:path";
import type { EventLog, LeaseStore, RecordStore, Store } from "@holdfast/pool";
import { checkAppend, checkNumber, checkRead } from "../append.ts";
import { decodeCursor } from "../cursor.ts";
import { Bell, follow } from "../follow.ts";
import { checkListing, prepareRecord } from "../record-write.ts";
import { unknownInstead } from "../unavailable.ts";
import { Channel } from "./channel.ts";
import type { Desk } from "./desk.ts";

export type SqliteOptions = {
  /** Path of the database; it is created when it is not there, its directory is not. */
  readonly file: string;
};

/** Throws StoreUnavailable when the file cannot be used: it is locked, read-only, damaged, not ours or of a newer schema. */
export async function openSqliteStore(options: SqliteOptions): Promise<Store> {
  const bell = new Bell();
  const channel = new Channel<Desk>(
    new URL("./thread.ts", import.meta.url),
    { file: resolve(options.file) },
    (keys) => {
      if (keys === null) bell.ringAll();
      else for (const key of keys) bell.ring(key);
    },
  );
  try {
    await channel.call("ready");
  } catch (error) {
    await channel.close();
    throw error;
  }
  return {
    records: recordsOver(channel),
    events: eventsOver(channel, bell),
    leases: leasesOver(channel),
    close: async () => {
      bell.silence();
      await channel.close();
    },
  };
}

function recordsOver(channel: Channel<Desk>): RecordStore {
  return {
    get: (key) => channel.call("getRecord", key),
    swap: async (key, revision, record, operation) => {
      const prepared = prepareRecord(key, record, operation);
      if (prepared.kind === "too_large") return prepared;
      return unknownInstead(channel.call("swapRecord", key, revision, prepared.document, operation));
    },
    list: async (project, after, limit) => {
      checkListing(limit);
      return channel.call("listRecords", project, after === null ? null : decodeCursor(after), limit);
    },
  };
}

function eventsOver(channel: Channel<Desk>, bell: Bell): EventLog {
  const watch = async (): Promise<AsyncDisposable> => {
    await channel.call("beginWatch");
    return { [Symbol.asyncDispose]: () => (channel.isOpen ? channel.call("endWatch") : Promise.resolve()) };
  };
  const followed = { bell, watch, read: (...range: Parameters<EventLog["read"]>) => channel.call("readLog", ...range) };
  return {
    append: async (key, epoch, expectedLast, events) => {
      checkAppend(epoch, expectedLast, events);
      const outcome = await unknownInstead(channel.call("append", key, epoch, expectedLast, events));
      // Others hear of it from the file; our own connection does not tell us of ourselves.
      if (outcome.kind === "appended" || outcome.kind === "unknown") bell.ring(key);
      return outcome;
    },
    mark: async (key, epoch) => {
      checkNumber("epoch", epoch);
      return unknownInstead(channel.call("mark", key, epoch));
    },
    tail: (key) => channel.call("tail", key),
    holds: (key, ids) => channel.call("holds", key, ids),
    read: async (key, after, limit) => {
      checkRead(after, limit);
      return channel.call("readLog", key, after, limit);
    },
    follow: (key, after, signal) => {
      checkNumber("after", after);
      return follow(followed, key, after, signal);
    },
  };
}

function leasesOver(channel: Channel<Desk>): LeaseStore {
  return {
    get: (runner) => channel.call("getLease", runner),
    swap: (runner, revision, lease, operation) =>
      unknownInstead(channel.call("swapLease", runner, revision, lease, operation)),
    list: () => channel.call("listLeases"),
  };
}
