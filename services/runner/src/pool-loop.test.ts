import { type PoolEffect, slotKey } from "@holdfast/pool";
import { ManualClock } from "@holdfast/runtime";
import { describe, expect, test } from "vitest";
import { PoolLoop } from "./pool-loop.ts";

const KEY = slotKey({ project: "acme", sessionId: "s1" });
const LIMITS = { turnLimitMs: 60_000, idleTtlMs: 5_000, approvalTtlMs: 30_000 };
const START_LIMIT_MS = 10_000;

function loop(begin: (effect: PoolEffect, pool: PoolLoop) => void = () => undefined) {
  const clock = new ManualClock();
  const begun: string[] = [];
  const pool: PoolLoop = new PoolLoop(clock, 2, START_LIMIT_MS, (effect) => {
    begun.push("reason" in effect ? `${effect.kind} ${effect.reason}` : effect.kind);
    begin(effect, pool);
  });
  return { clock, pool, begun };
}

function checkout(pool: PoolLoop, instance: string) {
  return pool.step({
    kind: "checkout",
    key: KEY,
    instance,
    agent: "scripted",
    canLoad: true,
    limits: LIMITS,
    config: { base: "", model: "", mode: "" },
    history: null,
    credentials: "same",
    workspace: "there",
    mustBeNew: false,
  });
}

function idle(pool: PoolLoop) {
  checkout(pool, "p1");
  const named = { key: KEY, instance: "p1" };
  pool.step({ kind: "started", offers: { models: [], modes: [] }, ...named });
  pool.step({ kind: "prompt_started", ...named });
  pool.step({ kind: "prompt_settled", history: null, more: false, ...named });
}

describe("a step", () => {
  test("replies, and begins its effects before it returns, with the new state in place", () => {
    const states: (string | undefined)[] = [];
    const { pool, begun } = loop((_, { state }) => states.push(state.slots.get(KEY)?.state));
    expect(checkout(pool, "p1")).toEqual({ kind: "cold", instance: "p1", reason: "first_turn" });
    expect(begun).toEqual(["start"]);
    expect(states).toEqual(["starting"]);
  });

  test("that is ignored changes nothing and begins nothing", () => {
    const { pool, begun } = loop();
    const before = pool.state;
    expect(pool.step({ kind: "exited", key: KEY, instance: "nobody" }).kind).toBe("ignored");
    expect(pool.state).toBe(before);
    expect(begun).toEqual([]);
  });

  test("whose effect cannot be begun throws, and the timer stands all the same", async () => {
    const { pool, clock } = loop(({ kind }) => {
      if (kind === "start") throw new Error("a bug");
    });
    expect(() => checkout(pool, "p1")).toThrow("a bug");
    expect(clock.timers).toBe(1);
    await clock.advance(START_LIMIT_MS);
    expect(pool.state.slots.get(KEY)?.state).toBe("closing");
  });
});

describe("the timer", () => {
  test("is one, stands at the next deadline, and ticks then", async () => {
    const { pool, clock, begun } = loop();
    expect(clock.timers).toBe(0);
    checkout(pool, "p1");
    expect(clock.timers).toBe(1);
    await clock.advance(START_LIMIT_MS - 1);
    expect(begun).toEqual(["start"]);
    await clock.advance(1);
    expect(begun).toEqual(["start", "end start_failed"]);
    expect(clock.timers).toBe(0);
  });

  test("follows every step: an idle process goes after its TTL, counted from when it became idle", async () => {
    const { pool, clock, begun } = loop();
    await clock.advance(3_000);
    idle(pool);
    expect(clock.timers).toBe(1);
    await clock.advance(LIMITS.idleTtlMs - 1);
    expect(begun).toEqual(["start"]);
    await clock.advance(1);
    expect(begun).toEqual(["start", "end idle_ttl"]);
  });

  test("stands nowhere once the loop is closed, whatever still comes in", async () => {
    const { pool, clock, begun } = loop();
    idle(pool);
    pool.close();
    expect(clock.timers).toBe(0);
    checkout(pool, "p2");
    expect(clock.timers).toBe(0);
    await clock.advance(60_000);
    expect(begun).toEqual(["start"]);
  });
});
