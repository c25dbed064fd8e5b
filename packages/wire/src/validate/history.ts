// The caller's transcript: at most 1 MiB, measured as it came.
import { toBinary } from "@bufbuild/protobuf";
import { type HistoryMessage, HistoryMessageSchema } from "@holdfast/proto";
import { type RoleName, roles } from "../enums/request.ts";
import { type PlainBlock, toPlainBlock } from "../messages/content.ts";
import { checkBlocks } from "./content.ts";
import { HISTORY_BYTES, MINTED_ID_CHARACTERS } from "./limits.ts";
import { checkText } from "./text.ts";
import type { Violations } from "./violations.ts";

export type PlainHistoryMessage = {
  readonly role: RoleName;
  readonly content: readonly PlainBlock[];
  readonly toolCallIds: readonly string[];
};

export function checkHistory(found: Violations, field: string, history: readonly HistoryMessage[]): void {
  let bytes = 0;
  for (const message of history) bytes += toBinary(HistoryMessageSchema, message).byteLength;
  if (!found.check(bytes <= HISTORY_BYTES, field, `is larger than ${HISTORY_BYTES} bytes`)) return;
  for (const [index, message] of history.entries()) {
    const at = `${field}[${index}]`;
    found.check(roles.fromWire(message.role) !== null, `${at}.role`, `is not one of ${roles.names.join(", ")}`);
    checkBlocks(found, `${at}.content`, message.content);
    for (const [position, id] of message.toolCallIds.entries()) {
      checkText(found, `${at}.tool_call_ids[${position}]`, id, MINTED_ID_CHARACTERS);
    }
  }
}

/** Null when the caller sent none: then its history is not compared (A13). */
export function plainHistory(history: readonly HistoryMessage[]): readonly PlainHistoryMessage[] | null {
  if (history.length === 0) return null;
  return history.map((message) => ({
    role: roles.fromWire(message.role) ?? "user",
    content: message.content.map(toPlainBlock),
    toolCallIds: [...message.toolCallIds],
  }));
}
