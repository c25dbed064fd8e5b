import { mkdir, open, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { newDatabaseFile, tamper } from "../../contract/database-file.ts";
import { events, firstRecord, KEY, lease } from "../../contract/sample.ts";
import { StoreUnavailable } from "../unavailable.ts";
import { explain } from "./failure.ts";
import { OPEN_WAIT_MS, openDatabase } from "./schema.ts";
import { openSqliteStore } from "./store.ts";

describe("opening a sqlite store", () => {
  const refusal = async (file: string): Promise<StoreUnavailable> => {
    const failure: unknown = await openSqliteStore({ file }).then(
      (store) => store.close(),
      (error: unknown) => error,
    );
    if (!(failure instanceof StoreUnavailable))
      throw new Error(`it was opened, or failed otherwise: ${String(failure)}`);
    expect(failure.message).toContain(file);
    return failure;
  };

  it("finds what was stored before it was closed", async () => {
    const file = await newDatabaseFile();
    const first = await openSqliteStore({ file });
    await first.records.swap(KEY, 0, firstRecord(KEY, "op-1"), "op-1");
    await first.events.append(KEY, 1, 0, events("a"));
    await first.leases.swap("runner-0", 0, lease("runner-0", 1), "op-1");
    await first.close();
    const second = await openSqliteStore({ file });
    expect(await second.records.get(KEY)).toMatchObject({ kind: "found", record: firstRecord(KEY, "op-1") });
    expect(await second.events.read(KEY, 0, 10)).toMatchObject([{ seq: 1, id: "a" }]);
    expect(await second.leases.list()).toMatchObject([{ lease: lease("runner-0", 1) }]);
    await second.close();
  });

  it("makes the schema once when several open a new file at the same time", async () => {
    const file = await newDatabaseFile();
    const stores = await Promise.all([1, 2, 3].map(() => openSqliteStore({ file })));
    const [one, ...others] = stores;
    await one?.records.swap(KEY, 0, firstRecord(KEY, "op-1"), "op-1");
    for (const store of others) expect((await store.records.get(KEY)).kind).toBe("found");
    await Promise.all(stores.map((store) => store.close()));
  });

  it("writes ahead, and waits for the disk at each commit (S5)", async () => {
    const db = await openDatabase(await newDatabaseFile());
    expect(db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    const full = 2;
    expect(db.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: full });
    db.close();
  });

  it("is refused by a newer schema, which stays as it is", async () => {
    const file = await newDatabaseFile();
    await (await openSqliteStore({ file })).close();
    await tamper(file, (db) => db.exec("PRAGMA user_version = 7"));
    const before = await readFile(file);
    expect((await refusal(file)).message).toContain("schema 7, newer than 1");
    expect(await readFile(file)).toEqual(before);
  });

  it("is refused by another program's database, which stays as it is", async () => {
    const file = await newDatabaseFile();
    await tamper(file, (db) => db.exec("CREATE TABLE bookmarks (url TEXT)"));
    const before = await readFile(file);
    expect((await refusal(file)).message).toContain("another program");
    expect(await readFile(file)).toEqual(before);
  });

  it("is refused by a file that is no database, which stays as it is", async () => {
    const file = await newDatabaseFile();
    await writeFile(file, "notes\n".repeat(500));
    expect((await refusal(file)).message).toContain("is not a database");
    expect(await readFile(file, "utf8")).toBe("notes\n".repeat(500));
  });

  it("is refused, after a bounded wait, while another process has the file to itself", async () => {
    const file = await newDatabaseFile();
    await (await openSqliteStore({ file })).close();
    const start = performance.now();
    await tamper(file, async (db) => {
      db.exec("BEGIN EXCLUSIVE");
      expect((await refusal(file)).message).toContain("locked by another process");
    });
    expect(performance.now() - start).toBeGreaterThanOrEqual(OPEN_WAIT_MS);
    expect(performance.now() - start).toBeLessThan(3 * OPEN_WAIT_MS);
    await (await openSqliteStore({ file })).close();
  });

  it("is refused where no file can be made", async () => {
    const file = await newDatabaseFile();
    expect((await refusal(join(dirname(file), "missing", "holdfast.db"))).nextStep).toContain("directory must exist");
    await mkdir(join(dirname(file), "folder"));
    await refusal(join(dirname(file), "folder"));
  });
});

describe("a sqlite store", () => {
  it("answers for a damaged file with what is damaged, and swaps nothing", async () => {
    const file = await newDatabaseFile();
    const store = await openSqliteStore({ file });
    const keys = Array.from({ length: 50 }, (_, index) => ({ ...KEY, sessionId: `s-${index}` }));
    for (const key of keys) await store.records.swap(key, 0, firstRecord(key, "op-1"), "op-1");
    await store.close();
    await damage(file);
    const damaged = await openSqliteStore({ file });
    await expect(damaged.records.get(KEY)).rejects.toThrow(`database ${file} is damaged`);
    await expect(damaged.records.list(null, null, 500)).rejects.toThrow(StoreUnavailable);
    const outcome = await damaged.records.swap(KEY, 1, firstRecord(KEY, "op-1"), "op-1");
    expect(outcome).toEqual({ kind: "unknown", why: expect.stringContaining("damaged") });
    await damaged.close();
  });

  it("does not take a runner for gone because its lease cannot be read", async () => {
    const file = await newDatabaseFile();
    const store = await openSqliteStore({ file });
    await store.leases.swap("runner-0", 0, lease("runner-0", 1), "op-1");
    await store.leases.swap("runner-1", 0, lease("runner-1", 1), "op-1");
    await tamper(file, (db) => db.exec(`UPDATE leases SET document = '{"format":2}' WHERE runner = 'runner-1'`));
    const why = "the lease of runner runner-1 cannot be read: format 2 is newer than 1";
    await expect(store.leases.get("runner-1")).rejects.toThrow(why);
    await expect(store.leases.list()).rejects.toThrow(why);
    expect((await store.leases.get("runner-0")).kind).toBe("found");
    expect(await store.leases.swap("runner-1", 1, lease("runner-1", 2), "op-2")).toEqual({ kind: "conflict" });
    await store.close();
  });

  it("finishes the writes it was asked for before it closes", async () => {
    const file = await newDatabaseFile();
    const store = await openSqliteStore({ file });
    const writes = Array.from({ length: 20 }, (_, last) => store.events.append(KEY, 1, last, events(`e-${last}`)));
    await store.close();
    for (const [index, write] of writes.entries()) expect(await write).toEqual({ kind: "appended", last: index + 1 });
    // Closed by the last one to use it, the file is whole without its log.
    await expect(stat(`${file}-wal`)).rejects.toThrow("ENOENT");
  });
});

describe("a failure of sqlite", () => {
  it("that comes of a read-only file says so, and what to do", async () => {
    const file = await newDatabaseFile();
    await (await openSqliteStore({ file })).close();
    const db = new DatabaseSync(file, { readOnly: true });
    const failure = explain(
      caught(() => db.exec("DELETE FROM records")),
      file,
    );
    expect(failure).toBeInstanceOf(StoreUnavailable);
    expect(String(failure)).toContain(`database ${file} is read-only`);
    db.close();
  });

  it("that comes of our own SQL stays what it is", () => {
    const db = new DatabaseSync(":memory:");
    const bug = caught(() => db.exec("SELECT nonsense"));
    expect(explain(bug, "holdfast.db")).toBe(bug);
    db.close();
  });
});

function caught(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** Everything behind the first page, which holds the header and the schema, becomes nonsense. */
async function damage(file: string): Promise<void> {
  const page = 4096;
  const { size } = await stat(file);
  const handle = await open(file, "r+");
  await handle.write(Buffer.alloc(size - page, 0xa5), 0, size - page, page);
  await handle.close();
}
