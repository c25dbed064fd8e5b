import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CATCH_UP_EVENTS, READER_BYTES, READER_EVENTS } from "./feed.ts";
import { FedLog, numbers, Reader, turns } from "./test-feed.ts";

describe("a reader", () => {
  test("gets what the log has after its cursor, then what is published", async () => {
    const log = new FedLog(3);
    const reader = new Reader(log.feed, 1);
    const over = reader.drain();
    await turns();
    log.durable();
    log.live();
    log.durable();
    await turns();
    log.feed.close();
    await over;
    expect(reader.seqs).toEqual([2, 3, 4, 5]);
    expect(reader.liveCount).toBe(1);
  });

  test("that is up to date needs no read of the log, and misses no live event", async () => {
    const log = new FedLog(3);
    const reader = new Reader(log.feed, 3);
    log.live();
    log.durable();
    log.feed.close();
    await reader.drain();
    expect(log.reads).toBe(0);
    expect(reader.liveCount).toBe(1);
    expect(reader.seqs).toEqual([4]);
  });

  test("gets an event that is published while the log is read, before and after it looked", async () => {
    for (const slow of [
      { before: 3, after: 0 },
      { before: 0, after: 3 },
    ]) {
      const log = new FedLog(2);
      log.slow = slow;
      const reader = new Reader(log.feed, 1);
      const over = reader.drain();
      await turns();
      log.durable();
      await turns(20);
      log.feed.close();
      await over;
      expect(reader.seqs).toEqual([2, 3]);
    }
  });

  test("reads a long log in pieces of CATCH_UP_EVENTS", async () => {
    const log = new FedLog(3 * CATCH_UP_EVENTS);
    const reader = new Reader(log.feed);
    log.feed.close();
    await reader.drain();
    expect(reader.seqs).toEqual(numbers(1, 3 * CATCH_UP_EVENTS));
    expect(log.reads).toBe(3);
  });

  test("gets nothing twice that it read from the log before it was published", async () => {
    const log = new FedLog(1);
    const reader = new Reader(log.feed);
    log.write();
    await reader.take();
    await reader.take();
    const next = reader.take();
    await turns();
    log.tell();
    log.durable();
    await next;
    log.feed.close();
    await reader.drain();
    expect(reader.seqs).toEqual([1, 2, 3]);
  });

  test("fails when the log cannot be read, and is forgotten", async () => {
    const log = new FedLog(1);
    log.breaksAfter = 0;
    const reader = new Reader(log.feed);
    await expect(reader.take()).rejects.toThrow("no log");
    expect(log.feed.readerCount).toBe(0);
  });

  test("fails when the log has lost what was published, rather than ask for ever", async () => {
    const log = new FedLog(3);
    log.events.length = 1;
    const reader = new Reader(log.feed);
    await reader.take();
    await expect(reader.take()).rejects.toThrow("event 3 was published");
  });
});

describe("a reader that does not read", () => {
  test("keeps READER_EVENTS events", async () => {
    const log = new FedLog();
    const reader = new Reader(log.feed);
    for (let count = 1; count < READER_EVENTS; count += 1) log.live();
    log.durable();
    log.feed.close();
    await reader.drain();
    expect(reader.liveCount).toBe(READER_EVENTS - 1);
    expect(reader.seqs).toEqual([1]);
    expect(log.reads).toBe(0);
  });

  test("keeps none of more, so that live ones are lost, and gets the durable ones from the log (F2)", async () => {
    const log = new FedLog();
    const reader = new Reader(log.feed);
    log.durable();
    for (let count = 0; count < READER_EVENTS; count += 1) log.live();
    log.durable();
    log.feed.close();
    await reader.drain();
    expect(reader.liveCount).toBe(0);
    expect(reader.seqs).toEqual([1, 2]);
    expect(log.reads).toBe(1);
  });

  test("keeps READER_BYTES bytes; beyond, the log takes over", async () => {
    const piece = READER_BYTES / 4;
    const log = new FedLog();
    const reader = new Reader(log.feed);
    for (let count = 0; count < 4; count += 1) log.live(undefined, piece);
    await reader.take();
    expect(reader.liveCount).toBe(1);
    log.live(undefined, piece);
    log.live(undefined, piece);
    log.durable();
    log.feed.close();
    await reader.drain();
    expect(reader.liveCount).toBe(1);
    expect(reader.seqs).toEqual([1]);
  });

  test("costs the others nothing (F3)", async () => {
    const log = new FedLog();
    const asleep = new Reader(log.feed);
    const awake = new Reader(log.feed);
    const over = awake.drain();
    for (let count = 0; count < 3 * READER_EVENTS; count += 1) {
      log.live();
      if (count % 500 === 0) {
        log.durable();
        await turns();
      }
      if (count % 100 === 0) await turns();
    }
    await turns();
    log.feed.close();
    await over;
    expect(awake.liveCount).toBe(3 * READER_EVENTS);
    await asleep.drain();
    expect(asleep.seqs).toEqual(awake.seqs);
  });

  test("is forgotten at once when its signal aborts, also when it never read at all", async () => {
    const log = new FedLog(3);
    const [never, once] = [new Reader(log.feed), new Reader(log.feed)];
    await once.take();
    expect(log.feed.readerCount).toBe(2);
    never.gone.abort();
    once.gone.abort();
    expect(log.feed.readerCount).toBe(0);
    expect(await never.take()).toBeNull();
    expect(await once.take()).toBeNull();
  });

  test("is forgotten when it leaves, and never known when it had left before it came", async () => {
    const log = new FedLog();
    const reader = new Reader(log.feed);
    log.live();
    await reader.take();
    await reader.leave();
    expect(log.feed.readerCount).toBe(0);
    log.feed.follow(0, AbortSignal.abort());
    expect(log.feed.readerCount).toBe(0);
  });
});

