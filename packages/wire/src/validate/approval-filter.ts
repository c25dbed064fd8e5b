// What an inbox shows: the filter that ListApprovals and WatchApprovals share.
import type { ApprovalFilter } from "@holdfast/proto";
import { checkLabels, plainMap } from "./labels.ts";
import { checkAgentName, checkSessionId, orNull } from "./text.ts";
import type { Violations } from "./violations.ts";

/** A part that is null, or empty labels, matches every gate. */
export type ValidApprovalFilter = {
  readonly sessionId: string | null;
  readonly agent: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly warm: boolean | null;
};

export function readApprovalFilter(
  found: Violations,
  field: string,
  filter: ApprovalFilter | undefined,
): ValidApprovalFilter {
  if (filter === undefined) return { sessionId: null, agent: null, labels: {}, warm: null };
  if (filter.sessionId !== "") checkSessionId(found, `${field}.session_id`, filter.sessionId);
  checkAgentName(found, `${field}.agent`, filter.agent);
  checkLabels(found, `${field}.labels`, filter.labels);
  return {
    sessionId: orNull(filter.sessionId),
    agent: orNull(filter.agent),
    labels: plainMap(filter.labels),
    warm: filter.warm ?? null,
  };
}
