// WatchApprovals' request: which part of the inbox.
import type { WatchApprovalsRequest } from "@holdfast/proto";
import { readApprovalFilter, type ValidApprovalFilter } from "./approval-filter.ts";
import { type Validated, Violations } from "./violations.ts";

export type ValidWatchApprovals = { readonly filter: ValidApprovalFilter };

export function validateWatchApprovals(request: WatchApprovalsRequest): Validated<ValidWatchApprovals> {
  const found = new Violations();
  const filter = readApprovalFilter(found, "filter", request.filter);
  return found.settle("WatchApprovals", () => ({ filter }));
}
