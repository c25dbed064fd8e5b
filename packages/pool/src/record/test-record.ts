// For tests only: one session's record with its history. A Ledger holds what is stored, gives commands to `decide` and
// keeps what was written; every command has a maker whose defaults are an ordinary one of its kind.
import type {
  Admit,
  DecisionOf,
  GiveAnswer,
  LoseProcess,
  OpenGate,
  OpenTurn,
  Ready,
  RecordCommand,
  Results,
  SlotView,
  Stop,
  Writer,
} from "./command.ts";
import { decide } from "./decide.ts";
import type { StateEvent } from "./event.ts";
import { answerOf } from "./moves.ts";
import type { Answer, CommittedAnswer, GateOption, Millis, Owner, SessionConfig, SessionRecord } from "./record.ts";

export const OWNER: Owner = { runner: "runner-0", incarnation: "boot-a", address: "10.0.0.1:7421" };
export const HEIR: Owner = { runner: "runner-1", incarnation: "boot-b", address: "10.0.0.2:7421" };
export const GATEWAY: Writer = { kind: "gateway" };
const APPROVAL_TTL_MS = 300_000;
export const APPROVAL_EXPIRY_MS = 7 * 24 * 3_600_000;

export const OPTIONS: readonly GateOption[] = [
  { optionId: "allow-once", name: "Allow", kind: "allow_once" },
  { optionId: "allow-always", name: "Always allow", kind: "allow_always" },
  { optionId: "reject-once", name: "Reject", kind: "reject_once" },
];
const CONFIG: SessionConfig = {
  model: "m1",
  mode: "",
  systemPrompt: "",
  mcpServers: [],
  workingDirectory: ".",
  permissionRules: [],
  limits: { turnLimitMs: 1_800_000, idleTtlMs: 60_000, approvalTtlMs: APPROVAL_TTL_MS },
};

export class Ledger {
  held: SessionRecord | null = null;
  now: Millis = 1_700_000_000_000;
  /** Every state event this session has ever put into its outbox, in order. */
  readonly told: StateEvent[] = [];
  #operations = 0;

  get record(): SessionRecord {
    if (this.held === null) throw new Error("the session does not exist");
    return this.held;
  }

  /** The present owner, at its epoch. */
  get owner(): Writer {
    const { owner, epoch } = this.record;
    if (owner === null) throw new Error("nobody owns the session");
    return { kind: "owner", incarnation: owner.incarnation, epoch };
  }

  give<C extends RecordCommand>(by: Writer, command: C, appended: readonly string[] = []): DecisionOf<C> {
    this.#operations += 1;
    const before = this.held;
    const decision = decide(before, command, this.now, { id: `op-${this.#operations}`, by, appended });
    if (decision.kind === "write") {
      const known = new Set(before?.outbox);
      this.told.push(...decision.record.outbox.filter((event) => !known.has(event)));
      this.held = decision.record;
    }
    return decision;
  }

  /** For the steps that lead up to what a test is about: a refusal there is a mistake of the test. */
  must<C extends RecordCommand>(by: Writer, command: C): Results[C["type"]] {
    const decision = this.give(by, command);
    if (decision.kind === "refused") throw new Error(`${command.type}: ${decision.refusal.message}`);
    return decision.result as Results[C["type"]];
  }

  /** Events of one type, oldest first. */
  events(type: StateEvent["tell"]["type"]): readonly StateEvent[] {
    return this.told.filter((event) => event.tell.type === type);
  }

  answer(gateId: string): CommittedAnswer & Partial<Answer> {
    const { gates, tombstones } = this.record;
    const open = gates.find((gate) => gate.gateId === gateId);
    const closed = tombstones.find((tombstone) => tombstone.gateId === gateId);
    const answer = open ? answerOf(open) : closed?.state.kind === "answered" ? closed.state.answer : null;
    if (answer === null || answer === undefined) throw new Error(`gate ${gateId} has no answer`);
    return answer;
  }
}

export function claimant(ledger: Ledger, owner: Owner = OWNER): Writer {
  return { kind: "claimant", owner, fromEpoch: ledger.held?.epoch ?? 0 };
}