describe("a waiting reader", () => {
  test("ends when its signal aborts", async () => {
    const reader = new Reader(new FedLog().feed);
    const next = reader.take();
    await turns();
    reader.gone.abort();
    expect(await next).toBeNull();
  });

  test("ends when the feed closes, with what is left", async () => {
    const log = new FedLog();
    const reader = new Reader(log.feed);
    const next = reader.take();
    await turns();
    log.feed.close();
    expect(await next).toBeNull();
    const late = await new Reader(new FedLog(2).feed).take();
    expect(Number(late?.seq)).toBe(1);
  });

  test("that comes after the close gets what the log has, and ends", async () => {
    const log = new FedLog(2);
    log.feed.close();
    const reader = await new Reader(log.feed).drain();
    expect(reader.seqs).toEqual([1, 2]);
    expect(log.feed.readerCount).toBe(0);
  });
});

type Move =
  | { readonly kind: "durable"; readonly bytes: number }
  | { readonly kind: "write"; readonly bytes: number }
  | { readonly kind: "tell" }
  | { readonly kind: "live"; readonly bytes: number }
  | { readonly kind: "take"; readonly reader: number; readonly count: number }
  | { readonly kind: "turns"; readonly count: number }
  | { readonly kind: "slow"; readonly before: number; readonly after: number }
  | { readonly kind: "join"; readonly behind: number }
  | { readonly kind: "leave"; readonly reader: number };

const bytes = fc.constantFrom(10, 10, 10, READER_BYTES / 4, READER_BYTES / 2, READER_BYTES + 1);
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 5, arbitrary: bytes.map((size): Move => ({ kind: "durable", bytes: size })) },
  { weight: 2, arbitrary: bytes.map((size): Move => ({ kind: "write", bytes: size })) },
  { weight: 1, arbitrary: fc.constant<Move>({ kind: "tell" }) },
  { weight: 4, arbitrary: bytes.map((size): Move => ({ kind: "live", bytes: size })) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("take" as const),
      reader: fc.nat(3),
      count: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 4 }).map((count): Move => ({ kind: "turns", count })) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("slow" as const), before: fc.nat(3), after: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.nat(9).map((behind): Move => ({ kind: "join", behind })) },
  { weight: 1, arbitrary: fc.nat(3).map((reader): Move => ({ kind: "leave", reader })) },
);

test("whatever the timing, every reader gets every durable event after its cursor once, in order (F1, P9)", () =>
  fc.assert(
    fc.asyncProperty(fc.nat(40), fc.array(move, { maxLength: 60 }), async (last, moves) => {
      const log = new FedLog(last);
      const readers: { after: number; reader: Reader; left: boolean; taking: Promise<unknown> }[] = [];
      const join = (behind: number) => {
        const after = Math.max(0, log.feed.lastSeq - behind);
        readers.push({ after, reader: new Reader(log.feed, after), left: false, taking: Promise.resolve() });
      };
      join(last);
      join(0);
      for (const step of moves) {
        if (step.kind === "durable") log.durable(undefined, step.bytes);
        else if (step.kind === "write") log.write(undefined, step.bytes);
        else if (step.kind === "tell") log.tell();
        else if (step.kind === "live") log.live(undefined, step.bytes);
        else if (step.kind === "turns") await turns(step.count);
        else if (step.kind === "slow") log.slow = step;
        else if (step.kind === "join") join(step.behind);
        else {
          const one = readers[step.reader];
          if (one === undefined || one.left) continue;
          if (step.kind === "leave") {
            one.left = true;
            one.reader.gone.abort();
          } else {
            const { reader, taking } = one;
            one.taking = taking.then(async () => {
              for (let count = 0; count < step.count && !one.left; count += 1) await reader.take();
            });
          }
        }
      }
      log.tell();
      log.feed.close();
      for (const { after, reader, left, taking } of readers) {
        await taking;
        if (!left) await reader.drain();
        const expected = numbers(after + 1, log.events.length);
        expect(reader.seqs).toEqual(left ? expected.slice(0, reader.seqs.length) : expected);
      }
      expect(log.feed.readerCount).toBe(0);
    }),
    { numRuns: 300 },
  ));
