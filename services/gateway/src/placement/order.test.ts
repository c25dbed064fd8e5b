import fc from "fast-check";
import { expect, it } from "vitest";
import { type Candidate, placementOrder } from "./order.ts";

const KEY = { project: "default", sessionId: "s-1" };

function runner(name: string, counts: Partial<Candidate> = {}): Candidate {
  const empty = { maxLive: 16, starting: 0, busy: 0, waiting: 0, idle: 0, closing: 0 };
  return { runner: name, incarnation: `inc_${name}`, address: "127.0.0.1:1", ...empty, ...counts };
}

const order = (...candidates: Candidate[]) => placementOrder(candidates, KEY).map((candidate) => candidate.runner);

it("prefers the runner with the fewest used slots relative to its capacity", () => {
  expect(order(runner("a-0", { busy: 4 }), runner("a-1", { busy: 3 }))).toEqual(["a-1", "a-0"]);
  expect(order(runner("a-0", { busy: 2, maxLive: 4 }), runner("a-1", { busy: 3, maxLive: 16 }))).toEqual([
    "a-1",
    "a-0",
  ]);
});

it("counts idle, starting, waiting and closing processes as used", () => {
  for (const state of ["idle", "starting", "waiting", "closing"] as const) {
    expect(order(runner("a-0", { [state]: 1 }), runner("a-1"))).toEqual(["a-1", "a-0"]);
  }
});

it("breaks ties by the lowest ordinal, and names without one come last", () => {
  expect(order(runner("a-10"), runner("spare"), runner("a-2"))).toEqual(["a-2", "a-10", "spare"]);
});

it("puts a runner full of idle sessions before one that is full of work", () => {
  const idle = runner("a-1", { idle: 16 });
  const full = runner("a-0", { busy: 10, waiting: 6 });
  expect(order(full, idle)).toEqual(["a-1", "a-0"]);
});

it("spreads sessions over equal runners without a number, the same way for every gateway", () => {
  const candidates = ["red", "green", "blue"].map((name) => runner(name));
  const firstOf = (sessionId: string) => placementOrder(candidates, { project: "p", sessionId })[0]?.runner;
  const chosen = new Set(Array.from({ length: 100 }, (_, index) => firstOf(`s-${index}`)));
  expect(chosen.size).toBe(3);
  expect(firstOf("s-1")).toBe(placementOrder([...candidates].reverse(), { project: "p", sessionId: "s-1" })[0]?.runner);
});

it("keeps every candidate and does not depend on the order they are given in", () => {
  const count = fc.nat({ max: 8 });
  const candidate = fc.record({
    runner: fc.constantFrom("a-0", "a-1", "a-2", "b", "c"),
    incarnation: fc.constant("inc"),
    address: fc.constant("127.0.0.1:1"),
    maxLive: fc.integer({ min: 1, max: 16 }),
    starting: count,
    busy: count,
    waiting: count,
    idle: count,
    closing: count,
  });
  const candidates = fc.uniqueArray(candidate, { selector: (each) => each.runner });
  fc.assert(
    fc.property(candidates, (given) => {
      const ordered = placementOrder(given, KEY);
      expect(new Set(ordered)).toEqual(new Set(given));
      expect(placementOrder([...given].reverse(), KEY)).toEqual(ordered);
    }),
  );
});
