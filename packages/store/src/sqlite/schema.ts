// The file: opening it, and the steps that bring it to the schema of this release.
//
//  G1  A file that another program made, or a newer release of ours, is refused before anything in it changes.
//  G2  A schema step is one transaction with its number; two processes that open a new file do it once.
import { DatabaseSync } from "node:sqlite";
import { StoreUnavailable } from "../unavailable.ts";
import { BUSY_WAIT_MS, transact, whenFree } from "./transaction.ts";

/** How long opening waits for a file that others hold. */
export const OPEN_WAIT_MS = 5_000;
/** The write-ahead log is cut back to this when it has been copied into the database. */
const WAL_KEPT_BYTES = 64 * 1024 * 1024;
/** "HOLD": marks the file as ours, also for the tool `file`. */
const APPLICATION_ID = 0x484f4c44;

/** Step i brings version i to i + 1. Never change one that was released; add the next. */
const STEPS: readonly string[] = [
  `
  CREATE TABLE records (
    project TEXT NOT NULL,
    session_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (project, session_id)
  ) STRICT;
  -- The end of each log. A mark is a row whose epoch is above that of its entries.
  CREATE TABLE logs (
    project TEXT NOT NULL,
    session_id TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    PRIMARY KEY (project, session_id)
  ) STRICT, WITHOUT ROWID;
  -- position counts through all logs and never comes back: what came after a position is what is new.
  CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (project, session_id, seq)
  ) STRICT;
  CREATE INDEX events_by_id ON events (project, session_id, id);
  CREATE TABLE leases (
    runner TEXT NOT NULL PRIMARY KEY,
    revision INTEGER NOT NULL,
    document TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  `,
];

const SCHEMA_VERSION = STEPS.length;

export async function openDatabase(file: string): Promise<DatabaseSync> {
  const db = new DatabaseSync(file, { timeout: BUSY_WAIT_MS });
  try {
    await whenFree(() => prepare(db, file), performance.now() + OPEN_WAIT_MS);
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}

function prepare(db: DatabaseSync, file: string): void {
  refuseOthers(db, file);
  const mode = db.prepare("PRAGMA journal_mode = WAL").get()?.journal_mode;
  if (mode !== "wal") {
    throw new StoreUnavailable(`database ${file} cannot have a write-ahead log`, "move it to a local disk");
  }
  db.exec(`PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${WAL_KEPT_BYTES};`);
  // Also when there is nothing to do: a file we may not write is refused here, not at the first write.
  transact(db, () => {
    refuseOthers(db, file);
    for (const [version, step] of STEPS.entries()) {
      if (version < number(db, "user_version")) continue;
      db.exec(`${step} PRAGMA user_version = ${version + 1};`);
    }
  });
}

function refuseOthers(db: DatabaseSync, file: string): void {
  const isEmpty = db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
  if (!isEmpty && number(db, "application_id") !== APPLICATION_ID) {
    throw new StoreUnavailable(`database ${file} was made by another program`, "name another file");
  }
  const version = number(db, "user_version");
  if (version > SCHEMA_VERSION) {
    throw new StoreUnavailable(
      `database ${file} has schema ${version}, newer than ${SCHEMA_VERSION}`,
      "start the release that wrote it, or restore a copy from before that",
    );
  }
}

function number(db: DatabaseSync, pragma: "application_id" | "user_version"): number {
  return Number(db.prepare(`PRAGMA ${pragma}`).get()?.[pragma]);
}
