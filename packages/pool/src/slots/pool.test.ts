import { describe, expect, test } from "vitest";
import type { Named, PoolInput } from "./input.ts";
import { assertPool, PoolBroken } from "./invariants.ts";
import { CONFIG, keyOf, LIMITS, OPTION_IDS, Rehearsal } from "./rehearsal/rehearsal.ts";
import type { PoolReply } from "./reply.ts";

// Every input that concerns one slot, in every state a slot can be in. A cell is what is answered, and, where something
// changed, the state that follows. `waiting` has gate g open and the answer of gate s sending.
const STATES = ["none", "starting", "due", "running", "stopping", "waiting", "idle", "closing"] as const;
type Column = (typeof STATES)[number];

type OfOneSlot = Exclude<PoolInput["kind"], "memory" | "drain" | "tick">;

const TABLE: Record<OfOneSlot, Record<Column, string>> = {
  checkout: {
    none: "cold > starting",
    starting: "TURN_IN_PROGRESS",
    due: "TURN_IN_PROGRESS",
    running: "TURN_IN_PROGRESS",
    stopping: "TURN_IN_PROGRESS",
    waiting: "GATES_PENDING",
    idle: "warm > busy",
    closing: "wait > closing",
  },
  checkout_returned: {
    none: "stale",
    starting: "done > closing",
    due: "done > idle",
    running: "not_checked_out",
    stopping: "not_checked_out",
    waiting: "not_checked_out",
    idle: "not_checked_out",
    closing: "closing",
  },
  wait_given_up: row("done", {}),
  started: row("not_starting", { none: "stale", starting: "done > busy", closing: "closing" }),
  start_failed: row("not_starting", { none: "stale", starting: "done > closing", closing: "closing" }),
  prompt_started: {
    none: "stale",
    starting: "not_checked_out",
    due: "done > busy",
    running: "prompt_running",
    stopping: "prompt_running",
    waiting: "prompt_running",
    idle: "not_checked_out",
    closing: "closing",
  },
  prompt_settled: {
    none: "stale",
    starting: "no_prompt",
    due: "no_prompt",
    running: "settled > idle",
    stopping: "settled > idle",
    waiting: "settled > idle",
    idle: "no_prompt",
    closing: "closing",
  },
  stop: {
    none: "stale",
    starting: "stopping > closing",
    due: "stopping > idle",
    running: "stopping > busy",
    stopping: "stopping",
    waiting: "stopping > busy",
    idle: "no_prompt",
    closing: "closing",
  },
  gate_opened: {
    none: "stale",
    starting: "gate_cancelled",
    due: "gate_cancelled",
    running: "opened > waiting",
    stopping: "gate_cancelled",
    waiting: "gate_known",
    idle: "gate_cancelled",
    closing: "gate_cancelled",
  },
  answer: row("GATE_UNKNOWN", { none: "gone", waiting: "open", closing: "gone" }),
  gate_consumed: row("no_prompt", {
    none: "stale",
    running: "gate_not_open",
    stopping: "gate_not_open",
    waiting: "done > busy",
    closing: "closing",
  }),
  gate_closed: row("no_prompt", {
    none: "stale",
    running: "gate_not_open",
    stopping: "gate_not_open",
    waiting: "done > busy",
    closing: "closing",
  }),
  answer_reported: row("no_prompt", {
    none: "stale",
    running: "not_sending",
    stopping: "not_sending",
    waiting: "done > waiting",
    closing: "closing",
  }),
  answer_handed_back: row("no_prompt", {
    none: "stale",
    running: "not_sending",
    stopping: "not_sending",
    waiting: "done > waiting",
    closing: "closing",
  }),
  exited: row("done > closing", { none: "stale", closing: "closing" }),
  close: row("done > closing", { none: "stale", closing: "closing" }),
  closed: row("not_closing", { none: "stale", closing: "done > none" }),
  eviction_confirmed: row("done > closing", { none: "stale", closing: "closing" }),
  eviction_refused: row("not_proposed", { none: "stale", closing: "closing" }),
};

function row(rest: string, known: Partial<Record<Column, string>>): Record<Column, string> {
  const all = {
    none: rest,
    starting: rest,
    due: rest,
    running: rest,
    stopping: rest,
    waiting: rest,
    idle: rest,
    closing: rest,
  };
  return { ...all, ...known };
}

const PREPARED: Record<Column, (play: Rehearsal) => unknown> = {
  none: () => undefined,
  starting: (play) => play.starting("a"),
  due: (play) => play.due("a"),
  running: (play) => play.running("a"),
  stopping: (play) => play.running("a").stop("a"),
  waiting: (play) => play.parked("a", ["g", "s"]).consume("a", "s"),
  idle: (play) => play.idle("a"),
  closing: (play) => play.closing("a"),
};

