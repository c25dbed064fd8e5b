// An exclusive lock on a name in a directory, held by this process and let go by the operating system however the process
// ends: an SQLite file in exclusive mode, so there is no stale lock to clean up and no pid to compare.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Another process holds the lock, or the directory cannot be used. Nothing was changed. */
export class LockRefused extends Error {
  override readonly name = "LockRefused";
}

export interface HeldLock {
  /** Idempotent. */
  release(): void;
}

const PRIVATE_DIRECTORY = 0o700;

/** Throws LockRefused at once, never waits. `what` says for people what the lock is about. */
export function lockOrRefuse(directory: string, name: string, what: string): HeldLock {
  const file = join(directory, `${name}.lock`);
  let database: DatabaseSync | null = null;
  try {
    mkdirSync(directory, { recursive: true, mode: PRIVATE_DIRECTORY });
    database = new DatabaseSync(file, { timeout: 0 });
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE;");
  } catch (error) {
    database?.close();
    throw refused(error, file, what);
  }
  const held = database;
  return {
    release() {
      if (held.isOpen) held.close();
    },
  };
}

const SQLITE_BUSY = 5;

function refused(error: unknown, file: string, what: string): LockRefused {
  const code = (error as { errcode?: number } | null)?.errcode;
  const why =
    code === SQLITE_BUSY
      ? "another process uses it; end that process, or use another HOLDFAST_DATA_DIR"
      : `its lock cannot be taken (${error instanceof Error ? error.message : String(error)}); is the directory writable?`;
  return new LockRefused(`${what}: ${why} (${file})`, { cause: error });
}
