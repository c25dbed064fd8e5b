// Databases for tests: each in a directory of its own that goes with the test file that made it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll } from "vitest";

const directories: string[] = [];

afterAll(async () => {
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true });
});

/** A path where no database is yet. */
export async function newDatabaseFile(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-store-"));
  directories.push(directory);
  return join(directory, "holdfast.db");
}

/** Another hand at the file, past the store. */
export async function tamper<T>(file: string, work: (db: DatabaseSync) => T | Promise<T>): Promise<T> {
  const db = new DatabaseSync(file);
  try {
    return await work(db);
  } finally {
    db.close();
  }
}
