// Everything that can happen to the pool, as data. One session's inputs come from its lane, one after the other (A17);
// `memory`, `drain` and `tick` belong to no session. Every input that names a process names it by its instance, so that
// whatever comes late for an ended process changes nothing (A12, A18).
import type { EvictionReason } from "../reasons.ts";
import type { ConfigFingerprint } from "./fingerprint.ts";
import type { Offers, SlotKey, SlotLimits } from "./slot.ts";

/** One slot's process, as the shell knows it. */
export type Named = { readonly key: SlotKey; readonly instance: string };
export type NamedGate = Named & { readonly gateId: string };

/** A prompt (or a cold continuation) wants a process of this session. */
export type Checkout = {
  readonly kind: "checkout";
  readonly key: SlotKey;
  /** For the process to be made, if one has to be. Never used before. */
  readonly instance: string;
  readonly agent: string;
  readonly canLoad: boolean;
  readonly limits: SlotLimits;
  readonly config: ConfigFingerprint;
  /** Fingerprint of the history the caller sent; null when it sent none (A13). */
  readonly history: string | null;
  /** The caller's secrets against those the live process was started with; compared by the shell in constant time. */
  readonly credentials: "same" | "changed" | "expired";
  /** The live process's working directory, probed by the shell. */
  readonly workspace: "there" | "lost";
  /** The record knows of no live process, so an idle one found here is of an ownership that is over. */
  readonly mustBeNew: boolean;
};

export type PoolInput =
  | Checkout
  /** Nothing came of a checkout before its prompt was written (its swap was refused). */
  | ({ readonly kind: "checkout_returned" } & Named)
  /** Nobody waits any longer for a checkout that was told to wait. */
  | { readonly kind: "wait_given_up"; readonly key: SlotKey }
  /** The ACP session is ready. */
  | ({ readonly kind: "started"; readonly offers: Offers } & Named)
  | ({ readonly kind: "start_failed" } & Named)
  /** The prompt is about to be written. */
  | ({ readonly kind: "prompt_started" } & Named)
  /** `more`: the turn goes on with another prompt on this process (denial notes, C7). `history`: see Process. */
  | ({ readonly kind: "prompt_settled"; readonly history: string | null; readonly more: boolean } & Named)
  /** A Stop was admitted (A10); for an INTERRUPT too (A9). */
  | ({ readonly kind: "stop" } & Named)
  /** The agent asks for a permission. The gate id is minted by the shell, unique for ever. */
  | ({ readonly kind: "gate_opened"; readonly optionIds: readonly string[] } & NamedGate)
  /** May this option be admitted as the answer of this gate (A7)? `instance`: the process that raised the gate. */
  | ({ readonly kind: "answer"; readonly optionId: string } & NamedGate)
  /** The admission's swap is in: the answer goes to the agent with this step (A6, D9). */
  | ({ readonly kind: "gate_consumed" } & NamedGate)
  /** Withdrawn by the agent, or superseded. */
  | ({ readonly kind: "gate_closed" } & NamedGate)
  /** The agent reported on the call whose answer was sending. */
  | ({ readonly kind: "answer_reported" } & NamedGate)
  /** The answer was certainly not written, and the record has it queued again: the gate is open as before. */
  | ({ readonly kind: "answer_handed_back" } & NamedGate)
  /** The process is gone by itself (A12). */
  | ({ readonly kind: "exited" } & Named)
  /** CloseSession, or what the shell found out: prompt_failed, credentials_expired on an answer, owner_lost ... */
  | ({ readonly kind: "close"; readonly reason: EvictionReason } & Named)
  /** The teardown that an `end` effect asked for is over: nothing of the process is left. */
  | ({ readonly kind: "closed" } & Named)
  /** The record has the waiting process as gone and its gates as cold (A20). */
  | ({ readonly kind: "eviction_confirmed"; readonly reason: EvictionReason } & Named)
  /** An answer is queued (it is admitted instead), or the record could not be asked. */
  | ({ readonly kind: "eviction_refused" } & Named)
  /** A measurement (A5). `usage`: bytes of each process tree. Idle slots go above the budget, waiting ones above `highBytes`. */
  | {
      readonly kind: "memory";
      readonly usage: ReadonlyMap<SlotKey, number>;
      readonly budgetBytes: number;
      readonly highBytes: number;
    }
  /** SIGTERM (E8). */
  | { readonly kind: "drain"; readonly graceMs: number }
  /** A deadline may have come. */
  | { readonly kind: "tick" };
