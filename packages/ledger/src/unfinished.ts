// Tool calls that a turn announced and did not finish get one durable update when it ends (D16), so that nothing shows as
// running for ever. What happened is never invented: a call whose gate never let it run was not executed; of any other
// nothing is known.
import { create } from "@bufbuild/protobuf";
import type { SessionRecord } from "@holdfast/pool";
import { type ToolCall, ToolCallSchema, ToolCallStatus, type TurnEvent } from "@holdfast/proto";

const OPEN: readonly ToolCallStatus[] = [
  ToolCallStatus.UNSPECIFIED,
  ToolCallStatus.PENDING,
  ToolCallStatus.IN_PROGRESS,
];

/** The calls of a turn that have no end yet, in the order of their announcement. */
export class UnfinishedCalls {
  private readonly calls = new Map<string, string>();

  note({ event }: Pick<TurnEvent, "event">): void {
    if (event.case !== "toolCall" && event.case !== "toolCallUpdate") return;
    const { id, status, title } = event.value;
    if (event.case === "toolCallUpdate" && status === ToolCallStatus.UNSPECIFIED) return;
    if (OPEN.includes(status)) this.calls.set(id, title || (this.calls.get(id) ?? ""));
    else this.calls.delete(id);
  }

  clear(): void {
    this.calls.clear();
  }

  /** The updates that close them, except those whose gate is still open. */
  closing(record: SessionRecord): readonly ToolCall[] {
    const waiting = new Set(record.gates.map(({ preview }) => preview.toolCallId));
    return [...this.calls.keys()]
      .filter((id) => !waiting.has(id))
      .map((id) => create(ToolCallSchema, { id, status: endOf(record, id) }));
  }
}

function endOf(record: SessionRecord, toolCallId: string): ToolCallStatus {
  const gate = record.tombstones.findLast(
    (tombstone) => tombstone.toolCallId === toolCallId && tombstone.turnId === record.turn?.turnId,
  );
  if (gate === undefined) return ToolCallStatus.OUTCOME_UNKNOWN;
  if (gate.state.kind === "closed") return ToolCallStatus.NOT_EXECUTED;
  const { verdict, disposition } = gate.state.answer;
  const neverAllowed = verdict === "reject" || disposition.kind === "moot";
  return neverAllowed ? ToolCallStatus.NOT_EXECUTED : ToolCallStatus.OUTCOME_UNKNOWN;
}
