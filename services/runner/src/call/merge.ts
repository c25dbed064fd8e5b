// A tool call as known so far: an update says only what has changed, and the permission request may say more than the
// announcement did (or be the first that is heard of it).
import type { ToolCall } from "@holdfast/proto";
import { ToolCallStatus } from "@holdfast/proto";

export function mergeCall(known: ToolCall | undefined, said: ToolCall): ToolCall {
  if (known === undefined) return said;
  return {
    ...known,
    title: said.title || known.title,
    kind: said.kind || known.kind,
    status: said.status === ToolCallStatus.UNSPECIFIED ? known.status : said.status,
    rawInputJson: said.rawInputJson || known.rawInputJson,
    rawOutputJson: said.rawOutputJson || known.rawOutputJson,
    content: said.content.length > 0 ? said.content : known.content,
    diff: said.diff.length > 0 ? said.diff : known.diff,
    locations: said.locations.length > 0 ? said.locations : known.locations,
    truncated: known.truncated || said.truncated,
  };
}
