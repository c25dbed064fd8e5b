// Records, events and leases for the suites: a session's first record, and one that holds every kind of value a record can.
import type {
  Answer,
  Gate,
  Lease,
  LogEvent,
  SessionConfig,
  SessionKey,
  SessionRecord,
  StateEvent,
  Tombstone,
} from "@holdfast/pool";

export const KEY: SessionKey = { project: "acme", sessionId: "build-7" };

const config: SessionConfig = {
  model: "",
  mode: "default",
  systemPrompt: "",
  mcpServers: [],
  workingDirectory: ".",
  permissionRules: [],
  limits: { turnLimitMs: 1_800_000, idleTtlMs: 60_000, approvalTtlMs: 300_000 },
};

/** The record of a session that has not run yet, as its first swap with this operation leaves it. */
export function firstRecord(key: SessionKey, operation: string): SessionRecord {
  return {
    format: 1,
    project: key.project,
    sessionId: key.sessionId,
    agent: "scripted",
    labels: {},
    config,
    secretNames: [],
    createdAt: 1_764_500_000_000,
    updatedAt: 1_764_500_000_000,
    epoch: 1,
    owner: null,
    lastRunner: null,
    process: null,
    coldReason: "first_turn",
    agentSession: null,
    turn: null,
    execution: null,
    gates: [],
    tombstones: [],
    cancel: null,
    next: null,
    requests: [],
    stops: [],
    outbox: [],
    operations: [operation],
    answerCount: 0,
  };
}

/** What the next writer makes of it: its operation is listed, the label `count` is one higher. */
export function nextRecord(record: SessionRecord, operation: string): SessionRecord {
  const labels = { ...record.labels, count: String(countOf(record) + 1) };
  return { ...record, labels, operations: [...record.operations, operation].slice(-8) };
}

export function countOf(record: SessionRecord): number {
  return Number(record.labels.count ?? 0);
}

const answer: Answer = {
  answerId: "a-1",
  commandId: "c-1",
  optionId: "reject",
  verdict: "reject",
  principal: "ann@example.com",
  channel: "inbox",
  at: 1_764_500_004_000,
  note: "use the other file",
  idempotencyKey: "key-1",
  contentDigest: "sha256:11",
  order: 1,
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  execution: 2,
  attempts: 1,
  recoverable: "attempts_spent",
  admitted: { incarnation: "i-9", nonce: "n-1" },
  disposition: { kind: "sending" },
};

const options = [
  { optionId: "allow", name: "Allow once", kind: "allow_once" },
  { optionId: "reject", name: "Reject — nein", kind: "reject_once" },
] as const;

const pending: Gate = {
  gateId: "g-2",
  turnId: "t-1",
  instance: "p-1",
  callSeq: 12,
  preview: {
    toolCallId: "call-2",
    title: 'Run "make"',
    kind: "execute",
    rawInput: '{"command":"make"}',
    truncated: false,
  },
  options,
  digest: "sha256:22",
  bindable: true,
  mayRepeat: "g-0",
  openedAt: 1_764_500_003_000,
  expiresAt: 1_765_104_803_000,
  warm: true,
  state: { kind: "pending" },
};

const answered: Gate = { ...pending, gateId: "g-1", mayRepeat: null, state: { kind: "answered", answer } };

const closed: Tombstone = {
  gateId: "g-0",
  turnId: "t-0",
  toolCallId: "call-0",
  title: "Write notes.txt",
  digest: "sha256:00",
  openedAt: 1_764_500_001_000,
  closedAt: 1_764_500_002_000,
  options: options.map(({ optionId, kind }) => ({ optionId, kind })),
  state: { kind: "closed", why: "superseded", supersededBy: "g-1" },
};

const {
  traceparent: _traceparent,
  attempts: _attempts,
  recoverable: _recoverable,
  admitted: _admitted,
  ...kept
} = answer;
const moot: Tombstone = {
  ...closed,
  gateId: "g-00",
  state: {
    kind: "answered",
    answer: { ...kept, answerId: "a-0", note: "", disposition: { kind: "moot", why: "withdrawn" } },
  },
};

