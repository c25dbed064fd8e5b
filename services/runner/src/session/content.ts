// Content of the running turn: pieces of messages are live, everything else is kept in the log.
import { create } from "@bufbuild/protobuf";
import { RawSchema, type ToolCall, ToolCallStatus } from "@holdfast/proto";
import type { ContentEvent } from "../acp/agent.ts";
import { mergeCall } from "../call/merge.ts";
import type { SessionHost } from "./host.ts";
import { type Live, OPEN_CALLS } from "./live.ts";
import { closeSlot } from "./loss.ts";
import { blockBytes } from "./message.ts";

/** The agent reports on a call: it began, or is over. */
const REPORTS: readonly ToolCallStatus[] = [
  ToolCallStatus.IN_PROGRESS,
  ToolCallStatus.COMPLETED,
  ToolCallStatus.FAILED,
];

export async function contentArrived(host: SessionHost, event: ContentEvent): Promise<void> {
  const { live } = host;
  if (live === null || !live.prompting || host.turn === null) {
    host.world.log.debug("agent.noise", { reason: `between_turns:${event.case}`, ...host.named });
    return;
  }
  live.shown = true;
  switch (event.case) {
    case "messageDelta":
    case "thoughtDelta":
      return spoke(host, live, event);
    case "toolCall":
    case "toolCallUpdate":
      return worked(host, live, event.case, event.value);
    case "plan":
    case "usage":
    case "raw":
      host.keep(event);
  }
}

type Piece = Extract<ContentEvent, { case: "messageDelta" | "thoughtDelta" }>;

async function spoke(host: SessionHost, live: Live, piece: Piece): Promise<void> {
  const block = piece.value.content;
  if (block === undefined) return;
  const complete = live.message.add(piece.case === "messageDelta" ? "message" : "thought", block);
  for (const spoken of complete) host.keep(spoken);
  await host.flush();
  host.say(piece, blockBytes(block));
}

/** What was said so far is whole: it goes into the log before what comes next. */
export function boundary(host: SessionHost, live: Live): void {
  const complete = live.message.take();
  if (complete !== null) host.keep(complete);
}

async function worked(
  host: SessionHost,
  live: Live,
  kind: "toolCall" | "toolCallUpdate",
  said: ToolCall,
): Promise<void> {
  boundary(host, live);
  const merged = mergeCall(live.calls.get(said.id), said);
  if (!live.remember(merged)) return tooManyCalls(host, live);
  const event = kind === "toolCall" ? ({ case: kind, value: merged } as const) : ({ case: kind, value: said } as const);
  live.unfinished.note({ event });
  host.keep(event);
  host.observer.tool(merged);
  const gateId = live.written.get(said.id);
  if (gateId !== undefined && REPORTS.includes(said.status)) await reported(host, live, said.id, gateId);
}

/** An agent that never finishes what it announces (P7). */
function tooManyCalls(host: SessionHost, live: Live): void {
  host.failure = { message: `the agent has more than ${OPEN_CALLS} tool calls open`, stderr: "" };
  closeSlot(host, live.agent.instance, "prompt_failed");
}

/** D12: the agent reported on the call that an answer decided. */
async function reported(host: SessionHost, live: Live, toolCallId: string, gateId: string): Promise<void> {
  live.written.delete(toolCallId);
  const changed = await host.change({ type: "report_answer", gateId });
  if (changed.kind === "refused") {
    host.world.log.warn("store.unavailable", { reason: changed.refusal.reason, gate: gateId, ...host.named });
    live.written.set(toolCallId, gateId);
    return;
  }
  host.world.pool.step({ kind: "answer_reported", key: host.slot, instance: live.agent.instance, gateId });
}

export function lineDropped(host: SessionHost, bytes: number): void {
  host.world.log.warn("agent.noise", { reason: "line_too_long", bytes, ...host.named });
  if (host.live?.prompting) host.keep(droppedEvent(bytes));
}

function droppedEvent(bytes: number) {
  return {
    case: "raw" as const,
    value: create(RawSchema, { json: JSON.stringify({ holdfast: "line_dropped", bytes }) }),
  };
}
