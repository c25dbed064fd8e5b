// Every command the record knows, who may give it, and what each gives back. `decide.ts` is the table over these.
import type { ColdReason, EvictionReason, Outcome, Verdict } from "../reasons.ts";
import type { Refusal } from "../refusal.ts";
import type { Choice } from "./option.ts";
import type {
  AnswerDisposition,
  CallPreview,
  Delivery,
  GateOption,
  LiveProcess,
  Millis,
  NextRequest,
  Owner,
  SessionConfig,
  SessionRecord,
  TurnError,
} from "./record.ts";

/** Who writes: an owner at its epoch (D2), a runner that claims an owner-less session (E1), or a gateway. */
export type Writer =
  | { readonly kind: "owner"; readonly incarnation: string; readonly epoch: number }
  | { readonly kind: "claimant"; readonly owner: Owner; readonly fromEpoch: number }
  | { readonly kind: "gateway" };

export type Operation = {
  /** Kept in the record, so that a write whose reply was lost recognises itself (D1). */
  readonly id: string;
  readonly by: Writer;
  /** Outbox events the writer knows to be in the log; this swap drops them (D14). */
  readonly appended: readonly string[];
};

/** A prompt opens a turn (with the claim in the same swap when the session has no owner). */
export type OpenTurn = {
  readonly type: "open_turn";
  readonly project: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly requestId: string | null;
  readonly contentDigest: string;
  /** The log's last number as the writer knows it: the turn's events come after it. */
  readonly afterSeq: number;
  readonly agent: string;
  readonly config: SessionConfig;
  readonly secretNames: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly promptPreview: string;
  readonly promptTruncated: boolean;
  readonly principal: string;
  readonly onDisconnect: "detach" | "cancel";
  /** true: the live process takes it, and `started` is told by this swap; false: a cold start follows, told by `ready`. */
  readonly warm: boolean;
  /** Why no live process takes it; null keeps the reason the record holds. */
  readonly coldReason: ColdReason | null;
};
export type TurnOpened =
  | { readonly kind: "opened"; readonly turnId: string; readonly execution: number; readonly coldReason: ColdReason }
  | { readonly kind: "attach"; readonly turnId: string; readonly afterSeq: number }
  | { readonly kind: "reopened"; readonly turnId: string; readonly execution: number };

/** An owner-less session gets an owner; the epoch grows (E1). */
export type Claim = { readonly type: "claim" };

/** The cold start is done: what runs now, and how it got its memory (D14). */
export type Ready = {
  readonly type: "ready";
  readonly process: LiveProcess;
  readonly agentSessionId: string | null;
  readonly coldReason: ColdReason;
  /** The command a continuation was started for; null: the process was started for a prompt. */
  readonly commandId: string | null;
};

export type OpenGate = {
  readonly type: "open_gate";
  readonly gateId: string;
  readonly turnId: string;
  readonly instance: string;
  readonly callSeq: number;
  readonly preview: CallPreview;
  readonly options: readonly GateOption[];
  readonly digest: string;
  readonly bindable: boolean;
  readonly approvalExpiryMs: number;
};
export type GateDecision =
  | { readonly kind: "opened" }
  /** A stored answer applies to this very call (C6): it is `sending` now and has to be written. */
  | { readonly kind: "matched"; readonly gateId: string; readonly optionId: string; readonly verdict: Verdict }
  /** By number or by size. Answer it with its reject option and tell gate_refused (A6). */
  | { readonly kind: "too_many" }
  /** Answer it `cancelled`, record nothing (A10, B2). */
  | { readonly kind: "not_asked" };

export type GiveAnswer = {
  readonly type: "answer";
  readonly gateId: string;
  readonly choice: Choice;
  readonly digest: string | null;
  readonly note: string;
  readonly idempotencyKey: string | null;
  readonly contentDigest: string;
  readonly principal: string;
  readonly channel: string;
  readonly answerId: string;
  readonly commandId: string;
  readonly traceparent: string;
};
export type AnswerReceipt = {
  readonly answerId: string;
  readonly commandId: string;
  readonly turnId: string;
  readonly execution: number;
  readonly duplicate: boolean;
  readonly disposition: AnswerDisposition;
  readonly recoverable: string | null;
  readonly optionId: string;
  readonly openGateIds: readonly string[];
};

export type Stop = {
  readonly type: "stop";
  readonly expectedTurn: string | null;
  readonly expectedExecution: number | null;
  readonly idempotencyKey: string | null;
  readonly contentDigest: string;
  readonly commandId: string;
  readonly principal: string;
  readonly channel: string;
  readonly why: "stop" | "disconnect" | "close" | "interrupt";
  /** With interrupt: the request that takes the turn's place (A9). */
  readonly next: NextRequest | null;
};
export type StopReceipt = {
  readonly commandId: string;
  readonly turnId: string;
  readonly execution: number;
  readonly duplicate: boolean;
};

/** Counted before it is sent (D8). */
export type Attempt = { readonly type: "attempt"; readonly commandId: string };
export type AttemptDecision =
  | { readonly kind: "send"; readonly execution: number }
  | { readonly kind: "spent" }
  | { readonly kind: "settled" };