const { state: _state, warm: _warm, ...openedGate } = pending;
const error = { reason: "AGENT_START_FAILED", message: "the agent exited with 1", nextStep: "look at its stderr" };

const tells: readonly StateEvent["tell"][] = [
  { type: "prompt", preview: "build it\nand test it", truncated: true, principal: "ann@example.com" },
  { type: "started", tier: "load", coldReason: "owner_dead", runner: "runner-0" },
  { type: "gate_opened", gate: openedGate },
  { type: "gate_answered", gateId: "g-1", answerId: "a-1", verdict: "allow", optionId: "allow" },
  { type: "gate_closed", gateId: "g-0", reason: "expired" },
  { type: "continued", commandId: "c-1", tier: "replay" },
  { type: "recoverable", commandId: "c-1", reason: "attempts_spent" },
  { type: "ended", outcome: "failed", stopReason: "error", error, moot: ["a-0"], uncertain: ["a-9"] },
];

/** Every field set, every variant of every union that a record can hold. */
export function fullRecord(key: SessionKey): SessionRecord {
  return {
    ...firstRecord(key, "op-1"),
    labels: { team: "core", ünïcode: "\u{1f9f7} \u2028" },
    config: {
      ...config,
      mcpServers: [
        {
          name: "files",
          transport: "stdio",
          command: "files-server",
          args: ["--root", "."],
          env: { MODE: { literal: "ro" }, TOKEN: { secretName: "files-token" } },
        },
        { name: "search", transport: "http", url: "https://search.example/mcp", headers: {} },
        { name: "feed", transport: "sse", url: "https://feed.example/", headers: { "X-Key": { secretName: "feed" } } },
      ],
      permissionRules: [{ effect: "ask", toolKind: "execute", toolName: "", argumentPattern: "rm *" }],
    },
    secretNames: ["feed", "files-token"],
    epoch: 3,
    owner: { runner: "runner-0", incarnation: "i-9", address: "10.0.0.7:7443" },
    lastRunner: "runner-0",
    process: { instance: "p-1", pid: 4242, tier: "warm" },
    coldReason: "idle_ttl",
    agentSession: { id: "agent-session-5", turnId: "t-1" },
    turn: {
      turnId: "t-1",
      requestId: "r-1",
      principal: "ann@example.com",
      openedAt: 1_764_500_002_500,
      afterSeq: 9,
      onDisconnect: "cancel",
      ending: { outcome: "lost", stopReason: "", at: 1_764_500_005_000, error },
    },
    execution: { number: 2, turnId: "t-1", parent: 1, state: "parked", parkedAt: 1_764_500_003_000 },
    gates: [answered, pending],
    tombstones: [moot, closed],
    cancel: {
      commandId: "c-2",
      execution: 2,
      reason: "not needed",
      principal: "bob@example.com",
      channel: "page",
      at: 1_764_500_004_500,
      attempts: 2,
      admitted: null,
    },
    next: { turnId: "t-2", requestId: "r-2" },
    requests: [{ requestId: "r-1", contentDigest: "sha256:33", turnId: "t-1", afterSeq: 9 }],
    stops: [{ commandId: "c-2", turnId: "t-1", execution: 2, idempotencyKey: "key-2", contentDigest: "sha256:44" }],
    outbox: tells.map((tell) => ({
      id: `${tell.type}:1`,
      turnId: "t-1",
      execution: 2,
      at: 1_764_500_004_000,
      tell,
    })),
    answerCount: 2,
  };
}

export function lease(runner: string, beat: number, changes: Partial<Lease> = {}): Lease {
  const address = "127.0.0.1:7443";
  return { runner, incarnation: `${runner}-boot-1`, host: "host-a", address, state: "live", beat, ...changes };
}

/** Events with these ids; the body tells the id, so that a mix-up shows. */
export function events(...ids: readonly string[]): readonly LogEvent[] {
  return ids.map((id) => ({ id, body: JSON.stringify({ tells: id }) }));
}
