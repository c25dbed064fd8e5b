// Random schedules (rehearsal/schedule.ts) against an independent account of what the shell sees (rehearsal/account.ts).
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextDeadline } from "./deadlines.ts";
import type { PoolInput } from "./input.ts";
import { assertPool } from "./invariants.ts";
import { step } from "./pool.ts";
import { Account } from "./rehearsal/account.ts";
import { inputOf, type Line, SESSIONS } from "./rehearsal/schedule.ts";
import type { PoolReply } from "./reply.ts";
import { createPool, type Pool, type Step } from "./state.ts";

const MAX_LIVE = 3;
const START_LIMIT_MS = 15;
const LINES = fc.array(
  fc.record<Line>({
    session: fc.nat(SESSIONS.length - 1),
    pick: fc.noBias(fc.nat(1_000_000)),
    unusual: fc.nat(9).map((roll) => roll === 9),
    odd: fc.nat(11).map((roll) => roll === 11),
    waits: fc.oneof({ weight: 9, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.nat(30) }),
  }),
  { maxLength: 120, size: "max" },
);

type Look = (before: Pool, input: PoolInput, after: Step<PoolReply>, now: number) => void;

/** Plays a schedule on an empty pool, and looks at every step. */
function play(lines: readonly Line[], drains: boolean, look: Look = () => undefined) {
  const account = new Account(MAX_LIVE);
  let pool = createPool(MAX_LIVE, START_LIMIT_MS);
  let now = 0;
  for (const [made, line] of lines.entries()) {
    now += line.waits;
    const before = pool;
    const input = inputOf(line, before, made, drains);
    const after = step(before, input, now);
    assertPool(after.state);
    account.note(input, after.reply, after.effects);
    look(before, input, after, now);
    pool = after.state;
  }
  return { pool, now };
}

const RUNS = { numRuns: 500 };

describe("whatever happens, in whatever order", () => {
  test("no two prompts run at once, no gate is consumed twice, the capacity is never exceeded, nothing ended comes back", () => {
    const schedule = fc.property(LINES, fc.boolean(), (lines, drains) => {
      play(lines, drains);
    });
    fc.assert(schedule, RUNS);
  });

  test("what is refused or ignored, and an answer that matches nothing, leaves the very state it met", () => {
    const schedule = fc.property(LINES, fc.boolean(), (lines, drains) => {
      play(lines, drains, (before, input, { state, reply }) => {
        if (reply.kind === "ignored" || reply.kind === "refused" || input.kind === "answer") expect(state).toBe(before);
      });
    });
    fc.assert(schedule, RUNS);
  });

  test("busy and waiting sessions are never evicted for room", () => {
    const schedule = fc.property(LINES, (lines) => {
      play(lines, false, (before, input, { state }) => {
        if (input.kind !== "checkout") return;
        for (const [key, slot] of before.slots) {
          if (slot.state === "busy" || slot.state === "waiting") expect(state.slots.get(key)).toBe(slot);
        }
      });
    });
    fc.assert(schedule, RUNS);
  });

  test("one session's input leaves every other session's work alone", () => {
    const schedule = fc.property(LINES, (lines) => {
      play(lines, false, (before, input, { state }) => {
        if (!("key" in input)) return;
        for (const [key, slot] of before.slots) {
          if (key !== input.key && slot.state !== "idle") expect(state.slots.get(key)).toBe(slot);
        }
      });
    });
    fc.assert(schedule, RUNS);
  });

  test("after a tick the next deadline is in the future", () => {
    const schedule = fc.property(LINES, fc.boolean(), (lines, drains) => {
      play(lines, drains, (_before, input, { state }, now) => {
        const next = nextDeadline(state);
        if (input.kind === "tick" && next !== null) expect(next).toBeGreaterThan(now);
      });
    });
    fc.assert(schedule, RUNS);
  });

  test("a waiting process whose gates stay as they are is proposed for eviction once in a re-check time", () => {
    const schedule = fc.property(LINES, fc.boolean(), (lines, drains) => {
      play(lines, drains, (before, _input, { state, effects }, now) => {
        const proposed = effects.filter((effect) => effect.kind === "propose_eviction").map(({ key }) => key);
        expect(new Set(proposed).size).toBe(proposed.length);
        for (const key of proposed) {
          const slot = before.slots.get(key);
          const next = state.slots.get(key);
          if (slot?.state !== "waiting" || next?.state !== "waiting" || slot.proposal === null) continue;
          const same = next.gates === slot.gates && next.sending === slot.sending;
          if (same) expect(slot.proposal.againAt).toBeLessThanOrEqual(now);
        }
      });
    });
    fc.assert(schedule, RUNS);
  });

  test("the idle session that makes room is the one idle longest", () => {
    const schedule = fc.property(LINES, (lines) => {
      play(lines, false, (before, _input, { state }) => {
        for (const [key, slot] of before.slots) {
          const next = state.slots.get(key);
          if (slot.state !== "idle" || next?.state !== "closing" || next.reason !== "lru") continue;
          for (const other of before.slots.values()) {
            if (other.state === "idle") expect(other.since).toBeGreaterThanOrEqual(slot.since);
          }
        }
      });
    });
    fc.assert(schedule, RUNS);
  });

  test("with a shell that does its part and time that passes, every process goes and every wait ends", () => {
    const schedule = fc.property(LINES, fc.boolean(), (lines, drains) => {
      const { pool, now } = play(lines, drains);
      const left = settle(pool, now);
      expect([...left.slots.values()]).toEqual([]);
      expect(left.claims).toEqual([]);
    });
    fc.assert(schedule, RUNS);
  });
});

const TURNS_TO_SETTLE = 100;

/** Nothing happens any more but time; teardowns end, and the record agrees to what is proposed. */
function settle(from: Pool, since: number): Pool {
  let pool = from;
  let now = since;
  const give = (input: PoolInput): void => {
    const { state, effects } = step(pool, input, now);
    assertPool(state);
    pool = state;
    for (const effect of effects) {
      if (effect.kind === "propose_eviction") give({ ...effect, kind: "eviction_confirmed" });
    }
  };
  for (let turns = 0; turns < TURNS_TO_SETTLE; turns += 1) {
    for (const [key, slot] of pool.slots) {
      if (slot.state === "closing") give({ kind: "closed", key, instance: slot.instance });
    }
    now = Math.max(now, nextDeadline(pool) ?? now);
    give({ kind: "tick" });
  }
  return pool;
}
