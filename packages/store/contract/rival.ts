// Another process on the same database: it opens the store on the file it is given and does what its parent tells it.
import { DatabaseSync } from "node:sqlite";
import type { AppendOutcome, LogEvent, SessionKey, SessionRecord } from "@holdfast/pool";
import { openSqliteStore } from "../src/index.ts";
import { events, firstRecord, nextRecord } from "./sample.ts";

export type Order =
  /** Changes the record so often, reading it again after each conflict. Answer: done. */
  | { readonly do: "swaps"; readonly key: SessionKey; readonly name: string; readonly times: number }
  /** Appends so many batches, each at the log's end; reports each: acked. At the end: done. */
  | {
      readonly do: "appends";
      readonly key: SessionKey;
      readonly name: string;
      readonly times: number;
      readonly size: number;
    }
  /** Appends bodies of so many bytes until an answer is unknown. Reports each: acked. At the end: failed. */
  | { readonly do: "fill"; readonly key: SessionKey; readonly bytes: number }
  /** Reports every entry. */
  | { readonly do: "follow"; readonly key: SessionKey }
  /** Takes the write lock, past the store, and keeps it until told to release it. Answer: done, both times. */
  | { readonly do: "hold" | "release" };

export type Report =
  | { readonly kind: "ready" | "done" }
  | { readonly kind: "acked"; readonly last: number }
  | { readonly kind: "entry"; readonly seq: number }
  | { readonly kind: "failed"; readonly why: string };

const file = process.argv[2] ?? "";
const store = await openSqliteStore({ file });
const holder = new DatabaseSync(file);

function report(message: Report): void {
  process.send?.(message);
}

async function swaps(key: SessionKey, name: string, times: number): Promise<void> {
  for (let change = 0; change < times; change += 1) await swapOnce(key, `${name}-${change}`);
}

async function swapOnce(key: SessionKey, operation: string): Promise<void> {
  for (;;) {
    const read = await store.records.get(key);
    if (read.kind === "unreadable") throw new Error(read.why);
    const revision = read.kind === "found" ? read.revision : 0;
    const record = nextRecord(read.kind === "found" ? read.record : firstRecord(key, operation), operation);
    if (await isSwapped(key, revision, record, operation)) return;
  }
}

/** The very same write, until the answer is definite. */
async function isSwapped(
  key: SessionKey,
  revision: number,
  record: SessionRecord,
  operation: string,
): Promise<boolean> {
  let outcome = await store.records.swap(key, revision, record, operation);
  while (outcome.kind === "unknown") outcome = await store.records.swap(key, revision, record, operation);
  return outcome.kind === "swapped";
}

async function appends(key: SessionKey, name: string, times: number, size: number): Promise<void> {
  let last = (await store.events.tail(key)).last;
  for (let batch = 0; batch < times; ) {
    const ids = Array.from({ length: size }, (_, part) => `${name}-${batch}-${part}`);
    const outcome = await appended(key, last, events(...ids));
    if (outcome.kind === "fenced") throw new Error("nobody here has a higher epoch");
    last = outcome.last;
    if (outcome.kind === "conflict") continue;
    report({ kind: "acked", last });
    batch += 1;
  }
}

async function appended(key: SessionKey, last: number, batch: readonly LogEvent[]) {
  let outcome: AppendOutcome;
  do outcome = await store.events.append(key, 1, last, batch);
  while (outcome.kind === "unknown");
  return outcome;
}

async function fill(key: SessionKey, bytes: number): Promise<string> {
  for (let last = 0; ; ) {
    const batch = events(`${last}-a`, `${last}-b`).map(({ id }) => ({ id, body: "x".repeat(bytes) }));
    const outcome = await store.events.append(key, 1, last, batch);
    if (outcome.kind === "unknown") return outcome.why;
    if (outcome.kind === "fenced") throw new Error("nobody here has a higher epoch");
    last = outcome.last;
    report({ kind: "acked", last });
  }
}

async function obey(order: Order): Promise<void> {
  switch (order.do) {
    case "swaps":
      await swaps(order.key, order.name, order.times);
      return report({ kind: "done" });
    case "appends":
      await appends(order.key, order.name, order.times, order.size);
      return report({ kind: "done" });
    case "fill":
      return report({ kind: "failed", why: await fill(order.key, order.bytes) });
    case "follow": {
      const forEver = new AbortController().signal;
      for await (const { seq } of store.events.follow(order.key, 0, forEver)) report({ kind: "entry", seq });
      return;
    }
    case "hold":
      holder.exec("BEGIN IMMEDIATE");
      return report({ kind: "done" });
    case "release":
      holder.exec("ROLLBACK");
      return report({ kind: "done" });
  }
}

process.on("message", (order: Order) => void obey(order));
process.on("disconnect", () => process.exit());
report({ kind: "ready" });
