// The session record: one durable document per session, changed only by compare-and-set. Its states are complete here;
// `decide.ts` lists who may change what.
//
// R1  A gate is pending, or answered by exactly one answer that never changes; closed, it is a tombstone for ever.
// R2  Every committed answer has exactly one disposition; a final one never changes (D12).
// R3  A turn has one outcome, set once (D6). When it has one, no gate is pending and no command is open (D16).
// R4  The epoch never falls, and grows with every change of owner (E1).
// R5  An execution number is used once per session.
// R6  An execution is parked exactly while a gate of it is pending and no answer is queued (D4).
import type { ColdReason, GateCloseReason, MootReason, OptionKind, Outcome, Tier, Verdict } from "../reasons.ts";
import type { StateEvent } from "./event.ts";

/** The newest format this code writes. A record with a higher number is an error that touches nothing (D17). */
export const RECORD_FORMAT = 1;

/** Milliseconds since 1970 by the writer's clock: shown to people and used for expiry, never for authority. */
export type Millis = number;

export type SessionRecord = {
  readonly format: typeof RECORD_FORMAT;
  readonly project: string;
  readonly sessionId: string;
  readonly agent: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The whole effective configuration of the latest turn (C8). */
  readonly config: SessionConfig;
  /** Names of the secrets the latest turn was started with; never a value. */
  readonly secretNames: readonly string[];
  readonly createdAt: Millis;
  readonly updatedAt: Millis;

  /** Fences every former owner out (P1). */
  readonly epoch: number;
  readonly owner: Owner | null;
  /** Placement hint: who owned it last. */
  readonly lastRunner: string | null;
  /** The live process the owner reported, by its `ready` swap. */
  readonly process: LiveProcess | null;
  /** Why there is no live process: the reason the next cold start will show. */
  readonly coldReason: ColdReason;
  /** The agent's own session, and the turn it was last valid for (C2). */
  readonly agentSession: AgentSession | null;

  readonly turn: Turn | null;
  /** The newest execution of the session. */
  readonly execution: Execution | null;
  /** Gates that are pending, or answered without a final disposition; oldest first. */
  readonly gates: readonly Gate[];
  /** Closed gates, oldest first (D5). */
  readonly tombstones: readonly Tombstone[];
  /** A Stop that the owner has not settled yet. */
  readonly cancel: CancelCommand | null;
  /** The RunTurn that interrupted: nothing else may open a turn before it does (A9). */
  readonly next: NextRequest | null;

  /** request_id of RunTurn, newest last (D15). */
  readonly requests: readonly RequestMark[];
  /** Stops, newest last: idempotency keys and collapsing of two Stops (D7). */
  readonly stops: readonly StopMark[];
  /** State events not yet known to be in the log, in order (D14). */
  readonly outbox: readonly StateEvent[];
  /** Ids of the last writes (D1). */
  readonly operations: readonly string[];
  /** How many answers this session has had: the order in which stored answers apply (C6). */
  readonly answerCount: number;
};

export type Owner = {
  readonly runner: string;
  readonly incarnation: string;
  readonly address: string;
};

/** What a live process was started with; `instance` is minted for each process, pids come back. */
export type LiveProcess = {
  readonly instance: string;
  readonly pid: number;
  readonly tier: Tier;
};

export type AgentSession = { readonly id: string; readonly turnId: string };

/** Configuration as the caller sent it, with secrets only by name. Limits are in milliseconds. */
export type SessionConfig = {
  readonly model: string;
  readonly mode: string;
  readonly systemPrompt: string;
  readonly mcpServers: readonly McpServer[];
  readonly workingDirectory: string;
  readonly permissionRules: readonly PermissionRule[];
  readonly limits: TurnLimits;
};
export type TurnLimits = {
  readonly turnLimitMs: number;
  readonly idleTtlMs: number;
  readonly approvalTtlMs: number;
};
export type McpValue = { readonly literal: string } | { readonly secretName: string };
export type McpServer =
  | {
      readonly name: string;
      readonly transport: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, McpValue>>;
    }
  | {
      readonly name: string;
      readonly transport: "http" | "sse";
      readonly url: string;
      readonly headers: Readonly<Record<string, McpValue>>;
    };
export type PermissionRule = {
  readonly effect: "ask" | "allow" | "reject";
  readonly toolKind: string;
  readonly toolName: string;
  readonly argumentPattern: string;
};

export type Turn = {
  readonly turnId: string;
  readonly requestId: string | null;
  readonly principal: string;
  readonly openedAt: Millis;
  /** An event number below the turn's first event: where a replay of the turn begins. */
  readonly afterSeq: number;
  readonly onDisconnect: "detach" | "cancel";
  readonly ending: Ending | null;
};
export type Ending = {
  readonly outcome: Outcome;
  readonly stopReason: string;
  readonly at: Millis;
  readonly error: TurnError | null;
};
export type TurnError = { readonly reason: string; readonly message: string; readonly nextStep: string };

