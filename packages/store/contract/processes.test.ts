// The contract, between real processes on one sqlite file.
import type { LogEntry, Store } from "@holdfast/pool";
import { describe, expect, it } from "vitest";
import { openSqliteStore } from "../src/index.ts";
import { LOCK_WAIT_MS } from "../src/sqlite/transaction.ts";
import { newDatabaseFile } from "./database-file.ts";
import { type Rival, startRival } from "./rival-process.ts";
import { countOf, events, KEY } from "./sample.ts";

const RIVALS = ["r1", "r2", "r3"] as const;
/** What a follow in another process may take, by the contract. */
const FOLLOW_WITHIN_MS = 100;

async function overFile(test: (store: Store, file: string) => Promise<void>): Promise<void> {
  const file = await newDatabaseFile();
  const store = await openSqliteStore({ file });
  try {
    await test(store, file);
  } finally {
    await store.close();
  }
}

async function whole(store: Store): Promise<readonly LogEntry[]> {
  const { last } = await store.events.tail(KEY);
  const entries: LogEntry[] = [];
  while (entries.length < last) entries.push(...(await store.events.read(KEY, entries.length, 1000)));
  expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: last }, (_, index) => index + 1));
  return entries;
}

describe("several processes on one file", () => {
  it("lose no swap of a record that all of them change (S1)", () =>
    overFile(async (store, file) => {
      const times = 40;
      const rivals = await Promise.all(RIVALS.map(() => startRival(file)));
      for (const [index, rival] of rivals.entries()) {
        rival.tell({ do: "swaps", key: KEY, name: RIVALS[index] ?? "", times });
      }
      await Promise.all(rivals.map((rival) => rival.next("done")));
      const read = await store.records.get(KEY);
      expect(read).toMatchObject({ kind: "found", revision: RIVALS.length * times });
      expect(read.kind === "found" && countOf(read.record)).toBe(RIVALS.length * times);
      await Promise.all(rivals.map((rival) => rival.kill()));
    }));

  it("append to one log without a gap, each batch whole", () =>
    overFile(async (store, file) => {
      const times = 30;
      const size = 3;
      const rivals = await Promise.all(RIVALS.map(() => startRival(file)));
      for (const [index, rival] of rivals.entries()) {
        rival.tell({ do: "appends", key: KEY, name: RIVALS[index] ?? "", times, size });
      }
      await Promise.all(rivals.map((rival) => rival.next("done")));
      const ids = (await whole(store)).map(({ id }) => id);
      expect(ids).toHaveLength(RIVALS.length * times * size);
      expect(new Set(ids).size).toBe(ids.length);
      for (let start = 0; start < ids.length; start += size) expectBatch(ids.slice(start, start + size));
      await Promise.all(rivals.map((rival) => rival.kill()));
    }));

  it("find whole batches only, and every acknowledged one, after a writer was killed (S5)", () =>
    overFile(async (store, file) => {
      const size = 10;
      for (const acknowledged of [1, 7, 20]) {
        const { last: before } = await store.events.tail(KEY);
        const rival = await startRival(file);
        rival.tell({ do: "appends", key: KEY, name: `until-${acknowledged}`, times: 1_000_000, size });
        let acked = 0;
        while (acked < before + acknowledged * size) acked = (await rival.next("acked")).last;
        await rival.kill();
        const entries = await whole(store);
        expect(entries.length).toBeGreaterThanOrEqual(acked);
        expect(entries.length % size).toBe(0);
        // The killed writer left no lock behind.
        expect((await store.events.append(KEY, 1, entries.length, events(...batchIds(acknowledged, size)))).kind).toBe(
          "appended",
        );
      }
    }));

  it("hear of each other's appends in their follows within 100 ms", () =>
    overFile(async (store, file) => {
      const rival = await startRival(file);
      rival.tell({ do: "follow", key: KEY });
      await store.events.append(KEY, 1, 0, events("first"));
      await rival.next("entry");
      const delays: number[] = [];
      for (let last = 1; last <= 15; last += 1) {
        const start = performance.now();
        await store.events.append(KEY, 1, last, events(`n-${last}`));
        expect((await rival.next("entry")).seq).toBe(last + 1);
        delays.push(performance.now() - start);
      }
      // The median: a machine that is busy with other tests may be late now and then.
      expect(delays.sort((one, other) => one - other)[7]).toBeLessThan(FOLLOW_WITHIN_MS);
      await rival.kill();
    }));

  it("follow what another process appends, without gap or double", () =>
    overFile(async (store, file) => {
      const total = 120;
      const rival = await startRival(file);
      rival.tell({ do: "appends", key: KEY, name: "r1", times: total / 2, size: 2 });
      const numbers: number[] = [];
      for await (const { seq } of store.events.follow(KEY, 0, new AbortController().signal)) {
        numbers.push(seq);
        if (seq === total) break;
      }
      expect(numbers).toEqual(Array.from({ length: total }, (_, index) => index + 1));
      await rival.kill();
    }));

  it("get an unknown answer and nothing half-written when the disk is full", () =>
    overFile(async (store, file) => {
      const rival = await startRival(file, 2_048);
      rival.tell({ do: "fill", key: KEY, bytes: 100_000 });
      const { why } = await rival.next("failed");
      expect(why).toContain(`database ${file}`);
      expect(why).toMatch(/full disk|space/);
      const entries = await whole(store);
      expect(entries.length).toBeGreaterThan(0);
      expect(entries.length % 2).toBe(0);
      await rival.kill();
      expect((await store.events.append(KEY, 1, entries.length, events("more"))).kind).toBe("appended");
    }));
});

