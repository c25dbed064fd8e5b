// Random schedules: a line is a few dice, and what it means is read off the pool it meets, so that most lines are sensible
// (what usually comes next, naming the slot's own process and gates) and some are not.
import type { PoolInput } from "../input.ts";
import { instanceOf, type Slot, type SlotKey, slotKey } from "../slot.ts";
import type { Pool } from "../state.ts";
import { OPTION_IDS } from "./rehearsal.ts";

export type Line = {
  readonly session: number;
  /** 0 to 1,000,000: which of the usual inputs, and its details. */
  readonly pick: number;
  /** Any input, whatever the slot's state. */
  readonly unusual: boolean;
  /** Names a process or a gate that is not the slot's. */
  readonly odd: boolean;
  readonly waits: number;
};

export const SESSIONS: readonly SlotKey[] = ["a", "b", "c", "d", "e"].map((sessionId) =>
  slotKey({ project: "p", sessionId }),
);

type Kind = PoolInput["kind"];
type Weights = { readonly [K in Kind]?: number };

/** What usually happens next to a slot in this state, and how often. */
const USUAL: Record<Slot["state"] | "none", Weights> = {
  none: { checkout: 5, wait_given_up: 1, tick: 1, memory: 1, drain: 1 },
  starting: { started: 7, start_failed: 1, stop: 1, checkout: 1, tick: 1 },
  busy: {
    prompt_started: 5,
    gate_opened: 4,
    prompt_settled: 2,
    checkout_returned: 1,
    stop: 1,
    answer_reported: 1,
    answer_handed_back: 1,
    checkout: 1,
    exited: 1,
    tick: 1,
  },
  waiting: {
    gate_opened: 3,
    answer: 1,
    gate_consumed: 4,
    gate_closed: 1,
    answer_reported: 2,
    answer_handed_back: 1,
    checkout: 1,
    stop: 1,
    prompt_settled: 1,
    tick: 2,
    memory: 1,
    eviction_confirmed: 1,
    eviction_refused: 2,
    exited: 1,
  },
  idle: { checkout: 5, close: 1, tick: 2, memory: 1, gate_opened: 1 },
  closing: { closed: 4, checkout: 2, answer: 1, prompt_settled: 1 },
};
const KINDS: ReadonlyMap<string, readonly Kind[]> = new Map(
  Object.entries(USUAL).map(([state, weights]) => [state, Object.entries(weights).flatMap(repeated)]),
);
const ALL: readonly Kind[] = [...new Set([...KINDS.values()].flat())];

function repeated([kind, times]: [string, number]): readonly Kind[] {
  return Array.from({ length: times }, () => kind as Kind);
}

/** `made`: a number no earlier line had. `drains`: whether this schedule may begin a drain, which ends all else. */
export function inputOf(line: Line, pool: Pool, made: number, drains: boolean): PoolInput {
  const key = SESSIONS[line.session % SESSIONS.length] as SlotKey;
  const slot = pool.slots.get(key);
  const instance = line.odd || slot === undefined ? `odd-${line.pick % 3}` : instanceOf(slot);
  const gateId = gateOf(line, slot, made);
  const named = { key, instance };
  const kinds = line.unusual ? ALL : (KINDS.get(slot?.state ?? "none") ?? ALL);
  const kind = kinds[line.pick % kinds.length] as Kind;
  const roll = Math.floor(line.pick / 50);
  switch (kind) {
    case "checkout":
      return checkoutOf(key, made, roll, line.odd);
    case "wait_given_up":
      return { kind, key };
    case "started":
      return { kind, offers: { models: ["large"], modes: [] }, ...named };
    case "prompt_settled":
      return { kind, history: "predicted", more: roll % 4 === 0, ...named };
    case "gate_opened":
      return { kind, gateId: line.odd ? gateId : `gate-${made}`, optionIds: OPTION_IDS, ...named };
    case "answer":
      return { kind, gateId, optionId: roll % 3 === 0 ? "maybe" : "yes", ...named };
    case "gate_consumed":
    case "gate_closed":
    case "answer_reported":
    case "answer_handed_back":
      return { kind, gateId, ...named };
    case "close":
      return { kind, reason: "prompt_failed", ...named };
    case "eviction_confirmed":
      return { kind, reason: "approval_ttl", ...named };
    case "memory":
      return { kind, usage: usageOf(roll), budgetBytes: 80, highBytes: 100 };
    case "drain":
      return drains && roll % 8 === 0 ? { kind, graceMs: roll % 30 } : { kind: "tick" };
    case "tick":
      return { kind };
    default:
      return { kind, ...named };
  }
}

function checkoutOf(key: SlotKey, made: number, roll: number, odd: boolean): PoolInput {
  return {
    kind: "checkout",
    key,
    instance: `made-${made}`,
    agent: "scripted",
    canLoad: roll % 2 === 0,
    limits: { turnLimitMs: 60, idleTtlMs: roll % 9 === 0 ? 0 : 30, approvalTtlMs: (roll % 4) * 20 },
    config: { base: odd ? "other" : "base", model: roll % 7 === 0 ? "large" : "small", mode: "ask" },
    history: roll % 10 === 0 ? "edited" : null,
    credentials: roll % 11 === 0 ? "changed" : "same",
    workspace: roll % 13 === 0 ? "lost" : "there",
    mustBeNew: roll % 17 === 0,
  };
}

function usageOf(roll: number): ReadonlyMap<SlotKey, number> {
  return new Map(SESSIONS.map((session, index) => [session, (roll * (index + 3)) % 50]));
}

function gateOf(line: Line, slot: Slot | undefined, made: number): string {
  const somebodys = `gate-${made === 0 ? 0 : line.pick % made}`;
  if (line.odd || slot === undefined || (slot.state !== "busy" && slot.state !== "waiting")) return somebodys;
  const held = [...(slot.state === "waiting" ? slot.gates : []), ...slot.sending];
  return held[line.pick % Math.max(1, held.length)]?.gateId ?? somebodys;
}
