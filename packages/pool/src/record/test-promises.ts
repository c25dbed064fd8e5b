// For tests only: what has to be true of a session whatever happens to it. A Witness watches every decision, remembers what
// the record may forget, and throws at the first broken promise, naming the rule.
import { OPERATIONS_KEPT } from "../limits.ts";
import { FINAL_DISPOSITIONS } from "../reasons.ts";
import type { Decision } from "./command.ts";
import { answerOf, isPending, openTurn, pendingGates, queuedAnswers } from "./moves.ts";
import type { CommittedAnswer, SessionRecord } from "./record.ts";
import { gateState, type Ledger } from "./test-record.ts";
import type { Move } from "./test-walk.ts";

class PromiseBroken extends Error {
  override readonly name = "PromiseBroken";
}

type Committed = { readonly gateId: string; readonly optionId: string; disposition: string; sends: number };

export class Witness {
  /** Everything the walk has come across: dispositions, outcomes, reasons, refusals. */
  readonly seen = new Set<string>();
  readonly #answers = new Map<string, Committed>();
  readonly #outcomes = new Map<string, string>();
  readonly #closed = new Map<string, string>();
  readonly #events = new Set<string>();
  readonly #stopped = new Set<string>();

  watch(before: SessionRecord | null, move: Move, decision: Decision<unknown>, ledger: Ledger): void {
    this.seen.add(decision.kind === "refused" ? decision.refusal.reason : decision.kind);
    if (decision.kind !== "write") {
      hold(ledger.held === before, "P4", "a refusal or a repetition changed the record");
      return;
    }
    const { record } = decision;
    this.#authority(before, move, record);
    this.#turns(before, move, record);
    matched(before, move, decision.result);
    this.#gates(record);
    this.#disposed(move, record);
    this.#events_(ledger);
    shape(record);
  }

