import { openMemoryStore } from "@holdfast/store";
import { expect, test } from "vitest";
import { appendAll, call, draft, raw, raws } from "./fixture/events.ts";
import { aGate, KEY, must, ownerOf, running, worldOf } from "./fixture/session.ts";
import { eventsAfter, gateCalls, readCall, readEvents } from "./read.ts";

const announced = (id: string) => draft(`call:${id}`, { case: "toolCall", value: call(id) });

test("events come with their numbers, after a number, as many as asked for", async () => {
  const store = openMemoryStore();
  await appendAll(store, 1, raws(5));
  const events = await readEvents(store.events, KEY, 1, 2);
  expect(events.map(({ seq, event }) => [Number(seq), event.case])).toEqual([
    [2, "raw"],
    [3, "raw"],
  ]);
});

test("every event after a number comes once, in order, however many there are", async () => {
  const store = openMemoryStore();
  const count = 200;
  await appendAll(store, 1, raws(count));
  const seqs: number[] = [];
  for await (const { seq } of eventsAfter(store.events, KEY, 3)) seqs.push(Number(seq));
  expect(seqs).toEqual(Array.from({ length: count - 3 }, (_, index) => index + 4));
});

test("what is appended while the log is read comes, too", async () => {
  const store = openMemoryStore();
  await appendAll(store, 1, raws(64));
  const seqs: number[] = [];
  for await (const { seq } of eventsAfter(store.events, KEY, 0)) {
    if (seqs.length === 0) await appendAll(store, 1, [raw("late")]);
    seqs.push(Number(seq));
  }
  expect(seqs).toHaveLength(65);
});

test("a gate's call is the event of its number; of any other kind or number there is none", async () => {
  const store = openMemoryStore();
  const update = draft("update", { case: "toolCallUpdate", value: call("b") });
  await appendAll(store, 1, [announced("a"), raw("x"), update]);
  expect((await readCall(store.events, KEY, 1))?.id).toBe("a");
  expect(await readCall(store.events, KEY, 2)).toBeNull();
  expect((await readCall(store.events, KEY, 3))?.id).toBe("b");
  expect(await readCall(store.events, KEY, 4)).toBeNull();
});

test("the calls of a record's gates come by gate id; one that the log no longer has is left out", async () => {
  const { store, held } = await running();
  await appendAll(store, 1, [announced("a")]);
  await must(worldOf(store, "w"), aGate("g1", 1), ownerOf(held));
  const now = await must(worldOf(store, "v"), aGate("g2", 9), ownerOf(held));
  const calls = await gateCalls(store.events, KEY, now.record);
  expect([...calls].map(([gateId, { id }]) => [gateId, id])).toEqual([["g1", "a"]]);
});
