// A pool played by hand, for tests: one clock, one step after the other, the invariants asserted after each. It plays no
// shell: every outcome of an effect is given by the test.
import { nextDeadline } from "../deadlines.ts";
import type { Checkout, Named, PoolInput } from "../input.ts";
import { assertPool } from "../invariants.ts";
import { step } from "../pool.ts";
import type { PoolEffect, Replies } from "../reply.ts";
import { type Slot, type SlotKey, type SlotState, slotKey } from "../slot.ts";
import { createPool, type Pool } from "../state.ts";

export const LIMITS = { turnLimitMs: 1_000_000, idleTtlMs: 60_000, approvalTtlMs: 300_000 } as const;
export const CONFIG = { base: "base", model: "small", mode: "ask" } as const;
export const OPTION_IDS = ["yes", "no"] as const;

export function keyOf(session: string): SlotKey {
  return slotKey({ project: "default", sessionId: session });
}

export class Rehearsal {
  pool: Pool;
  now = 1_000;
  /** Of the last step. */
  effects: readonly PoolEffect[] = [];
  #made = 0;

  constructor(maxLive = 4) {
    this.pool = createPool(maxLive);
  }

  give<Input extends PoolInput>(input: Input): Replies[Input["kind"]] {
    const { state, effects, reply } = step(this.pool, input, this.now);
    assertPool(state);
    this.pool = state;
    this.effects = effects;
    return reply;
  }

  /** Time passes, and the shell's timer fires if it was due. */
  wait(ms: number): void {
    this.now += ms;
    const at = nextDeadline(this.pool);
    if (at === null || at > this.now) this.effects = [];
    else this.give({ kind: "tick" });
  }

  checkout(session: string, asked: Partial<Checkout> = {}): Replies["checkout"] {
    this.#made += 1;
    return this.give({
      kind: "checkout",
      key: keyOf(session),
      instance: `process-${this.#made}`,
      agent: "scripted",
      canLoad: true,
      limits: LIMITS,
      config: CONFIG,
      history: null,
      credentials: "same",
      workspace: "there",
      mustBeNew: false,
      ...asked,
    });
  }

  slot(session: string): Slot | undefined {
    return this.pool.slots.get(keyOf(session));
  }

  state(session: string): SlotState | "none" {
    return this.slot(session)?.state ?? "none";
  }

  /** The session's slot by key and instance, as inputs name it. */
  named(session: string): Named {
    const slot = this.slot(session);
    if (slot === undefined) throw new Error(`${session} has no slot`);
    return { key: keyOf(session), instance: slot.state === "closing" ? slot.instance : slot.process.instance };
  }

  starting(session: string, asked: Partial<Checkout> = {}): this {
    this.checkout(session, asked);
    return this;
  }

  due(session: string, asked: Partial<Checkout> = {}): this {
    this.starting(session, asked);
    this.give({ kind: "started", offers: { models: ["small", "large"], modes: ["ask"] }, ...this.named(session) });
    return this;
  }

  running(session: string, asked: Partial<Checkout> = {}): this {
    this.due(session, asked);
    this.give({ kind: "prompt_started", ...this.named(session) });
    return this;
  }

  idle(session: string, asked: Partial<Checkout> = {}): this {
    this.running(session, asked);
    this.settle(session);
    return this;
  }

  parked(session: string, gateIds: readonly string[] = [`gate-of-${session}`], asked: Partial<Checkout> = {}): this {
    this.running(session, asked);
    for (const gateId of gateIds) this.open(session, gateId);
    return this;
  }

  closing(session: string): this {
    this.idle(session);
    this.give({ kind: "close", reason: "closed", ...this.named(session) });
    return this;
  }

  open(session: string, gateId: string): Replies["gate_opened"] {
    return this.give({ kind: "gate_opened", gateId, optionIds: OPTION_IDS, ...this.named(session) });
  }

  consume(session: string, gateId: string): Replies["gate_consumed"] {
    return this.give({ kind: "gate_consumed", gateId, ...this.named(session) });
  }

  report(session: string, gateId: string): Replies["answer_reported"] {
    return this.give({ kind: "answer_reported", gateId, ...this.named(session) });
  }

  settle(session: string, history: string | null = "history"): Replies["prompt_settled"] {
    return this.give({ kind: "prompt_settled", history, more: false, ...this.named(session) });
  }

  stop(session: string): Replies["stop"] {
    return this.give({ kind: "stop", ...this.named(session) });
  }

  /** The teardown is over. */
  closed(session: string): Replies["closed"] {
    return this.give({ kind: "closed", ...this.named(session) });
  }
}

/** The effects in short: `end:lru` and the like. */
export function inShort(effects: readonly PoolEffect[]): readonly string[] {
  return effects.map((effect) => ("reason" in effect ? `${effect.kind}:${effect.reason}` : effect.kind));
}