function inputs(named: Named): readonly PoolInput[] {
  const asked = { agent: "scripted", canLoad: true, limits: LIMITS, config: CONFIG, history: null } as const;
  const found = { credentials: "same", workspace: "there", mustBeNew: false } as const;
  return [
    { kind: "checkout", key: named.key, instance: "another", ...asked, ...found },
    { kind: "checkout_returned", ...named },
    { kind: "wait_given_up", key: named.key },
    { kind: "started", offers: { models: [], modes: [] }, ...named },
    { kind: "start_failed", ...named },
    { kind: "prompt_started", ...named },
    { kind: "prompt_settled", history: null, more: false, ...named },
    { kind: "stop", ...named },
    { kind: "gate_opened", gateId: "g", optionIds: OPTION_IDS, ...named },
    { kind: "answer", gateId: "g", optionId: "yes", ...named },
    { kind: "gate_consumed", gateId: "g", ...named },
    { kind: "gate_closed", gateId: "g", ...named },
    { kind: "answer_reported", gateId: "s", ...named },
    { kind: "answer_handed_back", gateId: "s", ...named },
    { kind: "exited", ...named },
    { kind: "close", reason: "closed", ...named },
    { kind: "closed", ...named },
    { kind: "eviction_confirmed", reason: "approval_ttl", ...named },
    { kind: "eviction_refused", ...named },
  ];
}

function told(reply: PoolReply): string {
  if (reply.kind === "ignored") return reply.why;
  return reply.kind === "refused" ? reply.refusal.reason : reply.kind;
}

describe("every pair of slot state and input is decided as listed", () => {
  const kinds = Object.keys(TABLE) as OfOneSlot[];
  const pairs = kinds.flatMap((kind) => STATES.map((state) => [kind, state] as const));

  test.each(pairs)("%s, %s", (kind, state) => {
    const play = new Rehearsal();
    PREPARED[state](play);
    const before = play.pool;
    const named = state === "none" ? { key: keyOf("a"), instance: "gone" } : play.named("a");
    const input = inputs(named).find((one) => one.kind === kind);
    if (input === undefined) throw new Error(`no input ${kind}`);
    const reply = told(play.give(input));
    expect(play.pool === before ? reply : `${reply} > ${play.state("a")}`).toBe(TABLE[kind][state]);
  });
});

describe("an input that names another process changes nothing", () => {
  test.each(STATES.filter((state) => state !== "none"))("in state %s", (state) => {
    const play = new Rehearsal();
    PREPARED[state](play);
    const before = play.pool;
    for (const input of inputs({ key: keyOf("a"), instance: "another" })) {
      if (input.kind === "checkout" || input.kind === "wait_given_up") continue;
      const reply = play.give(input);
      expect(input.kind === "answer" ? reply.kind : told(reply)).toBe(input.kind === "answer" ? "gone" : "stale");
      expect(play.pool).toBe(before);
      expect(play.effects).toEqual([]);
    }
  });
});

describe("a pool that broke an invariant is noticed", () => {
  const play = new Rehearsal(4).parked("a", ["g"]).idle("b").running("c");
  const pool = play.pool;
  const [a, b, c] = ["a", "b", "c"].map((session) => play.slot(session));
  if (a?.state !== "waiting" || b?.state !== "idle" || c?.state !== "busy") throw new Error("not prepared");
  const twin = { ...b, process: { ...b.process, instance: c.process.instance } };
  test.each([
    ["I1", { ...pool, settings: { ...pool.settings, maxLive: 2 } }],
    ["I2", { ...pool, slots: new Map(pool.slots).set(keyOf("b"), twin) }],
    ["I3", { ...pool, slots: new Map(pool.slots).set(keyOf("a"), { ...a, gates: [] }) }],
    ["I3", { ...pool, slots: new Map(pool.slots).set(keyOf("c"), { ...c, sending: a.gates }) }],
    ["I4", { ...pool, slots: new Map(pool.slots).set(keyOf("c"), { ...c, clock: { ...c.clock, runs: false } }) }],
    [
      "I5",
      {
        ...pool,
        slots: new Map(pool.slots).set(keyOf("c"), {
          ...c,
          prompt: { kind: "due" as const, from: null },
          stoppingSince: 1,
        }),
      },
    ],
    ["I6", { ...pool, claims: [{ key: keyOf("b"), since: 1, reason: "lru" as const }] }],
    ["I7", { ...pool, drain: { since: 1, endsAt: 2 } }],
    [
      "I8",
      {
        ...pool,
        slots: new Map(pool.slots).set(keyOf("b"), {
          ...b,
          process: { ...b.process, limits: { ...LIMITS, idleTtlMs: 0 } },
        }),
      },
    ],
  ])("%s", (invariant, broken) => {
    expect(() => assertPool(broken)).toThrow(PoolBroken);
    expect(() => assertPool(broken)).toThrow(invariant);
  });
});