describe("a process that waits for a lock that another one holds", () => {
  const held = (test: (store: Store, rival: Rival) => Promise<void>) =>
    overFile(async (store, file) => {
      const rival = await startRival(file);
      await store.events.append(KEY, 1, 0, events("first"));
      rival.tell({ do: "hold" });
      await rival.next("done");
      await test(store, rival);
      await rival.kill();
    });

  it("keeps its own loop turning and its reads served, and answers unknown in bounded time", () =>
    held(async (store) => {
      const start = performance.now();
      let ticks = 0;
      const ticker = setInterval(() => {
        ticks += 1;
      }, 5);
      const write = store.events.append(KEY, 1, 1, events("second"));
      let reads = 0;
      let isOver = false;
      void write.then(() => {
        isOver = true;
      });
      while (!isOver) {
        expect(await store.events.tail(KEY)).toMatchObject({ last: 1 });
        reads += 1;
      }
      clearInterval(ticker);
      expect(performance.now() - start).toBeGreaterThanOrEqual(LOCK_WAIT_MS);
      expect(performance.now() - start).toBeLessThan(5 * LOCK_WAIT_MS);
      expect(await write).toEqual({ kind: "unknown", why: expect.stringContaining("locked by another process") });
      // About 200 and 50 on an idle machine.
      expect(ticks).toBeGreaterThan(20);
      expect(reads).toBeGreaterThan(5);
    }));

  it("makes the write when the lock is released in time, or when it is sent again later", () =>
    held(async (store, rival) => {
      expect((await store.events.append(KEY, 1, 1, events("second"))).kind).toBe("unknown");
      const write = store.events.append(KEY, 1, 1, events("second"));
      rival.tell({ do: "release" });
      expect(await write).toEqual({ kind: "appended", last: 2 });
      expect((await whole(store)).map(({ id }) => id)).toEqual(["first", "second"]);
    }));
});

function batchIds(name: number, size: number): readonly string[] {
  return Array.from({ length: size }, (_, part) => `after-${name}-${part}`);
}

/** One writer's batch: the same name and number, parts in order. */
function expectBatch(ids: readonly string[]): void {
  const [name, batch] = ids[0]?.split("-") ?? [];
  expect(ids).toEqual(ids.map((_, part) => `${name}-${batch}-${part}`));
}
