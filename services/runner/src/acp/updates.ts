// Session updates, from ACP's shape to the contract's events. What the contract has no case for, and what cannot be read
// as what it says it is, is told as it came.

import { create } from "@bufbuild/protobuf";
import { DeltaSchema, PlanSchema, RawSchema, UsageSchema } from "@holdfast/proto";
import type { ContentEvent } from "./agent.ts";
import { toBlock } from "./content.ts";
import { writeJson } from "./json.ts";
import { chunkShape, planShape, toolCallShape, usageUpdateShape } from "./shapes.ts";
import { tolerantToolCall } from "./tool-call.ts";

/** Longest update that is told as it came. */
export const RAW_BYTES = 64 * 1024;

export type Update = { readonly sessionUpdate: string; readonly [field: string]: unknown };

/** Null for an update that is neither known nor short enough to be told as it came. */
export function toContentEvent(update: Update): ContentEvent | null {
  return readKnown(update) ?? readRaw(update);
}

function readKnown(update: Update): ContentEvent | null {
  switch (update.sessionUpdate) {
    case "agent_message_chunk":
      return readChunk("messageDelta", update);
    case "agent_thought_chunk":
      return readChunk("thoughtDelta", update);
    case "tool_call":
      return readToolCall("toolCall", update);
    case "tool_call_update":
      return readToolCall("toolCallUpdate", update);
    case "plan":
      return readPlan(update);
    case "usage_update":
      return readUsage(update);
    default:
      return null;
  }
}

function readChunk(name: "messageDelta" | "thoughtDelta", update: Update): ContentEvent | null {
  const parsed = chunkShape.safeParse(update);
  if (!parsed.success) return null;
  return { case: name, value: create(DeltaSchema, { content: toBlock(parsed.data.content) }) };
}

function readToolCall(name: "toolCall" | "toolCallUpdate", update: Update): ContentEvent | null {
  const parsed = toolCallShape.safeParse(update);
  return parsed.success ? { case: name, value: tolerantToolCall(parsed.data) } : null;
}

function readPlan(update: Update): ContentEvent | null {
  const parsed = planShape.safeParse(update);
  if (!parsed.success) return null;
  const entries = parsed.data.entries.map(({ content, priority = "", status = "" }) => ({ content, priority, status }));
  return { case: "plan", value: create(PlanSchema, { entries }) };
}

function readUsage(update: Update): ContentEvent | null {
  const parsed = usageUpdateShape.safeParse(update);
  if (!parsed.success) return null;
  return { case: "usage", value: create(UsageSchema, { totalTokens: BigInt(parsed.data.used) }) };
}

function readRaw(update: Update): ContentEvent | null {
  const json = writeJson(update);
  if (json === null || Buffer.byteLength(json) > RAW_BYTES) return null;
  return { case: "raw", value: create(RawSchema, { json }) };
}
