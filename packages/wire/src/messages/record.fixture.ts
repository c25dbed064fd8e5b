// Test support: one session record with everything in it.
import type * as pool from "@holdfast/pool";

export const AT_MS = 1_800_000_000_000;

export const ANSWER: pool.Answer = {
  answerId: "ans_1",
  commandId: "cmd_1",
  optionId: "allow-once",
  verdict: "allow",
  principal: "alice",
  channel: "slack",
  at: AT_MS,
  note: "",
  idempotencyKey: "key",
  contentDigest: "d",
  order: 1,
  traceparent: "",
  execution: 2,
  attempts: 1,
  recoverable: null,
  admitted: null,
  disposition: { kind: "sending" },
};

export const GATE: pool.Gate = {
  gateId: "gate_1",
  turnId: "turn_1",
  instance: "proc_1",
  callSeq: 3,
  preview: { toolCallId: "call-1", title: "run ls", kind: "execute", rawInput: '{"cmd":"l', truncated: true },
  options: [
    { optionId: "allow-once", name: "Allow", kind: "allow_once" },
    { optionId: "reject-once", name: "Reject", kind: "reject_once" },
  ],
  digest: "ab",
  bindable: true,
  mayRepeat: null,
  openedAt: AT_MS,
  expiresAt: AT_MS + 600_000,
  warm: true,
  state: { kind: "pending" },
};

export const TOMBSTONE: pool.Tombstone = {
  gateId: "gate_0",
  turnId: "turn_1",
  toolCallId: "call-0",
  title: "run pwd",
  digest: "cd",
  openedAt: AT_MS,
  closedAt: AT_MS + 1,
  options: GATE.options.map(({ optionId, kind }) => ({ optionId, kind })),
  state: { kind: "closed", why: "superseded", supersededBy: "gate_1" },
};

export function record(changes: Partial<pool.SessionRecord> = {}): pool.SessionRecord {
  return {
    format: 1,
    project: "default",
    sessionId: "s-1",
    agent: "scripted",
    labels: { team: "a" },
    config: {
      model: "",
      mode: "",
      systemPrompt: "",
      mcpServers: [],
      workingDirectory: "",
      permissionRules: [],
      limits: { turnLimitMs: 1, idleTtlMs: 1, approvalTtlMs: 1 },
    },
    secretNames: [],
    createdAt: AT_MS,
    updatedAt: AT_MS,
    epoch: 4,
    owner: { runner: "r-0", incarnation: "inc_1", address: "127.0.0.1:1" },
    lastRunner: "r-0",
    process: { instance: "proc_1", pid: 4242, tier: "new" },
    coldReason: "first_turn",
    agentSession: null,
    turn: {
      turnId: "turn_1",
      requestId: null,
      principal: "alice",
      openedAt: AT_MS,
      afterSeq: 0,
      onDisconnect: "detach",
      ending: null,
    },
    execution: { number: 2, turnId: "turn_1", parent: 1, state: "parked", parkedAt: AT_MS },
    gates: [GATE],
    tombstones: [TOMBSTONE, { ...TOMBSTONE, gateId: "gate_old", turnId: "turn_0" }],
    cancel: null,
    next: null,
    requests: [],
    stops: [],
    outbox: [],
    operations: [],
    answerCount: 1,
    ...changes,
  };
}
