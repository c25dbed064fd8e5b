// ListApprovals' request: a filter and a page of the inbox.
import type { ListApprovalsRequest } from "@holdfast/proto";
import { readApprovalFilter, type ValidApprovalFilter } from "./approval-filter.ts";
import { type Page, type PageScope, readPage } from "./page.ts";
import { type Validated, Violations } from "./violations.ts";

export type ValidListApprovals = {
  readonly filter: ValidApprovalFilter;
  readonly page: Page;
  /** Makes the token of the next page. */
  readonly scope: PageScope;
};

/** `project` comes from the credential. */
export function validateListApprovals(request: ListApprovalsRequest, project: string): Validated<ValidListApprovals> {
  const found = new Violations();
  const filter = readApprovalFilter(found, "filter", request.filter);
  const scope: PageScope = { list: "approvals", project, filter };
  const page = readPage(found, request, scope);
  return found.settle("ListApprovals", () => ({ filter, page, scope }));
}
