// ListSessions: the project's sessions by session_id, with a filter.
import { create } from "@bufbuild/protobuf";
import type { SessionRecord } from "@holdfast/pool";
import { type ListSessionsRequest, type ListSessionsResponse, ListSessionsResponseSchema } from "@holdfast/proto";
import {
  encodePageToken,
  type Reply,
  sessionState,
  type ValidListSessions,
  validateListSessions,
} from "@holdfast/wire";
import { hasLabels, sessionsPage } from "../sessions/project.ts";
import { shortSession } from "../sessions/view.ts";
import type { GatewayWorld } from "../world.ts";
import type { Call } from "./call.ts";

/** Records one call looks at; a filter that few sessions pass gives a short page and a token to go on with. */
const LIST_SCAN_RECORDS = 5_000;

export async function listSessions(
  world: GatewayWorld,
  request: ListSessionsRequest,
  call: Call,
): Promise<Reply<ListSessionsResponse>> {
  const valid = validateListSessions(request, call.caller.project);
  if ("refusal" in valid) return valid;
  const { page, scope } = valid.value;
  const found: SessionRecord[] = [];
  let after = page.after;
  let looked = 0;
  do {
    // Never more records than places left, so that a page ends where the store's own page ends.
    const limit = page.entries - found.length;
    const { records, next } = await sessionsPage(world, call.caller.project, after, limit);
    found.push(...records.filter((record) => isWanted(record, valid.value)));
    after = next;
    looked += limit;
  } while (after !== null && found.length < page.entries && looked < LIST_SCAN_RECORDS && !call.signal.aborted);
  const sessions = await Promise.all(found.map((record) => shortSession(world, record, call)));
  const nextPageToken = after === null ? "" : encodePageToken(scope, after);
  return { ok: create(ListSessionsResponseSchema, { sessions, nextPageToken }) };
}

function isWanted(record: SessionRecord, { states, labels }: ValidListSessions): boolean {
  return (states.size === 0 || states.has(sessionState(record))) && hasLabels(record, labels);
}
