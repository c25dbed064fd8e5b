// A committed answer on its way to an agent (D8, D9, D12): counted before it is sent, admitted before it is written, and
// given a final disposition by what the agent reports.
import { DELIVERY_ATTEMPTS } from "../limits.ts";
import {
  type Admission,
  type Admit,
  type Attempt,
  type AttemptDecision,
  type Decision,
  DONE,
  type HandBack,
  type Moment,
  type ReportAnswer,
  type ReturnAttempt,
  refused,
  same,
  write,
} from "./command.ts";
import {
  APPLIED,
  answerOf,
  dispose,
  hasDisposition,
  moot,
  openTurn,
  park,
  QUEUED,
  repin,
  replaceGate,
  running,
  SENDING,
  STORED,
  tell,
  tellContinued,
  withAnswer,
} from "./moves.ts";
import type { Answer, Gate, SessionRecord } from "./record.ts";
import { executionEnded } from "./refusals.ts";

export function attempt(held: SessionRecord, { commandId }: Attempt, { now }: Moment): Decision<AttemptDecision> {
  if (held.cancel?.commandId === commandId) {
    const cancel = { ...held.cancel, attempts: held.cancel.attempts + 1 };
    return write({ ...held, cancel }, { kind: "send", execution: cancel.execution });
  }
  const gate = gateOfCommand(held, commandId);
  const answer = gate === null ? null : answerOf(gate);
  if (gate === null || answer === null || answer.disposition.kind !== "queued") return same({ kind: "settled" });
  if (answer.recoverable !== null) return same({ kind: "spent" });
  if (answer.attempts >= DELIVERY_ATTEMPTS) {
    const reason = "attempts_spent";
    const spent = changeAnswer(held, gate, { recoverable: reason });
    return write(tell(spent, now, `${commandId}.${answer.execution}`, { type: "recoverable", commandId, reason }), {
      kind: "spent",
    });
  }
  return write(changeAnswer(held, gate, { attempts: answer.attempts + 1 }), {
    kind: "send",
    execution: answer.execution,
  });
}

export function returnAttempt(held: SessionRecord, { commandId }: ReturnAttempt): Decision<typeof DONE> {
  const gate = gateOfCommand(held, commandId);
  const answer = gate === null ? null : answerOf(gate);
  if (gate === null || answer === null || answer.disposition.kind !== "queued" || answer.attempts === 0)
    return same(DONE);
  return write(changeAnswer(held, gate, { attempts: answer.attempts - 1 }), DONE);
}

export function admit(held: SessionRecord, command: Admit, { now }: Moment): Decision<Admission> {
  const gate = gateOfCommand(held, command.commandId);
  const answer = gate === null ? null : answerOf(gate);
  if (gate === null || answer === null) return admitAgain(held, command.commandId);
  if (answer.disposition.kind !== "queued") return same({ kind: "already", disposition: answer.disposition });
  const execution = held.execution;
  if (openTurn(held) === null || execution === null || execution.number !== command.execution) {
    return refused(executionEnded(held, `execution ${command.execution}`));
  }
  if (execution.state === "stopping")
    return refused(executionEnded(held, `execution ${command.execution}, being stopped,`));
  const admitted = changeAnswer(running(held), gate, { admitted: command.delivery, recoverable: null });
  return admitInto(admitted, gate, answer, command, now, execution.state === "queued");
}

/** The command of a gate that is closed by now. */
function admitAgain(held: SessionRecord, commandId: string): Decision<Admission> {
  for (const { state } of held.tombstones) {
    if (state.kind === "answered" && state.answer.commandId === commandId) {
      return same({ kind: "already", disposition: state.answer.disposition });
    }
  }
  return refused(executionEnded(held, `command ${commandId}, which the record does not hold,`));
}

function admitInto(
  admitted: SessionRecord,
  gate: Gate,
  answer: Answer,
  command: Admit,
  now: number,
  wasQueued: boolean,
): Decision<Admission> {
  const { gateId } = gate;
  const { optionId, verdict, commandId } = answer;
  switch (command.slot) {
    case "gate_open": {
      const sending = park(dispose(admitted, now, gateId, SENDING), now);
      const told = wasQueued ? tellContinued(sending, now, commandId, "warm") : sending;
      return write(told, { kind: "write", gateId, optionId, verdict });
    }
    case "gate_gone": {
      const disposition = moot("withdrawn");
      return write(park(dispose(admitted, now, gateId, disposition), now), { kind: "moot", disposition });
    }
    case "process_gone": {
      const gone = admitted.gates.filter(
        (held) => held.gateId === gateId || (!held.warm && hasDisposition(held, "queued")),
      );
      const stored = park(
        gone.reduce((record, held) => dispose(record, now, held.gateId, STORED), admitted),
        now,
      );
      const told = wasQueued && stored.process !== null ? tellContinued(stored, now, commandId, "warm") : stored;
      return write(told, { kind: "cold", gateId });
    }
  }
}

export function handBack(held: SessionRecord, { gateId }: HandBack, { now }: Moment): Decision<typeof DONE> {
  const gate = held.gates.find((known) => known.gateId === gateId);
  if (gate === undefined || !hasDisposition(gate, "sending")) return same(DONE);
  if (held.execution?.state === "stopping") return write(dispose(held, now, gateId, moot("cancelled")), DONE);
  const queued = replaceGate(held, gateId, (sent) =>
    withAnswer(sent, (answer) => ({ ...answer, disposition: QUEUED, admitted: null })),
  );
  return write(park(repin(queued), now), DONE);
}

export function reportAnswer(held: SessionRecord, { gateId }: ReportAnswer, { now }: Moment): Decision<typeof DONE> {
  const gate = held.gates.find((known) => known.gateId === gateId);
  if (gate === undefined || !hasDisposition(gate, "sending")) return same(DONE);
  return write(park(dispose(held, now, gateId, APPLIED), now), DONE);
}

function gateOfCommand(held: SessionRecord, commandId: string): Gate | null {
  return held.gates.find((gate) => answerOf(gate)?.commandId === commandId) ?? null;
}

function changeAnswer(held: SessionRecord, gate: Gate, change: Partial<Answer>): SessionRecord {
  return replaceGate(held, gate.gateId, (known) => withAnswer(known, (answer) => ({ ...answer, ...change })));
}
