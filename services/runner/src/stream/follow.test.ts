import { PARK_LATEST_MS, PARK_QUIET_MS } from "@holdfast/pool";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CATCH_UP_EVENTS } from "./feed.ts";
import { turns } from "./test-feed.ts";
import { TurnInHand } from "./test-turn.ts";

const parkedOn = (...gateIds: string[]) => ({ case: "parked", value: expect.objectContaining({ gateIds }) });

describe("a stream", () => {
  test("shows the turn's events from `started` and ends with `ended`", async () => {
    const turn = new TurnInHand();
    const stream = turn.follow();
    await turns();
    turn.log.live();
    turn.end();
    await stream.over;
    expect(stream.cases).toEqual(["started", "message", "ended"]);
    expect(turn.feed.readerCount).toBe(0);
    expect(turn.clock.timers).toBe(0);
  });

  test("shows nothing of other turns", async () => {
    const turn = new TurnInHand();
    const stream = turn.follow({ untilParked: false });
    await turns();
    turn.log.durable(undefined, 10, "t0");
    turn.log.live(undefined, 10, "t2");
    turn.end();
    await stream.over;
    expect(stream.cases).toEqual(["started", "ended"]);
  });

  test("of a turn that is over shows it from the log and ends", async () => {
    const turn = new TurnInHand();
    turn.end();
    turn.log.durable(undefined, 10, "t2");
    const stream = turn.follow();
    await stream.over;
    expect(stream.cases).toEqual(["started", "ended"]);
  });

  test("is cut, without a last word, when the session leaves this runner", async () => {
    const turn = new TurnInHand();
    const stream = turn.follow();
    await turns();
    turn.feed.close();
    await stream.over;
    expect(stream.cases).toEqual(["started"]);
  });

  test("ends when its client goes", async () => {
    const turn = new TurnInHand();
    const stream = turn.follow();
    turn.openGate("g1");
    await turns();
    stream.gone.abort();
    await stream.over;
    expect(stream.cases).not.toContain("parked");
    expect(turn.feed.readerCount).toBe(0);
    expect(turn.clock.timers).toBe(0);
  });

  test("that fails to read the log fails, and a read it no longer waits for harms nobody", async () => {
    const turn = new TurnInHand();
    turn.log.breaksAfter = 0;
    await expect(turn.follow().over).rejects.toThrow("no log");
    const other = new TurnInHand();
    while (other.feed.lastSeq < CATCH_UP_EVENTS - 1) other.log.durable();
    other.end();
    other.log.durable(undefined, 10, "t2");
    other.log.breaksAfter = 1;
    const stream = other.follow();
    await stream.over;
    await turns(3);
    expect(stream.last?.case).toBe("ended");
    expect(other.log.reads).toBe(2);
  });
});

describe("a stream that follows until the turn is parked", () => {
  test("ends with `parked` PARK_QUIET_MS after the last event, and names the pending gates", async () => {
    const turn = new TurnInHand();
    const stream = turn.follow();
    turn.openGate("g1");
    await turns();
    await turn.clock.advance(PARK_QUIET_MS - 1);
    turn.log.live();
    await turns();
    await turn.clock.advance(PARK_QUIET_MS - 1);
    expect(stream.isOver).toBe(false);
    await turn.clock.advance(1);
    await stream.over;
    expect(stream.last).toEqual(parkedOn("g1"));
    expect(stream.got.at(-1)?.seq).toBe(0n);
    expect(turn.feed.readerCount).toBe(0);
  });

  test("ends PARK_LATEST_MS after the gate, however much a sibling call goes on saying (A19)", async () => {
    const turn = new TurnInHand();
    const stream = turn.follow();
    turn.openGate("g1");
    await turns();
    for (let passed = 0; passed < PARK_LATEST_MS; passed += 100) {
      expect(stream.isOver).toBe(false);
      turn.log.live();
      turn.log.durable();
      await turn.clock.advance(100);
    }
    await stream.over;
    expect(stream.last).toEqual(parkedOn("g1"));
  });

  test("ends PARK_LATEST_MS after it parks again on another gate, though the answered call works on", async () => {
    const turn = new TurnInHand();
    const stream = turn.follow();
    turn.openGate("g1");
    turn.openGate("g2");
    turn.answer("g1");
    await turns();
    await turn.clock.advance(10_000);
    expect(stream.isOver).toBe(false);
    turn.admit();
    await turns();
    for (let passed = 0; passed < PARK_LATEST_MS; passed += 100) {
      turn.log.live();
      await turn.clock.advance(100);
    }
    await stream.over;
    expect(stream.last).toEqual(parkedOn("g2"));
  });

  test("shows every gate before it names it, however slow the log is", async () => {
    const turn = new TurnInHand();
    turn.openGate("g1");
    turn.log.slow = { before: 20, after: 0 };
    const stream = turn.follow();
    for (let count = 0; count < 10; count += 1) await turn.clock.advance(PARK_QUIET_MS);
    expect(stream.cases).not.toContain("parked");
    await turns(40);
    await turn.clock.advance(PARK_QUIET_MS);
    await stream.over;
    expect(stream.cases.slice(-2)).toEqual(["gateOpened", "parked"]);
  });

  test("does not name a gate that is in the record and not told of yet (D3)", async () => {
    const turn = new TurnInHand();
    const stream = turn.follow();
    turn.openGate("g1", false);
    await turns();
    await turn.clock.advance(5 * PARK_LATEST_MS);
    expect(stream.isOver).toBe(false);
    turn.tellOpened("g1");
    await turns();
    await turn.clock.advance(PARK_QUIET_MS);
    await stream.over;
    expect(stream.cases.slice(-2)).toEqual(["gateOpened", "parked"]);
  });

  test("sees a park that no event tells of", async () => {
    const turn = new TurnInHand();
    const stream = turn.follow();
    turn.openGate("g1");
    turn.openGate("g2");
    turn.answer("g1");
    await turns();
    turn.moot();
    await turn.clock.advance(2 * PARK_LATEST_MS);
    await stream.over;
    expect(stream.last).toEqual(parkedOn("g2"));
  });

  test("goes on while an answer is on its way, and ends with `ended` if nothing parks again", async () => {
    const turn = new TurnInHand();
    const stream = turn.follow();
    turn.openGate("g1");
    turn.answer("g1");
    await turns();
    await turn.clock.advance(PARK_LATEST_MS);
    turn.admit();
    await turn.clock.advance(PARK_LATEST_MS);
    turn.end();
    await stream.over;
    expect(stream.cases.at(-1)).toBe("ended");
    expect(stream.cases).not.toContain("parked");
  });

  test("ends with `parked` when the session leaves this runner with its gates open", async () => {
    const turn = new TurnInHand();
    const stream = turn.follow();
    turn.openGate("g1");
    await turns();
    turn.feed.close();
    await stream.over;
    expect(stream.last).toEqual(parkedOn("g1"));
  });

  test("of a turn that is parked already begins with what led there", async () => {
    const turn = new TurnInHand();
    turn.openGate("g1");
    await turn.clock.advance(60_000);
    const stream = turn.follow();
    await turns();
    await turn.clock.advance(PARK_QUIET_MS);
    await stream.over;
    expect(stream.cases).toEqual(["started", "message", "gateOpened", "parked"]);
  });

  test("that begins after its gate was told still ends", async () => {
    const turn = new TurnInHand();
    turn.openGate("g1");
    const stream = turn.follow({ afterSeq: turn.feed.lastSeq });
    await turn.clock.advance(PARK_QUIET_MS);
    await stream.over;
    expect(stream.cases).toEqual(["parked"]);
  });
});

