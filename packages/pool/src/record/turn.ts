// Opening a turn, the start of its process, and the settling of its prompt (A9, C9, D14, D15).
import { LABELS, REQUESTS_KEPT } from "../limits.ts";
import {
  type Decision,
  DONE,
  type Moment,
  type OpenTurn,
  type PromptSettled,
  type Ready,
  refused,
  type SettlePrompt,
  same,
  type TurnOpened,
  write,
} from "./command.ts";
import { CANCELLED, endTurn, PROMPT_OVER, settleGates } from "./endings.ts";
import {
  answerOf,
  DELIVERED,
  dispose,
  hasDisposition,
  nextExecution,
  openTurn,
  startOf,
  tell,
  tellContinued,
  withAnswer,
} from "./moves.ts";
import { claim } from "./ownership.ts";
import { type NextRequest, RECORD_FORMAT, type SessionRecord } from "./record.ts";
import { keyReused, tooManyLabels, turnOpen } from "./refusals.ts";
import { dueNote, withoutNotes } from "./tombstone.ts";

export function openTurnOf(held: SessionRecord | null, command: OpenTurn, moment: Moment): Decision<TurnOpened> {
  const { now, by } = moment;
  const known = held?.requests.find((mark) => mark.requestId === command.requestId && command.requestId !== null);
  if (held !== null && known !== undefined) {
    return known.contentDigest === command.contentDigest
      ? same({ kind: "attach", turnId: known.turnId, afterSeq: known.afterSeq })
      : refused(keyReused(held.sessionId, known.requestId));
  }
  if (held !== null && openTurn(held) !== null) return reopen(held, command, moment);
  if (held?.next && !isNext(held.next, command)) return refused(turnOpen(held));

  const base = held ?? emptyRecord(command, now);
  const labels = { ...base.labels, ...command.labels };
  if (Object.keys(labels).length > LABELS) return refused(tooManyLabels(command.sessionId));
  const owned = by.kind === "claimant" ? claim(base, by.owner) : base;
  const coldReason = command.coldReason ?? owned.coldReason;
  const number = (owned.execution?.number ?? 0) + 1;
  const opened: SessionRecord = {
    ...owned,
    agent: command.agent,
    config: command.config,
    secretNames: command.secretNames,
    labels,
    turn: {
      turnId: command.turnId,
      requestId: command.requestId,
      principal: command.principal,
      openedAt: now,
      afterSeq: command.afterSeq,
      onDisconnect: command.onDisconnect,
      ending: null,
    },
    execution: { number, turnId: command.turnId, parent: null, state: "running", parkedAt: null },
    process: command.warm ? owned.process : null,
    agentSession: keptSession(owned, command.turnId),
    coldReason,
    next: null,
    requests: remember(owned, command, command.turnId),
  };
  const { promptPreview: preview, promptTruncated: truncated, principal } = command;
  const prompted = tell(opened, now, command.turnId, { type: "prompt", preview, truncated, principal });
  return write(command.warm ? tellStarted(prompted, now) : prompted, {
    kind: "opened",
    turnId: command.turnId,
    execution: number,
    coldReason,
  });
}

/** The request that was given the next turn, or a retry of it: its turn id may have been minted again (D15). */
function isNext(next: NextRequest, { turnId, requestId }: OpenTurn): boolean {
  return next.turnId === turnId || (next.requestId !== null && next.requestId === requestId);
}

/** A turn is open. If its answers' attempts are spent, the prompt that comes reopens them first (D8); else it is refused. */
function reopen(held: SessionRecord, command: OpenTurn, { by, now }: Moment): Decision<TurnOpened> {
  const waiting = held.gates.filter((gate) => answerOf(gate)?.recoverable);
  if (waiting.length === 0 || held.execution?.state === "stopping") return refused(turnOpen(held));
  const owned = by.kind === "claimant" ? claim(held, by.owner) : held;
  const again = nextExecution(reopenAnswers(owned), "queued");
  const next = { turnId: command.turnId, requestId: command.requestId };
  return write(
    { ...again, next, updatedAt: now },
    {
      kind: "reopened",
      turnId: held.turn?.turnId ?? "",
      execution: again.execution?.number ?? 0,
    },
  );
}

