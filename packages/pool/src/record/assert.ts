// The record's invariants (record.ts, R1 to R6), asserted on every write before it is made. A violation is our own bug, so it
// throws: nothing is written, and the message names the rule.
import { FINAL_DISPOSITIONS } from "../reasons.ts";
import { answerOf, isPending, openTurn, pendingGates, queuedAnswers } from "./moves.ts";
import type { CommittedAnswer, SessionRecord } from "./record.ts";

export class InvariantBroken extends Error {
  override readonly name = "InvariantBroken";
}

export function assertRecord(before: SessionRecord | null, after: SessionRecord): void {
  const broken = [...single(after), ...(before === null ? [] : between(before, after))];
  if (broken.length > 0) throw new InvariantBroken(`session ${after.sessionId}: ${broken.join("; ")}`);
}

function single(record: SessionRecord): string[] {
  const broken: string[] = [];
  const ids = [...record.gates, ...record.tombstones].map(({ gateId }) => gateId);
  if (new Set(ids).size !== ids.length) broken.push("R1: a gate stands twice");
  if (record.tombstones.some(({ state }) => state.kind === "answered" && !isFinal(state.answer))) {
    broken.push("R2: a closed gate's answer has no final disposition");
  }
  if (record.gates.some((gate) => answerOf(gate) !== null && isFinal(answerOf(gate) as CommittedAnswer))) {
    broken.push("R2: an answer is final and its gate is not closed");
  }
  if (openTurn(record) === null && (record.gates.length > 0 || record.cancel !== null)) {
    broken.push("R3: a turn has ended and something of it is still open");
  }
  const shouldPark = pendingGates(record).length > 0 && queuedAnswers(record).length === 0;
  const { execution } = record;
  if (openTurn(record) !== null && execution !== null && ["running", "parked"].includes(execution.state)) {
    if (shouldPark !== (execution.state === "parked"))
      broken.push(`R6: execution ${execution.number} is ${execution.state}`);
  }
  if (execution?.state === "stopping" && record.gates.some(isPending)) broken.push("D7: a gate is open while stopping");
  return broken;
}

function between(before: SessionRecord, after: SessionRecord): string[] {
  const broken: string[] = [];
  if (after.epoch < before.epoch) broken.push("R4: the epoch fell");
  if (JSON.stringify(before.owner) !== JSON.stringify(after.owner) && after.epoch === before.epoch) {
    broken.push("R4: the owner changed at the same epoch");
  }
  if ((after.execution?.number ?? 0) < (before.execution?.number ?? 0))
    broken.push("R5: an execution number came back");
  if (before.turn?.ending && after.turn?.turnId === before.turn.turnId) {
    if (JSON.stringify(after.turn.ending) !== JSON.stringify(before.turn.ending)) broken.push("R3: an outcome changed");
  }
  for (const tombstone of before.tombstones) {
    const now = after.tombstones.find(({ gateId }) => gateId === tombstone.gateId);
    if (now !== undefined && closing(now.state) !== closing(tombstone.state)) {
      broken.push(`R1: closed gate ${tombstone.gateId} changed`);
    }
  }
  for (const gate of before.gates) {
    const answer = answerOf(gate);
    if (answer === null) continue;
    const now = after.gates.find(({ gateId }) => gateId === gate.gateId);
    const kept = now === undefined ? buriedAnswer(after, gate.gateId) : answerOf(now);
    if (kept?.answerId !== answer.answerId || kept.optionId !== answer.optionId) {
      broken.push(`R1: the answer of gate ${gate.gateId} changed`);
    }
  }
  return broken;
}

function closing(state: SessionRecord["tombstones"][number]["state"]): string {
  return state.kind === "closed"
    ? `${state.why} ${state.supersededBy}`
    : `${state.answer.answerId} ${state.answer.optionId} ${JSON.stringify(state.answer.disposition)}`;
}

function buriedAnswer(record: SessionRecord, gateId: string): CommittedAnswer | null {
  const found = record.tombstones.find((tombstone) => tombstone.gateId === gateId);
  return found?.state.kind === "answered" ? found.state.answer : null;
}

function isFinal(answer: CommittedAnswer): boolean {
  return FINAL_DISPOSITIONS.includes(answer.disposition.kind);
}
