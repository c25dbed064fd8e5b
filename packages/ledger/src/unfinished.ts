// Tool calls that a turn announced and did not finish get one durable update when it ends (D16), so that nothing shows as
// running for ever. What happened is never invented: a call none of whose gates let it run was not executed; of any other
// nothing is known.
import { create } from "@bufbuild/protobuf";
import type { SessionRecord, Tombstone } from "@holdfast/pool";
import { type ToolCall, ToolCallSchema, ToolCallStatus, type TurnEvent } from "@holdfast/proto";

const OPEN: readonly ToolCallStatus[] = [
  ToolCallStatus.UNSPECIFIED,
  ToolCallStatus.PENDING,
  ToolCallStatus.IN_PROGRESS,
];

/** The calls of a turn that have no end yet, in the order of their announcement. */
export class UnfinishedCalls {
  private readonly ids = new Set<string>();

  note({ event }: Pick<TurnEvent, "event">): void {
    if (event.case !== "toolCall" && event.case !== "toolCallUpdate") return;
    const { id, status } = event.value;
    if (event.case === "toolCallUpdate" && status === ToolCallStatus.UNSPECIFIED) return;
    if (OPEN.includes(status)) this.ids.add(id);
    else this.ids.delete(id);
  }

  clear(): void {
    this.ids.clear();
  }

  /** The updates that close them, except those whose gate is still open. */
  closing(record: SessionRecord, turnId: string): readonly ToolCall[] {
    const gates = record.gates.filter((gate) => gate.turnId === turnId);
    const waiting = new Set(gates.map(({ preview }) => preview.toolCallId));
    return [...this.ids]
      .filter((id) => !waiting.has(id))
      .map((id) => create(ToolCallSchema, { id, status: endOf(record, turnId, id) }));
  }
}

function endOf(record: SessionRecord, turnId: string, toolCallId: string): ToolCallStatus {
  const gates = record.tombstones.filter((gate) => gate.toolCallId === toolCallId && gate.turnId === turnId);
  const neverRan = gates.length > 0 && gates.every(keptItFromRunning);
  return neverRan ? ToolCallStatus.NOT_EXECUTED : ToolCallStatus.OUTCOME_UNKNOWN;
}

function keptItFromRunning({ state }: Tombstone): boolean {
  return state.kind === "closed" || state.answer.verdict === "reject" || state.answer.disposition.kind === "moot";
}
