// ListApprovals: the project's pending gates, oldest first, with their calls cut to a preview.
//
// The order is over all sessions, so every page looks at all of them and keeps only what it shows.
import { create } from "@bufbuild/protobuf";
import type { Gate, SessionRecord } from "@holdfast/pool";
import { type ListApprovalsRequest, type ListApprovalsResponse, ListApprovalsResponseSchema } from "@holdfast/proto";
import {
  encodePageToken,
  gateMessage,
  type Reply,
  type ValidApprovalFilter,
  validateListApprovals,
} from "@holdfast/wire";
import { allSessions, hasLabels } from "../sessions/project.ts";
import type { GatewayWorld } from "../world.ts";
import type { Call } from "./call.ts";

type Pending = { readonly gate: Gate; readonly record: SessionRecord; readonly place: string };

export async function listApprovals(
  world: GatewayWorld,
  request: ListApprovalsRequest,
  call: Call,
): Promise<Reply<ListApprovalsResponse>> {
  const valid = validateListApprovals(request, call.caller.project);
  if ("refusal" in valid) return valid;
  const { filter, page, scope } = valid.value;
  let kept: Pending[] = [];
  for await (const record of allSessions(world, call.caller.project, call.signal)) {
    const pending = pendingOf(record, filter, world.clock.now());
    const wanted = pending.filter(({ place }) => page.after === null || place > page.after);
    // One more than the page has: whether there is a next one.
    if (wanted.length > 0) kept = [...kept, ...wanted].sort(byPlace).slice(0, page.entries + 1);
  }
  const shown = kept.slice(0, page.entries);
  const last = shown.at(-1);
  return {
    ok: create(ListApprovalsResponseSchema, {
      gates: shown.map(({ gate, record }) => gateMessage(gate, record, null)),
      nextPageToken: kept.length > shown.length && last !== undefined ? encodePageToken(scope, last.place) : "",
    }),
  };
}

function pendingOf(record: SessionRecord, filter: ValidApprovalFilter, nowMs: number): readonly Pending[] {
  const { sessionId, agent, labels, warm } = filter;
  if (sessionId !== null && record.sessionId !== sessionId) return [];
  if (agent !== null && record.agent !== agent) return [];
  if (!hasLabels(record, labels)) return [];
  return record.gates
    .filter((gate) => gate.state.kind === "pending" && gate.expiresAt > nowMs)
    .filter((gate) => warm === null || gate.warm === warm)
    .map((gate) => ({ gate, record, place: placeOf(gate) }));
}

const TIME_DIGITS = 16;

/** Sorts by the time of opening, then by id; a page goes on behind it. */
function placeOf({ openedAt, gateId }: Gate): string {
  return `${String(openedAt).padStart(TIME_DIGITS, "0")} ${gateId}`;
}

function byPlace(one: Pending, other: Pending): number {
  return one.place < other.place ? -1 : 1;
}
