// What a step tells the one who asked, and what it tells the shell to do. Refusals are values; a refused or ignored input
// has left the pool exactly as it was, the same object.
import type { ColdReason, EvictionReason, GateRefusedReason } from "../reasons.ts";
import type { Refusal } from "../refusal.ts";
import type { PoolInput } from "./input.ts";
import type { SlotKey } from "./slot.ts";

/** For the shell, in this order. Long ones (start, end) come back as later inputs. */
export type PoolEffect =
  /** Make the process. Comes back as `started` or `start_failed`. */
  | { readonly kind: "start"; readonly key: SlotKey; readonly instance: string }
  /** End the process tree and release all a start acquired, in reverse (A1, A16). Comes back as `closed`. */
  | { readonly kind: "end"; readonly key: SlotKey; readonly instance: string; readonly reason: EvictionReason }
  /** Answer these requests of the agent `cancelled`, at once (A10). */
  | {
      readonly kind: "cancel_gates";
      readonly key: SlotKey;
      readonly instance: string;
      readonly gateIds: readonly string[];
    }
  /** Send session/cancel. The prompt settles, or the pool ends it when its bound is over. */
  | { readonly kind: "cancel_prompt"; readonly key: SlotKey; readonly instance: string }
  /**
   * Through the session's lane: if `evictionDue` still says so, swap the record (gates cold, process gone) and come back
   * with `eviction_confirmed` or `eviction_refused` in the same lane turn (A20).
   */
  | {
      readonly kind: "propose_eviction";
      readonly key: SlotKey;
      readonly instance: string;
      readonly reason: EvictionReason;
    }
  /** A checkout that was told to wait should ask again: there is room for it, or its place in the queue is gone. */
  | { readonly kind: "ask_again"; readonly key: SlotKey };

/** Why an input changed nothing. A race, or a mistake of the shell; never told to a client. */
export const IGNORED_REASONS = [
  "stale",
  "closing",
  "not_closing",
  "not_starting",
  "not_checked_out",
  "no_prompt",
  "prompt_running",
  "stopping",
  "gate_known",
  "gate_not_open",
  "not_sending",
  "not_proposed",
  "draining",
] as const;
export type IgnoredReason = (typeof IGNORED_REASONS)[number];

export type Done = { readonly kind: "done" };
export type Ignored = { readonly kind: "ignored"; readonly why: IgnoredReason };
export type Refused = { readonly kind: "refused"; readonly refusal: Refusal };

export type CheckoutReply =
  /**
   * Go on with this process. `apply`: once the turn's swap is in and before the prompt is written, change its model or
   * mode; from then on the checkout cannot be returned, and if the change fails the process is closed with config_changed.
   */
  | { readonly kind: "warm"; readonly instance: string; readonly apply: LiveChange }
  /** The slot is seated and `start` is among the effects. `reason`: as far as the pool knows; the record may know better. */
  | { readonly kind: "cold"; readonly instance: string; readonly reason: ColdReason }
  /** Ask again after `ask_again`. `reason` is why this session's own slot is closing; null: it waits for room only. */
  | { readonly kind: "wait"; readonly reason: EvictionReason | null }
  | Refused;
/** null: no change. */
export type LiveChange = { readonly model: string | null; readonly mode: string | null };

export type SettledReply = {
  readonly kind: "settled";
  /** `due`: another prompt follows. `closing`: idle_ttl 0, or draining. */
  readonly slot: "idle" | "due" | "closing";
  /** Gates that were open: they close with the prompt (A6, C9). */
  readonly gateIds: readonly string[];
  /** Gates whose answer was not reported on. */
  readonly sendingGateIds: readonly string[];
};

export type StopReply =
  /** `settled`: no prompt had been written, so there is nothing to wait for. */
  { readonly kind: "stopping"; readonly settled: boolean; readonly gateIds: readonly string[] } | Ignored;

export type GateReply =
  | { readonly kind: "opened" }
  /** Choose the reject option, tell gate_refused (A6). */
  | { readonly kind: "gate_refused"; readonly why: GateRefusedReason }
  /** Answer `cancelled`; never recorded, never shown (A10, B2). */
  | { readonly kind: "gate_cancelled"; readonly why: "stopping" | "no_prompt" | "closing" }
  | Ignored;

export type AnswerReply =
  /** Admit it as `sending`. */
  | { readonly kind: "open" }
  /** The process that raised the gate is gone or going: admit it as `stored` (A20). */
  | { readonly kind: "gone" }
  | Refused;

/** What each kind of input is answered with. */
export type Replies = {
  readonly [K in PoolInput["kind"]]: K extends keyof Special ? Special[K] : Done | Ignored;
};
type Special = {
  readonly checkout: CheckoutReply;
  readonly prompt_settled: SettledReply | Ignored;
  readonly stop: StopReply;
  readonly gate_opened: GateReply;
  readonly answer: AnswerReply;
  readonly wait_given_up: Done;
  readonly memory: Done;
  readonly tick: Done;
};
export type PoolReply = Replies[PoolInput["kind"]];
