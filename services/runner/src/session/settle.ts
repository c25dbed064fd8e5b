// A prompt settles (C9): the turn ends in one swap, or its denial notes go out as the next prompt of the same turn (C7).
import { create } from "@bufbuild/protobuf";
import { type ContentBlock, ContentBlockSchema } from "@holdfast/proto";
import type { PromptResult } from "../acp/agent.ts";
import { boundary } from "./content.ts";
import type { SessionHost } from "./host.ts";
import type { Live } from "./live.ts";
import { closeSlot } from "./loss.ts";
import { sendPrompt } from "./prompt.ts";

/** How long the settling swap is tried. Then the process is ended and the turn fails, once that can be recorded. */
const SETTLE_BUDGET_MS = 10_000;

export async function promptSettled(host: SessionHost, result: PromptResult): Promise<void> {
  const { live, turn } = host;
  if (live === null || turn === null || !live.prompting) return;
  const { instance } = live.agent;
  boundary(host, live);
  if (result.kind === "failed") {
    host.failure = { message: result.message, stderr: "" };
    closeSlot(host, instance, "prompt_failed");
    return;
  }
  live.prompting = false;
  closeQuestions(host, live);
  const { turnId } = turn;
  const { stopReason } = result;
  const settle = { type: "settle_prompt", turnId, stopReason, agentSessionId: live.agent.sessionId } as const;
  const changed = await host.change(settle, undefined, SETTLE_BUDGET_MS);
  if (changed.kind === "refused") {
    host.failure = { message: changed.refusal.message, stderr: "" };
    closeSlot(host, instance, "prompt_failed");
    return;
  }
  const settled = changed.result;
  const more = settled.kind === "notes";
  host.world.pool.step({ kind: "prompt_settled", key: host.slot, instance, history: null, more });
  if (settled.kind === "notes") {
    turn.execution = settled.execution;
    sendPrompt(host, settled.notes.map(textBlock));
    return;
  }
  host.turn = null;
}

/** A question that is still open when the prompt is over is dead (agents leave some behind). */
function closeQuestions(host: SessionHost, live: Live): void {
  for (const { askId } of live.questions.values()) {
    if (host.world.lease.mayWrite()) live.agent.answer(askId, { kind: "cancelled" });
  }
  live.questions.clear();
  live.written.clear();
}

function textBlock(text: string): ContentBlock {
  return create(ContentBlockSchema, { block: { case: "text", value: { text } } });
}
