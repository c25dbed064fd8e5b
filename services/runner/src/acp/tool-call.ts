// Tool calls, from ACP's shape to the contract's.
//
// T1  Of an update, what cannot be read is left out and marked: the rest is still worth telling.
// T2  Of a gate, everything must be readable: nobody approves what cannot be shown, so such a request is refused (P5).

import { create } from "@bufbuild/protobuf";
import {
  type ContentBlock,
  type FileDiff,
  FileDiffSchema,
  type Location,
  LocationSchema,
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
} from "@holdfast/proto";
import type { z } from "zod";
import { omitted, toBlock } from "./content.ts";
import { writeJson } from "./json.ts";
import { locationShape, type toolCallShape, toolContentShape } from "./shapes.ts";

type Said = z.output<typeof toolCallShape>;

const STATUSES: Readonly<Record<string, ToolCallStatus>> = {
  pending: ToolCallStatus.PENDING,
  in_progress: ToolCallStatus.IN_PROGRESS,
  completed: ToolCallStatus.COMPLETED,
  failed: ToolCallStatus.FAILED,
};

/** For an announcement or an update (T1). */
export function tolerantToolCall(said: Said): ToolCall {
  const parts = (said.content ?? []).map(readPart);
  const [input, output] = [jsonOf(said.rawInput), jsonOf(said.rawOutput)];
  const truncated = parts.includes(null) || input === null || output === null;
  return toToolCall(
    said,
    parts.map((part) => part ?? unreadable()),
    input ?? "",
    output ?? "",
    truncated,
  );
}

/** For a gate (T2): null when something of the call cannot be read. */
export function exactToolCall(said: Said): ToolCall | null {
  const parts = (said.content ?? []).map(readPart);
  const whole = parts.filter((part) => part !== null);
  const [input, output] = [jsonOf(said.rawInput), jsonOf(said.rawOutput)];
  if (whole.length < parts.length || input === null || output === null) return null;
  return toToolCall(said, whole, input, output, false);
}

function toToolCall(said: Said, parts: readonly Part[], input: string, output: string, truncated: boolean): ToolCall {
  return create(ToolCallSchema, {
    id: said.toolCallId,
    title: said.title ?? "",
    kind: said.kind ?? "",
    status: STATUSES[said.status ?? ""] ?? ToolCallStatus.UNSPECIFIED,
    rawInputJson: input,
    rawOutputJson: output,
    content: parts.flatMap((part) => ("block" in part ? [part.block] : [])),
    diff: parts.flatMap((part) => ("diff" in part ? [part.diff] : [])),
    locations: (said.locations ?? []).flatMap(readLocation),
    truncated,
  });
}

type Part = { readonly block: ContentBlock } | { readonly diff: FileDiff };

function readPart(value: unknown): Part | null {
  const parsed = toolContentShape.safeParse(value);
  if (!parsed.success) return null;
  const part = parsed.data;
  switch (part.type) {
    case "content":
      return { block: toBlock(part.content) };
    case "diff": {
      const { path, oldText = "", newText } = part;
      return { diff: create(FileDiffSchema, { path, oldText, newText }) };
    }
    case "terminal":
      // Terminals are not offered, so there is nothing behind the id.
      return { block: omitted({ kind: "terminal", name: part.terminalId, mimeType: "", bytes: new Uint8Array() }) };
  }
}

function unreadable(): Part {
  return { block: omitted({ kind: "unreadable", name: "", mimeType: "", bytes: new Uint8Array() }) };
}

/** Places are for people; one that cannot be read is no loss. */
function readLocation(value: unknown): readonly Location[] {
  const parsed = locationShape.safeParse(value);
  return parsed.success ? [create(LocationSchema, { path: parsed.data.path, line: parsed.data.line ?? 0 })] : [];
}

/** "" for nothing, null for what cannot be written. */
function jsonOf(value: unknown): string | null {
  return value === undefined || value === null ? "" : writeJson(value);
}
