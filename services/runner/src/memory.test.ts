import { totalmem } from "node:os";
import { type PoolInput, slotKey } from "@holdfast/pool";
import { ManualClock } from "@holdfast/runtime";
import { describe, expect, test } from "vitest";
import type { Agent } from "./acp/agent.ts";
import { MEASURE_MS, MemoryWatch, memoryBudget, memoryLimitBytes } from "./memory.ts";
import { PoolLoop } from "./pool-loop.ts";
import { Live } from "./session/live.ts";

const KEY = slotKey({ project: "acme", sessionId: "s1" });

function agentOf(bytes: () => number): Agent {
  return { instance: "p1", memoryBytes: bytes } as Agent;
}

function watched(hosts: { live: Live | null }[]) {
  const clock = new ManualClock();
  const told: PoolInput[] = [];
  const pool = new PoolLoop(clock, 4, 1_000, () => undefined);
  const step: PoolLoop["step"] = (input) => {
    told.push(input);
    return pool.step(input);
  };
  const all = () => hosts.map(({ live }) => ({ slot: KEY, live }));
  const watch = new MemoryWatch({ clock, memoryBudgetBytes: 1_000, pool: { step } }, { all });
  return { clock, told, watch };
}

describe("the memory of the agents", () => {
  test("is measured every MEASURE_MS and told to the pool with its marks", async () => {
    let bytes = 10;
    const { clock, told } = watched([{ live: new Live(agentOf(() => bytes)) }, { live: null }]);
    await clock.advance(MEASURE_MS - 1);
    expect(told).toEqual([]);
    await clock.advance(1);
    bytes = 20;
    await clock.advance(MEASURE_MS);
    const highBytes = Math.floor(memoryLimitBytes() * 0.9);
    expect(told).toEqual(
      [10, 20].map((used) => ({ kind: "memory", usage: new Map([[KEY, used]]), budgetBytes: 1_000, highBytes })),
    );
  });

  test("is not told while there is none", async () => {
    const { clock, told } = watched([{ live: null }]);
    await clock.advance(3 * MEASURE_MS);
    expect(told).toEqual([]);
    expect(clock.timers).toBe(1);
  });

  test("is measured no more once the watch has stopped", async () => {
    const { clock, told, watch } = watched([{ live: new Live(agentOf(() => 1)) }]);
    watch.stop();
    await clock.advance(3 * MEASURE_MS);
    expect(told).toEqual([]);
    expect(clock.timers).toBe(0);
  });
});

describe("the limit", () => {
  test("is what this process may use: at most the machine's memory", () => {
    expect(memoryLimitBytes()).toBeGreaterThan(0);
    expect(memoryLimitBytes()).toBeLessThanOrEqual(totalmem());
  });

  test("gives the budget, unless that is set in bytes", () => {
    expect(memoryBudget({ kind: "bytes", bytes: 123 })).toBe(123);
    expect(memoryBudget({ kind: "percent", percent: 75 })).toBe(Math.floor(memoryLimitBytes() * 0.75));
  });
});
