// A tool call as known so far: an update says only what has changed, and the permission request may say more than the
// announcement did (or be the first that is heard of it). Agents use an id again (B3, B6): a call that is over and is
// spoken of as open is another one, and nothing of the old one is shown as its own.
import type { ToolCall } from "@holdfast/proto";
import { ToolCallStatus } from "@holdfast/proto";

const OVER: readonly ToolCallStatus[] = [ToolCallStatus.COMPLETED, ToolCallStatus.FAILED];
const OPEN: readonly ToolCallStatus[] = [ToolCallStatus.PENDING, ToolCallStatus.IN_PROGRESS];

export function mergeCall(known: ToolCall | undefined, said: ToolCall): ToolCall {
  if (known === undefined || (OVER.includes(known.status) && OPEN.includes(said.status))) return said;
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
