// An answer is committed with its continue command in one swap (D4), or refused with nothing written. The checks run in the
// contract's order: idempotency key, gate known, gate state, digest, option; then whether the record has room for it.

import { ANSWER_ROOM_BYTES } from "../limits.ts";
import { refusal } from "../refusal.ts";
import { type AnswerReceipt, type Decision, type GiveAnswer, type Moment, refused, same, write } from "./command.ts";
import { answerOf, nextExecution, pendingGates, replaceGate, tell } from "./moves.ts";
import { resolveChoice, verdictOf } from "./option.ts";
import type { Answer, ClosedOption, CommittedAnswer, Gate, GateOption, SessionRecord } from "./record.ts";
import { gateClosed, gateUnknown, keyReused, noRoomForAnswer } from "./refusals.ts";
import { leastBytes, tooManyNotes } from "./size.ts";
import { reopenAnswers } from "./turn.ts";

type Answered = {
  readonly gateId: string;
  readonly turnId: string;
  readonly options: readonly ClosedOption[];
  readonly answer: CommittedAnswer & Pick<Answer, "recoverable">;
};

export function giveAnswer(held: SessionRecord, command: GiveAnswer, moment: Moment): Decision<AnswerReceipt> {
  const answered = allAnswers(held);
  const keyed = answered.find(({ answer }) => answer.idempotencyKey === command.idempotencyKey);
  if (command.idempotencyKey !== null && keyed !== undefined) {
    return keyed.answer.contentDigest === command.contentDigest
      ? duplicate(held, keyed)
      : refused(keyReused(held.sessionId, command.idempotencyKey));
  }
  const before = answered.find(({ gateId }) => gateId === command.gateId);
  if (before !== undefined) {
    const wanted = resolveChoice(before.options, command.choice);
    return wanted?.optionId === before.answer.optionId ? duplicate(held, before) : answeredDifferently(held, before);
  }
  const closed = held.tombstones.find(({ gateId }) => gateId === command.gateId);
  if (closed !== undefined) return refused(gateClosed(held.sessionId, closed));
  const gate = held.gates.find(({ gateId }) => gateId === command.gateId);
  if (gate === undefined) return refused(gateUnknown(held.sessionId, command.gateId));
  return answerPending(held, gate, command, moment);
}

function answerPending(held: SessionRecord, gate: Gate, command: GiveAnswer, { now }: Moment): Decision<AnswerReceipt> {
  const where = { session_id: held.sessionId, gate_id: gate.gateId };
  if (gate.expiresAt <= now) {
    return refused(
      refusal(
        "GATE_EXPIRED",
        `gate ${gate.gateId} of session ${held.sessionId} has expired`,
        "run the turn again",
        where,
      ),
    );
  }
  if (command.digest !== null && command.digest !== gate.digest) {
    return refused(
      refusal(
        "DIGEST_MISMATCH",
        `gate ${gate.gateId} of session ${held.sessionId} asks about another call than the one that was decided on`,
        "read the gate again and decide on what it shows",
        { ...where, digest: gate.digest },
      ),
    );
  }
  const option = resolveChoice(gate.options, command.choice);
  if (option === null) return refused(optionNotOffered(held, gate));
  const [record, given] = commit(held, gate, option, command, now);
  const hasNote = command.note !== "";
  if (leastBytes(record) > ANSWER_ROOM_BYTES || (hasNote && tooManyNotes(record))) {
    return refused(noRoomForAnswer(held, gate.gateId, hasNote));
  }
  return write(record, given);
}

function optionNotOffered(held: SessionRecord, gate: Gate) {
  const offered = gate.options.map(({ optionId, kind }) => `${optionId} (${kind})`).join(", ");
  return refusal(
    "OPTION_NOT_OFFERED",
    `gate ${gate.gateId} of session ${held.sessionId} does not offer exactly one such option; it offers ${offered}`,
    "name one of the offered option ids",
    {
      session_id: held.sessionId,
      gate_id: gate.gateId,
      options: gate.options.map(({ optionId }) => optionId).join(","),
    },
  );
}