/**
 * queued: an answer waits for a process; no process works on the turn.
 * running: a process works on it, or an answer is on its way to one.
 * parked: a gate is pending and no answer is queued.
 * stopping: a Stop is committed and not settled.
 * continued, ended, lost: over. Only the newest execution is kept; the log tells of the others.
 */
export type ExecutionState = "queued" | "running" | "parked" | "stopping" | "continued" | "ended" | "lost";
export type Execution = {
  readonly number: number;
  readonly turnId: string;
  /** The execution this one replaces, null for a turn's first. */
  readonly parent: number | null;
  readonly state: ExecutionState;
  /** Since when it is parked: approval_ttl runs from here. */
  readonly parkedAt: Millis | null;
};

export type GateOption = ClosedOption & { readonly name: string };
/** What an answer can mean, without what to write on the button. */
export type ClosedOption = { readonly optionId: string; readonly kind: OptionKind };

/** The readable short form of a call: at most PREVIEW_CHARACTERS in all. The whole call is event `callSeq` of the log. */
export type CallPreview = {
  readonly toolCallId: string;
  readonly title: string;
  readonly kind: string;
  /** The raw input as JSON, cut when long; "" when the agent sent none. */
  readonly rawInput: string;
  readonly truncated: boolean;
};

export type Gate = {
  readonly gateId: string;
  readonly turnId: string;
  /** The process that raised it (A6). */
  readonly instance: string;
  /** The number of the tool_call event that holds the whole call (D3). */
  readonly callSeq: number;
  readonly preview: CallPreview;
  readonly options: readonly GateOption[];
  readonly digest: string;
  /** Whether its answer may be applied to an equal call of another process (C6). */
  readonly bindable: boolean;
  /** An uncertain gate of the same call (D13). */
  readonly mayRepeat: string | null;
  readonly openedAt: Millis;
  readonly expiresAt: Millis;
  /** Whether the process that raised it is alive. */
  readonly warm: boolean;
  readonly state: { readonly kind: "pending" } | { readonly kind: "answered"; readonly answer: Answer };
};

export type Delivery = { readonly incarnation: string; readonly nonce: string };

/** What a record keeps of an answer for as long as it knows the gate. */
export type CommittedAnswer = {
  readonly answerId: string;
  readonly commandId: string;
  readonly optionId: string;
  readonly verdict: Verdict;
  readonly principal: string;
  readonly channel: string;
  readonly at: Millis;
  /** The note of a REJECT, until the agent was told or never will be (C7); "" otherwise. */
  readonly note: string;
  readonly idempotencyKey: string | null;
  /** Digest of key scope and content: tells a retry from a reused key (D5). */
  readonly contentDigest: string;
  /** Oldest first is the order in which stored answers apply. */
  readonly order: number;
  /** The execution the continue command is pinned to. */
  readonly execution: number;
  readonly disposition: AnswerDisposition;
};

/** An answer on its way. */
export type Answer = CommittedAnswer & {
  /** W3C trace context of the call that answered, "" when none. */
  readonly traceparent: string;
  readonly attempts: number;
  /** Attempts spent (D8): set when the last one failed, cleared by success. */
  readonly recoverable: string | null;
  /** The delivery that was admitted (D1: the proof of the admission). */
  readonly admitted: Delivery | null;
};

export type AnswerDisposition =
  | { readonly kind: "queued" | "stored" | "sending" | "applied" | "delivered" | "uncertain" }
  | { readonly kind: "moot"; readonly why: MootReason };

/** What is left of a closed gate (D5). */
export type Tombstone = {
  readonly gateId: string;
  readonly turnId: string;
  readonly toolCallId: string;
  readonly title: string;
  readonly digest: string;
  readonly openedAt: Millis;
  readonly closedAt: Millis;
  /** Option ids offered, with their kinds: what ALLOW and REJECT would have resolved to. */
  readonly options: readonly ClosedOption[];
  readonly state: TombstoneState;
};
export type TombstoneState =
  | { readonly kind: "answered"; readonly answer: CommittedAnswer }
  | { readonly kind: "closed"; readonly why: GateCloseReason; readonly supersededBy: string | null };

export type CancelCommand = {
  readonly commandId: string;
  readonly execution: number;
  readonly reason: string;
  readonly principal: string;
  readonly channel: string;
  readonly at: Millis;
  readonly attempts: number;
  readonly admitted: Delivery | null;
};
export type StopMark = {
  readonly commandId: string;
  readonly turnId: string;
  readonly execution: number;
  readonly idempotencyKey: string | null;
  readonly contentDigest: string;
};
export type RequestMark = {
  readonly requestId: string;
  readonly contentDigest: string;
  readonly turnId: string;
  readonly afterSeq: number;
};
export type NextRequest = { readonly turnId: string; readonly requestId: string | null };
