import type { EventLog } from "@holdfast/pool";
import { ManualClock } from "@holdfast/runtime";
import { openMemoryStore } from "@holdfast/store";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { appendAll, raw, raws, Told } from "./fixture/events.ts";
import { faults } from "./fixture/faults.ts";
import { type Fault, FaultyStore } from "./fixture/faulty-store.ts";
import { idleClock, KEY, logOf, worldOf } from "./fixture/session.ts";
import { APPEND_BUDGET_MS, APPEND_BYTES, APPEND_EVENTS, type Draft, Fenced, Journal } from "./journal.ts";

type Append = Parameters<EventLog["append"]>;

const always = (fault: Fault): readonly Fault[] => Array.from({ length: 400 }, () => fault);

async function opened(epoch = 1, store = openMemoryStore(), faulty = new FaultyStore(store, [])) {
  const told = new Told();
  const journal = await Journal.open(worldOf(faulty, "w"), KEY, epoch, told.note);
  return { store, faulty, journal, told };
}

const idsIn = async (store: Parameters<typeof logOf>[0]) => (await logOf(store)).map(({ id }) => id);

describe("a journal", () => {
  test("numbers what it appends from where the log ends, and tells of each with its number and size", async () => {
    const store = openMemoryStore();
    await appendAll(store, 1, raws(3, "old"));
    const { journal, told } = await opened(2, store);
    expect(journal.last).toBe(3);
    await journal.append([raw("a"), raw("b")]);
    expect(await idsIn(store)).toEqual(["old0", "old1", "old2", "a", "b"]);
    expect(told.ids).toEqual(["a", "b"]);
    expect(told.seqs).toEqual([4, 5]);
    const bodies = (await store.events.read(KEY, 3, 10)).map(({ body }) => Buffer.byteLength(body));
    expect(told.events.map(({ bytes }) => bytes)).toEqual(bodies);
    expect(journal.last).toBe(5);
  });

  test("appends at most APPEND_EVENTS events at once", async () => {
    const { store, faulty, journal } = await opened();
    const before = faulty.calls;
    await journal.append(raws(APPEND_EVENTS + 1));
    expect(faulty.calls - before).toBe(2);
    expect(await idsIn(store)).toEqual(raws(APPEND_EVENTS + 1).map(({ id }) => id));
  });

  test("appends at most APPEND_BYTES bytes at once, and a larger one alone", async () => {
    const { store, faulty, journal } = await opened();
    const before = faulty.calls;
    const half = Math.floor(APPEND_BYTES / 40);
    await journal.append(Array.from({ length: 45 }, (_, index) => raw(`e${index}`, half)));
    expect(faulty.calls - before).toBe(2);
    expect(await idsIn(store)).toHaveLength(45);
  });

  test("at a lower epoch than the log's is fenced before it writes anything (J3)", async () => {
    const store = openMemoryStore();
    await store.events.mark(KEY, 7);
    await expect(opened(6, store)).rejects.toThrow(Fenced);
  });

  test("that is overtaken is fenced at its next append, and what it has not told of is not in", async () => {
    const { store, journal, told } = await opened(1);
    await journal.append([raw("a")]);
    await store.events.mark(KEY, 2);
    await expect(journal.append([raw("b")])).rejects.toMatchObject({ name: "Fenced", epoch: 2 });
    await expect(journal.append([raw("c")])).rejects.toThrow(Fenced);
    expect(await idsIn(store)).toEqual(["a"]);
    expect(told.ids).toEqual(["a"]);
  });

  test("takes what another writer of its epoch has appended as appended, and does not append it again (J2)", async () => {
    const { store, journal, told } = await opened();
    await appendAll(store, 1, [raw("a"), raw("foreign"), raw("b")]);
    await journal.append([raw("a"), raw("b"), raw("c")]);
    expect(await idsIn(store)).toEqual(["a", "foreign", "b", "c"]);
    expect(told.ids).toEqual(["a", "foreign", "b", "c"]);
  });

  test("catches up with a log that is far ahead", async () => {
    const { store, journal, told } = await opened();
    const ahead = raws(3 * APPEND_EVENTS + 5);
    await appendAll(store, 1, ahead);
    await journal.append([...ahead, raw("mine")]);
    expect(told.ids).toEqual([...ahead.map(({ id }) => id), "mine"]);
    expect(await idsIn(store)).toEqual(told.ids);
  });

  test("stops at once when the log has lost what it acknowledged", async () => {
    let { events } = openMemoryStore();
    const log = { ...events, append: (...write: Append) => events.append(...write) };
    const journal = await Journal.open({ log, clock: idleClock() }, KEY, 1, () => undefined);
    await journal.append(raws(3));
    events = openMemoryStore().events;
    await expect(journal.append([raw("x")])).rejects.toThrow("event 3 was acknowledged");
  });
});