test("a stream that follows until the end does not end with a park", async () => {
  const turn = new TurnInHand();
  const stream = turn.follow({ untilParked: false });
  turn.openGate("g1");
  await turns();
  await turn.clock.advance(10 * PARK_LATEST_MS);
  expect(stream.isOver).toBe(false);
  turn.closeGate("g1");
  turn.end();
  await stream.over;
  expect(stream.last?.case).toBe("ended");
});

type Act =
  | { readonly kind: "open" | "answer" | "admit" | "moot" | "close" | "say" | "work" | "foreign" }
  | { readonly kind: "time"; readonly ms: number }
  | { readonly kind: "slow"; readonly turns: number };

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.constantFrom("open", "answer", "admit", "moot", "close", "say", "work", "foreign").map((kind): Act => ({ kind })),
  fc.constantFrom(1, 50, PARK_QUIET_MS, PARK_LATEST_MS).map((ms): Act => ({ kind: "time", ms })),
  fc.nat(3).map((count): Act => ({ kind: "slow", turns: count })),
);

test("whatever happens, a stream ends once, with `parked` on gates it has shown or with `ended`, and never hangs", () =>
  fc.assert(
    fc.asyncProperty(fc.boolean(), fc.boolean(), fc.array(act, { maxLength: 30 }), async (untilParked, ends, acts) => {
      const turn = new TurnInHand();
      const stream = turn.follow({ untilParked });
      const open: string[] = [];
      let made = 0;
      let onItsWay = false;
      for (const step of acts) {
        const gate = open[0];
        if (step.kind === "open" && !onItsWay) {
          made += 1;
          open.push(`g${made}`);
          turn.openGate(`g${made}`);
        } else if (step.kind === "answer" && gate !== undefined) {
          open.shift();
          onItsWay = true;
          turn.answer(gate);
        } else if ((step.kind === "admit" || step.kind === "moot") && onItsWay) {
          onItsWay = false;
          turn[step.kind]();
        } else if (step.kind === "close" && gate !== undefined && !onItsWay) {
          open.shift();
          turn.closeGate(gate);
        } else if (step.kind === "say") turn.log.live();
        else if (step.kind === "work") turn.log.durable();
        else if (step.kind === "foreign") turn.log.durable(undefined, 10, "t9");
        else if (step.kind === "time") await turn.clock.advance(step.ms);
        else if (step.kind === "slow") turn.log.slow = { before: step.turns, after: 0 };
        await turns();
      }
      if (ends) turn.end();
      else if (onItsWay) turn.admit();
      turn.log.slow = { before: 0, after: 0 };
      await turns(20);
      await turn.clock.advance(3 * PARK_LATEST_MS);
      await turn.clock.advance(3 * PARK_LATEST_MS);
      const mustBeOver = ends || (untilParked && open.length > 0);
      if (mustBeOver) expect(stream.isOver).toBe(true);
      turn.feed.close();
      await stream.over;
      const last = stream.last;
      const marks = stream.cases.filter((name) => name === "parked" || name === "ended");
      expect(marks.length).toBeLessThanOrEqual(1);
      if (mustBeOver) expect(marks).toEqual([last?.case]);
      if (!untilParked) expect(stream.cases).not.toContain("parked");
      const shown = stream.got.flatMap(({ event }) =>
        event.case === "gateOpened" ? [event.value.gate?.gateId ?? ""] : [],
      );
      if (last?.case === "parked") expect(shown).toEqual(expect.arrayContaining(last.value.gateIds));
      const seqs = stream.got.map(({ seq }) => seq).filter((seq) => seq > 0n);
      expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => Number(a - b)));
      expect(turn.feed.readerCount).toBe(0);
      expect(turn.clock.timers).toBe(0);
    }),
    { numRuns: 200 },
  ));