export function reopenAnswers(record: SessionRecord): SessionRecord {
  const gates = record.gates.map((gate) =>
    answerOf(gate)?.recoverable ? withAnswer(gate, (answer) => ({ ...answer, recoverable: null, attempts: 0 })) : gate,
  );
  return { ...record, gates };
}

function remember(record: SessionRecord, command: OpenTurn, turnId: string): SessionRecord["requests"] {
  if (command.requestId === null) return record.requests;
  const mark = {
    requestId: command.requestId,
    contentDigest: command.contentDigest,
    turnId,
    afterSeq: command.afterSeq,
  };
  return [...record.requests, mark].slice(-REQUESTS_KEPT);
}

function emptyRecord(command: OpenTurn, now: number): SessionRecord {
  return {
    format: RECORD_FORMAT,
    project: command.project,
    sessionId: command.sessionId,
    agent: command.agent,
    labels: {},
    config: command.config,
    secretNames: [],
    createdAt: now,
    updatedAt: now,
    epoch: 0,
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
    operations: [],
    answerCount: 0,
  };
}

/** C2: the agent's own session counts only while it is that of the latest turn; the new turn goes on with it. */
function keptSession({ agentSession, turn }: SessionRecord, turnId: string): SessionRecord["agentSession"] {
  return agentSession === null || agentSession.turnId !== turn?.turnId ? null : { id: agentSession.id, turnId };
}

function tellStarted(record: SessionRecord, now: number): SessionRecord {
  const { turn, process } = record;
  const tier = process === null ? "new" : "warm";
  return tell(record, now, `${turn?.turnId}.${startOf(record)}`, {
    type: "started",
    tier,
    coldReason: null,
    runner: record.owner?.runner ?? "",
  });
}

export function ready(held: SessionRecord, command: Ready, { now }: Moment): Decision<typeof DONE> {
  const { process, agentSessionId, coldReason, commandId } = command;
  const turnId = held.turn?.turnId ?? "";
  const started: SessionRecord = {
    ...held,
    process,
    coldReason,
    agentSession: agentSessionId === null ? null : { id: agentSessionId, turnId },
  };
  if (openTurn(held) === null) return write(started, DONE);
  const { tier } = process;
  const runner = held.owner?.runner ?? "";
  const told =
    commandId === null
      ? tell(started, now, `${turnId}.${startOf(started)}`, { type: "started", tier, coldReason, runner })
      : tellContinued(started, now, commandId, tier);
  return write(told, DONE);
}

/** C9, and C7's notes before the end. */
export function settlePrompt(held: SessionRecord, command: SettlePrompt, { now }: Moment): Decision<PromptSettled> {
  const turn = openTurn(held);
  if (turn === null || turn.turnId !== command.turnId || held.execution === null) return same({ kind: "over" });
  const delivered = held.gates.reduce(
    (record, gate) => (hasDisposition(gate, "sending") ? dispose(record, now, gate.gateId, DELIVERED) : record),
    held,
  );
  const agentSession = command.agentSessionId === null ? null : { id: command.agentSessionId, turnId: turn.turnId };
  const settled: SessionRecord = { ...delivered, agentSession };
  if (held.execution.state === "stopping") {
    return write(endTurn(settled, now, { ...CANCELLED, agentSession }), { kind: "ended", outcome: "cancelled" });
  }
  const due = dueNotes(settled, turn.turnId);
  if (due.length > 0) return tellNotes(settled, now, due);
  const { stopReason } = command;
  const ended = endTurn(settled, now, { ...PROMPT_OVER, outcome: "completed", stopReason, error: null, agentSession });
  return write(ended, { kind: "ended", outcome: "completed" });
}

function dueNotes(record: SessionRecord, turnId: string): readonly string[] {
  return record.tombstones
    .filter((tombstone) => tombstone.turnId === turnId)
    .map(dueNote)
    .filter((note) => note !== "");
}

function tellNotes(record: SessionRecord, now: number, notes: readonly string[]): Decision<PromptSettled> {
  const told = withoutNotes(settleGates(record, now, PROMPT_OVER));
  const next = nextExecution(told, "running");
  const execution = next.execution?.number ?? 0;
  return write(tellContinued(next, now, "", "warm"), { kind: "notes", execution, notes });
}
