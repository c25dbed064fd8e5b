// What a gate is about, as one text: what a human approves, what the digest is made of, and what a stored answer may be
// applied to (C6). It holds the agent, the tool, the arguments, the diff and the directory; never a title, an id, or
// anything else that two different calls could share or one call could change.
//
// ACP does not say which MCP server a tool belongs to: agents that name their tools put it into the name.
//
// C1  Two calls have the same text only if they would do the same. Numbers that a double cannot hold are compared by their
//     digits: then the arguments stand in the text as they came, and another order of the same keys is another call.
// C2  A call that shows no arguments is not bindable: its text says too little to recognise it again.

import { canonicalJson, type Json } from "@holdfast/pool";
import type { ToolCall } from "@holdfast/proto";
import { hasLongNumbers } from "./long-numbers.ts";

/** `bytes`: the length of the text in UTF-8, for GATE_ARGUMENT_BYTES (B9). */
export type CanonicalCall = { readonly text: string; readonly bytes: number; readonly bindable: boolean };

/** `toolName`: the agent's own name of the tool, "" when it gave none. */
export function canonicalCall(agentName: string, directory: string, call: ToolCall, toolName = ""): CanonicalCall {
  const input = readInput(call.rawInputJson);
  const diff = call.diff.map(({ path, oldText, newText }) => ({ path, oldText, newText }));
  const text = canonicalJson({ agent: agentName, directory, tool: toolName, kind: call.kind, input, diff });
  return { text, bytes: Buffer.byteLength(text), bindable: input !== null || diff.length > 0 };
}

/** Null for no arguments, an empty object among them. */
function readInput(json: string): Json {
  if (json === "") return null;
  if (hasLongNumbers(json)) return { asWritten: json };
  const value = JSON.parse(json) as Json;
  return isEmpty(value) ? null : { value };
}

function isEmpty(value: Json): boolean {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}
