import type { DatabaseSync } from "node:sqlite";
import type { SessionKey } from "@holdfast/pool";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newDatabaseFile, tamper } from "../../contract/database-file.ts";
import { openDatabase } from "./schema.ts";
import { LOOK_INTERVAL_MS, Watch } from "./watch.ts";

describe("the watch over other processes' appends", () => {
  let file: string;
  let db: DatabaseSync;
  let watch: Watch;
  let grown: (readonly SessionKey[] | null)[];

  beforeEach(async () => {
    file = await newDatabaseFile();
    db = await openDatabase(file);
    grown = [];
    watch = new Watch(db, (keys) => grown.push(keys));
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
    watch.stop();
    if (db.isOpen) db.close();
  });

  const add = (connection: DatabaseSync, sessionId: string, seq: number) =>
    connection
      .prepare("INSERT INTO events (project, session_id, seq, epoch, id, body) VALUES ('acme', ?, ?, 1, ?, '')")
      .run(sessionId, seq, `e-${seq}`);

  it("does not look while nobody follows (V1)", () => {
    expect(vi.getTimerCount()).toBe(0);
    watch.begin();
    watch.begin();
    expect(vi.getTimerCount()).toBe(1);
    watch.end();
    expect(vi.getTimerCount()).toBe(1);
    watch.end();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("names each session that others appended to, once, and tells nothing of our own appends", async () => {
    watch.begin();
    add(db, "ours", 1);
    vi.advanceTimersByTime(LOOK_INTERVAL_MS);
    expect(grown).toEqual([]);
    await tamper(file, (other) => {
      add(other, "theirs", 1);
      add(other, "theirs", 2);
    });
    vi.advanceTimersByTime(LOOK_INTERVAL_MS);
    expect(grown).toEqual([[{ project: "acme", sessionId: "theirs" }]]);
    vi.advanceTimersByTime(10 * LOOK_INTERVAL_MS);
    expect(grown).toHaveLength(1);
  });

  it("says nothing when others wrote only records", async () => {
    watch.begin();
    await tamper(file, (other) => other.exec("INSERT INTO records VALUES ('acme', 's', 1, '{}')"));
    vi.advanceTimersByTime(LOOK_INTERVAL_MS);
    expect(grown).toEqual([]);
  });

  it("sends every follow to read for itself when a look fails (V3)", () => {
    watch.begin();
    db.close();
    vi.advanceTimersByTime(LOOK_INTERVAL_MS);
    expect(grown).toEqual([null]);
  });
});