/** The delivery proved that nothing ran: it does not count (D8). */
export type ReturnAttempt = { readonly type: "return_attempt"; readonly commandId: string };

/** The gate is open in the live process; its process lives but the gate is gone; its process is gone (contract). */
export type SlotView = "gate_open" | "gate_gone" | "process_gone";
/** Recorded before a byte goes to the agent (D9). */
export type Admit = {
  readonly type: "admit";
  readonly commandId: string;
  readonly execution: number;
  readonly delivery: Delivery;
  readonly slot: SlotView;
};
export type Admission =
  | { readonly kind: "write"; readonly gateId: string; readonly optionId: string; readonly verdict: Verdict }
  | { readonly kind: "cold"; readonly gateId: string }
  | { readonly kind: "moot"; readonly disposition: AnswerDisposition }
  | { readonly kind: "already"; readonly disposition: AnswerDisposition };
export type AdmitCancel = {
  readonly type: "admit_cancel";
  readonly commandId: string;
  readonly delivery: Delivery;
  /** Whether a process is there that has to settle; without one the turn ends here. */
  readonly live: boolean;
};
export type CancelAdmission = { readonly kind: "cancel" } | { readonly kind: "already" } | { readonly kind: "ended" };

/** The write was not made and the runner knows it (D9). */
export type HandBack = { readonly type: "hand_back"; readonly gateId: string };
/** The agent reported on the answered call. */
export type ReportAnswer = { readonly type: "report_answer"; readonly gateId: string };
/** The agent took its question back (A6). */
export type WithdrawGate = { readonly type: "withdraw_gate"; readonly gateId: string };
/** Gates past their expiry close as not allowed (C4). */
export type ExpireGates = { readonly type: "expire_gates" };

/** The prompt settled (C9). */
export type SettlePrompt = {
  readonly type: "settle_prompt";
  readonly turnId: string;
  readonly stopReason: string;
  readonly agentSessionId: string | null;
};
export type PromptSettled =
  | { readonly kind: "ended"; readonly outcome: Outcome }
  /** Denial notes are still to be told, in a new execution of the same turn (C7). */
  | { readonly kind: "notes"; readonly execution: number; readonly notes: readonly string[] }
  | { readonly kind: "over" };

/** The process is gone, and so is the owner's hold on the session (A12, D13, E1). */
export type LoseProcess = {
  readonly type: "lose_process";
  readonly reason: EvictionReason;
  readonly outcome: Outcome;
  readonly stopReason: string;
  readonly error: TurnError | null;
  /** false when this runner goes on to own the session, because another start waits there. */
  readonly release: boolean;
  /**
   * Nothing of the prompt was shown and no answer was written: a new process begins it again, once (A18). The turn stays
   * open and the session owned, unless an answer is uncertain.
   */
  readonly restarts?: true;
};
/** First of the two swaps that evict a waiting slot (A20). */
export type MarkCold = { readonly type: "mark_cold"; readonly reason: EvictionReason };
export type ColdMark = { readonly kind: "cold" } | { readonly kind: "kept" };
/** The owner is dead (D10, E10): by whoever reads the record, from what it read. */
export type SettleOwnerless = { readonly type: "settle_ownerless"; readonly dead: Owner };
/** Nothing but what the operation drops from the outbox. */
export type DropAppended = { readonly type: "drop_appended" };

type Done = { readonly kind: "done" };
const DONE: Done = { kind: "done" };

export { DONE };

/** Command type to what its decision gives back. */
export type Results = {
  open_turn: TurnOpened;
  claim: Done;
  ready: Done;
  open_gate: GateDecision;
  answer: AnswerReceipt;
  stop: StopReceipt;
  attempt: AttemptDecision;
  return_attempt: Done;
  admit: Admission;
  admit_cancel: CancelAdmission;
  hand_back: Done;
  report_answer: Done;
  withdraw_gate: Done;
  expire_gates: Done;
  settle_prompt: PromptSettled;
  lose_process: Done;
  mark_cold: ColdMark;
  settle_ownerless: Done;
  drop_appended: Done;
};

export type RecordCommand =
  | OpenTurn
  | Claim
  | Ready
  | OpenGate
  | GiveAnswer
  | Stop
  | Attempt
  | ReturnAttempt
  | Admit
  | AdmitCancel
  | HandBack
  | ReportAnswer
  | WithdrawGate
  | ExpireGates
  | SettlePrompt
  | LoseProcess
  | MarkCold
  | SettleOwnerless
  | DropAppended;

/** write: swap this in. same: nothing to write, this is the answer. refused: nothing to write, and why. */
export type Decision<R> =
  | { readonly kind: "write"; readonly record: SessionRecord; readonly result: R }
  | { readonly kind: "same"; readonly result: R }
  | { readonly kind: "refused"; readonly refusal: Refusal };

export type DecisionOf<C extends RecordCommand> = Decision<Results[C["type"]]>;

export const write = <R>(record: SessionRecord, result: R): Decision<R> => ({ kind: "write", record, result });
export const same = <R>(result: R): Decision<R> => ({ kind: "same", result });
export const refused = (refusal: Refusal): Decision<never> => ({ kind: "refused", refusal });

/** What every rule is given besides its command. */
export type Moment = { readonly now: Millis; readonly by: Writer };