describe("an append whose outcome is unknown (J1)", () => {
  test.each<readonly [string, readonly Fault[]]>([
    ["is in", [{ kind: "reply_lost" }]],
    ["is not in", [{ kind: "call_lost" }]],
    ["comes in later", [{ kind: "late", calls: 0 }]],
    ["comes in after its successor", [{ kind: "late", calls: 3 }]],
  ])("and %s is sent again unchanged: the event is in once", async (_, schedule) => {
    const store = openMemoryStore();
    const faulty = new FaultyStore(store, [{ kind: "none" }, ...schedule]);
    const { journal, told } = await opened(1, store, faulty);
    await journal.append([raw("a")]);
    await journal.append([raw("b")]);
    await faulty.settle();
    expect(await idsIn(store)).toEqual(["a", "b"]);
    expect(told.seqs).toEqual([1, 2]);
  });

  test("is given up after APPEND_BUDGET_MS, and nobody is told of what may not be in", async () => {
    const store = openMemoryStore();
    const clock = new ManualClock();
    const faulty = new FaultyStore(store, [{ kind: "none" }, { kind: "none" }, ...always({ kind: "reply_lost" })]);
    const told = new Told();
    const journal = await Journal.open(worldOf(faulty, "w", idleClock(clock)), KEY, 1, told.note);
    await journal.append([raw("a")]);
    const failed = expect(journal.append([raw("b")])).rejects.toMatchObject({ name: "StoreUnavailable" });
    await failed;
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(APPEND_BUDGET_MS);
    expect(clock.monotonicMs()).toBeLessThan(APPEND_BUDGET_MS + 100);
    expect(told.ids).toEqual(["a"]);
    expect(await idsIn(store)).toEqual(["a", "b"]);
  });

  test("and was given up is recognised when it is appended again with what came after it", async () => {
    const store = openMemoryStore();
    const faulty = new FaultyStore(store, [{ kind: "none" }, ...always({ kind: "reply_lost" }).slice(0, 162)]);
    const { journal, told } = await opened(1, store, faulty);
    await expect(journal.append([raw("a"), raw("b")])).rejects.toMatchObject({ name: "StoreUnavailable" });
    await journal.append([raw("a"), raw("b"), raw("c")]);
    expect(told.ids).toEqual(["a", "b", "c"]);
    expect(await idsIn(store)).toEqual(["a", "b", "c"]);
  });

  test("an ownership mark, too, is sent again until it is definite", async () => {
    const store = openMemoryStore();
    const faulty = new FaultyStore(store, [{ kind: "call_lost" }, { kind: "reply_lost" }]);
    const { journal } = await opened(4, store, faulty);
    expect(journal.epoch).toBe(4);
    expect((await store.events.tail(KEY)).epoch).toBe(4);
  });
});

describe("whatever the network does", () => {
  test("each event is in once, in order, without gaps, and told once, in order", () =>
    fc.assert(
      fc.asyncProperty(
        faults(),
        fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 6 }),
        async (schedule, sizes) => {
          const store = openMemoryStore();
          let strangers = 0;
          const rival = () => appendAll(store, 1, [raw(`stranger-${++strangers}`)]);
          const faulty = new FaultyStore(store, schedule, rival);
          const { journal, told } = await opened(1, store, faulty);
          const first = journal.last;
          const batches = sizes.map((size, batch) => raws(size, `b${batch}-`));
          for (const batch of batches) await journal.append(batch);
          await faulty.settle();
          const log = await logOf(store);
          expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
          const ours = log.map(({ id }) => id).filter((id) => !id.startsWith("stranger"));
          expect(ours).toEqual(batches.flat().map(({ id }) => id));
          expect(told.ids).toEqual(log.slice(first, journal.last).map(({ id }) => id));
          expect(told.seqs).toEqual(told.ids.map((_, index) => first + 1 + index));
        },
      ),
      { numRuns: 150 },
    ));

  test("two writers of one epoch that tell the same put each event in once", () =>
    fc.assert(
      fc.asyncProperty(fc.tuple(faults(), faults()), fc.integer({ min: 1, max: 9 }), async (schedules, count) => {
        const store = openMemoryStore();
        const shared = raws(count);
        const writers = schedules.map((schedule) => new FaultyStore(store, schedule));
        const tell = async (faulty: FaultyStore) => {
          const { journal, told } = await opened(1, store, faulty);
          const known = await store.events.holds(
            KEY,
            shared.map(({ id }) => id),
          );
          const rest: readonly Draft[] = shared.filter(({ id }) => !known.has(id));
          for (const one of rest) await journal.append([one]);
          return told;
        };
        const told = await Promise.all(writers.map(tell));
        for (const faulty of writers) await faulty.settle();
        expect(await idsIn(store)).toEqual(shared.map(({ id }) => id));
        for (const { ids } of told) expect(ids).toEqual([...new Set(ids)]);
      }),
      { numRuns: 150 },
    ));
});