/** What stands of a gate: pending, a disposition (moot:why), why it closed, or unknown. */
export function gateState(record: SessionRecord, gateId: string): string {
  const open = record.gates.find((gate) => gate.gateId === gateId);
  const closed = record.tombstones.find((tombstone) => tombstone.gateId === gateId);
  if (closed?.state.kind === "closed") return closed.state.why;
  const answer = open ? answerOf(open) : closed?.state.kind === "answered" ? closed.state.answer : null;
  if (answer) return answer.disposition.kind === "moot" ? `moot:${answer.disposition.why}` : answer.disposition.kind;
  return open ? "pending" : "unknown";
}

export function aPrompt(turnId: string, change: Partial<OpenTurn> = {}): OpenTurn {
  return {
    type: "open_turn",
    project: "default",
    sessionId: "s1",
    turnId,
    requestId: null,
    contentDigest: `content of ${turnId}`,
    afterSeq: 0,
    agent: "scripted",
    config: CONFIG,
    secretNames: [],
    labels: {},
    promptPreview: "say hello",
    promptTruncated: false,
    principal: "caller",
    onDisconnect: "detach",
    warm: false,
    coldReason: null,
    ...change,
  };
}

export function aReady(instance: string, change: Partial<Ready> = {}): Ready {
  const process = { instance, pid: 100, tier: "new" as const };
  return { type: "ready", process, agentSessionId: "a1", coldReason: "first_turn", commandId: null, ...change };
}

/** The call `digest` asked by process `instance`. */
export function aGate(gateId: string, change: Partial<OpenGate> = {}): OpenGate {
  return {
    type: "open_gate",
    gateId,
    turnId: "t1",
    instance: "p1",
    callSeq: 7,
    preview: { toolCallId: `call-${gateId}`, title: "run", kind: "execute", rawInput: "{}", truncated: false },
    options: OPTIONS,
    digest: `digest of ${gateId}`,
    bindable: true,
    approvalExpiryMs: APPROVAL_EXPIRY_MS,
    ...change,
  };
}

export function anAnswer(gateId: string, change: Partial<GiveAnswer> = {}): GiveAnswer {
  return {
    type: "answer",
    gateId,
    choice: { verdict: "allow" },
    digest: null,
    note: "",
    idempotencyKey: null,
    contentDigest: `answer to ${gateId}`,
    principal: "human",
    channel: "inbox",
    answerId: `answer-${gateId}`,
    commandId: `command-${gateId}`,
    traceparent: "",
    ...change,
  };
}

export function aStop(change: Partial<Stop> = {}): Stop {
  return {
    type: "stop",
    expectedTurn: null,
    expectedExecution: null,
    idempotencyKey: null,
    contentDigest: "stop",
    commandId: "cancel-1",
    principal: "human",
    channel: "",
    why: "stop",
    next: null,
    ...change,
  };
}

/** The admission of a gate's answer, pinned to the execution that runs now. */
export function anAdmission(ledger: Ledger, gateId: string, slot: SlotView, change: Partial<Admit> = {}): Admit {
  return {
    type: "admit",
    commandId: `command-${gateId}`,
    execution: ledger.record.execution?.number ?? 0,
    delivery: { incarnation: ledger.record.owner?.incarnation ?? "", nonce: "n1" },
    slot,
    ...change,
  };
}

export function aSettlement(turnId = "t1") {
  return { type: "settle_prompt", turnId, stopReason: "end_turn", agentSessionId: "a1" } as const;
}

export function aLoss(change: Partial<LoseProcess> = {}): LoseProcess {
  return {
    type: "lose_process",
    reason: "agent_exited",
    outcome: "failed",
    stopReason: "agent_exited",
    error: null,
    release: true,
    ...change,
  };
}

/** The owner is dead, and whoever read the record settled what it left. */
export function settled(ledger: Ledger): Ledger {
  ledger.must(GATEWAY, { type: "settle_ownerless", dead: ledger.record.owner ?? OWNER });
  return ledger;
}

/** What a table of a test calls by name. */
export function named<T>(table: Readonly<Record<string, T>>, name: string): T {
  const entry = table[name];
  if (entry === undefined) throw new Error(`${name} is not in the table`);
  return entry;
}