/** D4: a parked execution ends continued and a queued one carries the answer; else the answer joins the current one. */
function commit(
  held: SessionRecord,
  gate: Gate,
  option: GateOption,
  command: GiveAnswer,
  now: number,
): [SessionRecord, AnswerReceipt] {
  const verdict = verdictOf(option);
  const answer: Answer = {
    answerId: command.answerId,
    commandId: command.commandId,
    optionId: option.optionId,
    verdict,
    principal: command.principal,
    channel: command.channel,
    at: now,
    note: verdict === "reject" ? command.note : "",
    idempotencyKey: command.idempotencyKey,
    contentDigest: command.contentDigest,
    order: held.answerCount + 1,
    traceparent: command.traceparent,
    execution: held.execution?.number ?? 0,
    attempts: held.owner === null ? 0 : 1,
    recoverable: null,
    admitted: null,
    disposition: { kind: "queued" },
  };
  const answered = replaceGate(held, gate.gateId, (open) => ({ ...open, state: { kind: "answered", answer } }));
  const counted: SessionRecord = { ...answered, answerCount: answer.order };
  const carried = held.execution?.state === "parked" ? nextExecution(counted, "queued") : counted;
  const told = tell(carried, now, gate.gateId, {
    type: "gate_answered",
    gateId: gate.gateId,
    answerId: answer.answerId,
    verdict,
    optionId: option.optionId,
  });
  const pinned = { ...answer, execution: carried.execution?.number ?? 0 };
  return [
    told,
    receipt(told, { gateId: gate.gateId, turnId: gate.turnId, options: gate.options, answer: pinned }, false),
  ];
}

function allAnswers(held: SessionRecord): readonly Answered[] {
  const open = held.gates.flatMap((gate) => {
    const answer = answerOf(gate);
    return answer === null ? [] : [{ gateId: gate.gateId, turnId: gate.turnId, options: gate.options, answer }];
  });
  const closed = held.tombstones.flatMap(({ gateId, turnId, options, state }) =>
    state.kind === "answered" ? [{ gateId, turnId, options, answer: { ...state.answer, recoverable: null } }] : [],
  );
  return [...closed, ...open];
}

/** The same decision again: the same ids, what has become of it, and another try if its attempts were spent (D8). */
function duplicate(held: SessionRecord, answered: Answered): Decision<AnswerReceipt> {
  if (answered.answer.recoverable === null || held.execution?.state === "stopping") {
    return same(receipt(held, answered, true));
  }
  const again = nextExecution(reopenAnswers(held), "queued");
  const answer = { ...answered.answer, recoverable: null, execution: again.execution?.number ?? 0 };
  return write(again, receipt(again, { ...answered, answer }, true));
}

function answeredDifferently(held: SessionRecord, { gateId, answer }: Answered): Decision<AnswerReceipt> {
  return refused(
    refusal(
      "GATE_ANSWERED_DIFFERENTLY",
      `gate ${gateId} of session ${held.sessionId} was already answered with option ${answer.optionId}`,
      "nothing to do: the first answer stands",
      {
        session_id: held.sessionId,
        gate_id: gateId,
        answer_id: answer.answerId,
        option_id: answer.optionId,
        verdict: answer.verdict,
        principal: answer.principal,
      },
    ),
  );
}

function receipt(held: SessionRecord, { turnId, answer }: Answered, again: boolean): AnswerReceipt {
  return {
    answerId: answer.answerId,
    commandId: answer.commandId,
    turnId,
    execution: answer.execution,
    duplicate: again,
    disposition: answer.disposition,
    recoverable: answer.recoverable,
    optionId: answer.optionId,
    openGateIds: pendingGates(held).map(({ gateId }) => gateId),
  };
}
