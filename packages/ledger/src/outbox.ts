// From the record's outbox to the log (D14): whoever holds the epoch appends, in order, what the record says happened.
import type { EventLog, SessionKey, SessionRecord, StateEvent } from "@holdfast/pool";
import type { ContentBlock, ToolCall, TurnEvent } from "@holdfast/proto";
import { contentEvent, stateEvent } from "@holdfast/wire";
import type { Draft, Journal } from "./journal.ts";
import { eventsAfter, readCall } from "./read.ts";
import { UnfinishedCalls } from "./unfinished.ts";

/** Where the large parts of state events come from: the process that was there, or the log. */
export type OutboxSources = {
  /** The whole prompt of a turn; null: the preview in the record is all there is. */
  readonly prompt: (turnId: string) => readonly ContentBlock[] | null;
  /** The call that a gate asks about. */
  readonly call: (callSeq: number) => Promise<ToolCall | null>;
  /** What the turn that ends left unfinished; the record may be in a later turn by now. */
  readonly unfinished: (record: SessionRecord, turnId: string) => Promise<readonly ToolCall[]>;
};

/** For whoever was not there: everything is read back from the log. */
export function logSources(log: EventLog, key: SessionKey): OutboxSources {
  return {
    prompt: () => null,
    call: (callSeq) => readCall(log, key, callSeq),
    async unfinished(record, turnId) {
      const calls = new UnfinishedCalls();
      const after = record.turn?.turnId === turnId ? record.turn.afterSeq : 0;
      for await (const event of eventsAfter(log, key, after)) if (event.turnId === turnId) calls.note(event);
      return calls.closing(record, turnId);
    },
  };
}

/**
 * Appends the outbox's events that are not in the log yet; `known` are ids that are in for certain. Before a turn's `ended`
 * come the updates that close its tool calls (D16).
 */
export async function appendOutbox(
  journal: Journal,
  record: SessionRecord,
  sources: OutboxSources,
  known: ReadonlySet<string>,
): Promise<void> {
  for (const event of record.outbox) {
    if (known.has(event.id)) continue;
    const closing = event.tell.type === "ended" ? await closingDrafts(record, event, sources) : [];
    await journal.append([...closing, await stateDraft(record, event, sources)]);
  }
}

async function stateDraft(record: SessionRecord, event: StateEvent, sources: OutboxSources): Promise<Draft> {
  const { tell } = event;
  const whole: TurnEvent = stateEvent(event, {
    prompt: tell.type === "prompt" ? sources.prompt(event.turnId) : null,
    call: tell.type === "gate_opened" ? await sources.call(tell.gate.callSeq) : null,
    session: record,
  });
  return { id: event.id, event: whole };
}

async function closingDrafts(record: SessionRecord, ended: StateEvent, sources: OutboxSources): Promise<Draft[]> {
  const calls = await sources.unfinished(record, ended.turnId);
  return calls.map((call) => ({
    id: `call_closed:${ended.turnId}:${call.id}`,
    event: contentEvent(ended, { case: "toolCallUpdate", value: call }),
  }));
}