  /** P1, R4: an old epoch writes nothing; owner and epoch change together; every write is recognised by its operation. */
  #authority(before: SessionRecord | null, { by }: Move, after: SessionRecord): void {
    if (by.kind === "owner") {
      hold(before?.epoch === by.epoch && before.owner?.incarnation === by.incarnation, "P1", "a former owner wrote");
    }
    const epoch = before?.epoch ?? 0;
    const changed = JSON.stringify(before?.owner ?? null) !== JSON.stringify(after.owner);
    hold(after.epoch >= epoch, "R4", "the epoch fell");
    hold(changed === after.epoch > epoch, "R4", "owner and epoch did not change together");
    hold(!changed || !before?.owner || after.owner === null, "E1", "an owner was put in another's place");
    hold(after.operations.length <= OPERATIONS_KEPT, "D1", "more operations than are kept");
    hold(new Set(after.operations).size === after.operations.length, "D1", "one operation is in twice");
  }

  /** P6: one outcome a turn, set once; a committed Stop makes it CANCELLED, and no answer gets in after it. */
  #turns(before: SessionRecord | null, { command }: Move, after: SessionRecord): void {
    const open = before === null ? null : openTurn(before);
    if (command.type === "answer" && open !== null) {
      hold(!this.#stopped.has(open.turnId), "P6", "an answer was accepted after a Stop");
    }
    if (command.type === "stop" && open !== null) this.#stopped.add(open.turnId);
    const { turn } = after;
    if (turn?.ending == null) return;
    const { outcome } = turn.ending;
    hold((this.#outcomes.get(turn.turnId) ?? outcome) === outcome, "P6", "an outcome changed");
    if (this.#stopped.has(turn.turnId)) hold(outcome === "cancelled", "D6", `a stopped turn ended ${outcome}`);
    this.#outcomes.set(turn.turnId, outcome);
    this.seen.add(outcome).add(turn.ending.stopReason);
  }

  /** R1: what closed stays as it closed; nothing that was ever open vanishes. */
  #gates(record: SessionRecord): void {
    for (const [gateId, state] of this.#closed) {
      hold(
        gateState(record, gateId) === state,
        "R1",
        `gate ${gateId} closed ${state} and is ${gateState(record, gateId)}`,
      );
    }
    for (const { gateId } of record.tombstones) {
      this.#closed.set(gateId, gateState(record, gateId));
      this.seen.add(gateState(record, gateId));
    }
  }

  /** P2, P3, D12, D13: each committed answer is there, once, unchanged, and its disposition moves as it may. */
  #disposed({ command }: Move, record: SessionRecord): void {
    const held = answers(record);
    hold(new Set(held.map(([, { answerId }]) => answerId)).size === held.length, "P3", "an answer stands twice");
    hold(
      [...this.#answers.keys()].every((id) => held.some(([, { answerId }]) => answerId === id)),
      "P3",
      "an answer is lost",
    );
    for (const [gateId, { answerId, optionId, disposition }] of held) {
      const known = this.#answers.get(answerId) ?? { gateId, optionId, disposition: "none", sends: 0 };
      hold(known.gateId === gateId && known.optionId === optionId, "P2", `answer ${answerId} changed`);
      const now = disposition.kind === "moot" ? `moot:${disposition.why}` : disposition.kind;
      this.seen.add(now);
      if (now !== known.disposition) {
        hold(mayFollow(known.disposition, disposition.kind, command.type), "D12", `${known.disposition} became ${now}`);
        if (now === "sending") known.sends += 1;
        if (known.disposition === "sending" && command.type === "hand_back") known.sends -= 1;
        hold(known.sends <= 1, "P2", `answer ${answerId} was written to an agent twice`);
      }
      this.#answers.set(answerId, { ...known, disposition: now });
    }
  }

  /** D14: each event is told once, under an id of its own; a turn that has ended says so once. */
  #events_(ledger: Ledger): void {
    for (const { id } of ledger.told.slice(this.#events.size)) {
      hold(!this.#events.has(id), "D14", `event ${id} is told twice`);
      this.#events.add(id);
    }
    hold(
      ledger.events("ended").length === this.#outcomes.size,
      "D14",
      "`ended` is not told once for each turn that ended",
    );
    hold(ledger.events("gate_answered").length === this.#answers.size, "D14", "an answer is not told");
  }
}

/** C6, A7: what is applied to a call asked again was decided on that very call, and is offered by it. */
function matched(before: SessionRecord | null, { command }: Move, result: unknown): void {
  const gate = before?.gates.find(({ gateId }) => gateId === (result as { readonly gateId?: string }).gateId);
  if (command.type !== "open_gate" || gate === undefined) return;
  hold(gate.digest === command.digest && gate.bindable && command.bindable, "C6", "an answer for another call applies");
  hold(answerOf(gate)?.disposition.kind === "stored", "C6", "an answer that is not stored applies");
  const offered = command.options.some(({ optionId }) => optionId === answerOf(gate)?.optionId);
  hold(offered, "A7", "an option applies that is not offered");
}

function answers(record: SessionRecord): [gateId: string, answer: CommittedAnswer][] {
  return [...record.gates, ...record.tombstones].flatMap(({ gateId, state }): [string, CommittedAnswer][] =>
    state.kind === "answered" ? [[gateId, state.answer]] : [],
  );
}

const NEXT: Readonly<Record<string, readonly string[]>> = {
  none: ["queued"],
  queued: ["stored", "sending", "moot"],
  stored: ["queued", "sending", "moot"],
  sending: ["applied", "delivered", "uncertain"],
};

/** Only a write that was not made brings an answer back from sending, and under a Stop it is moot then (D9). */
function mayFollow(from: string, to: string, command: string): boolean {
  if (from === "sending" && command === "hand_back") return to === "queued" || to === "moot";
  return NEXT[from]?.includes(to) ?? false;
}

/** What must hold of any record by itself. */
function shape(record: SessionRecord): void {
  const { execution, gates, owner, process } = record;
  const turn = openTurn(record);
  const queued = queuedAnswers(record);
  if (turn === null) hold(gates.length === 0 && record.cancel === null, "D16", "something of an ended turn is open");
  for (const gate of gates) {
    const answer = answerOf(gate);
    const kind = answer?.disposition.kind ?? "pending";
    hold(gate.turnId === turn?.turnId, "D16", `gate ${gate.gateId} is open in another turn`);
    hold(!FINAL_DISPOSITIONS.some((final) => final === kind), "R2", "a settled gate is still open");
    hold(owner !== null || (kind !== "sending" && kind !== "stored"), "D13", `${kind} without an owner`);
    hold(kind !== "stored" || !gate.warm, "D9", "stored though its gate is open in a live process");
    hold(!gate.warm || process !== null || owner !== null, "A20", "warm without a process");
    hold(answer?.recoverable == null || kind === "queued", "D6", `recoverable and ${kind}`);
  }
  hold(owner !== null || process === null, "E1", "a process that nobody owns");
  if (turn === null || execution === null) return;
  const shouldPark = pendingGates(record).length > 0 && queued.length === 0;
  hold(
    (execution.state === "stopping") === (record.cancel !== null),
    "D7",
    "stopping and its cancel do not go together",
  );
  if (execution.state === "stopping") {
    hold(!gates.some(isPending) && queued.length === 0, "D7", "an open gate or a queued answer meets stopping");
    hold(owner !== null, "D7", "stopping without an owner");
    return;
  }
  hold(shouldPark === (execution.state === "parked"), "R6", `${execution.state}, and should park is ${shouldPark}`);
  hold((execution.state === "parked") === (execution.parkedAt !== null), "D4", "parked without a time, or the reverse");
  hold(execution.state !== "queued" || queued.length > 0, "D4", "queued without an answer to wait for");
  hold(
    queued.every((answer) => answer.execution === execution.number),
    "D4",
    "a queued answer is pinned to the past",
  );
  if (owner === null)
    hold(["queued", "parked"].includes(execution.state), "D10", `${execution.state} without an owner`);
}

function hold(kept: boolean, rule: string, what: string): void {
  if (!kept) throw new PromiseBroken(`${rule}: ${what}`);
}
