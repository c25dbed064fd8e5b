// ListSessions' request: a filter and a page.
import type { SessionState } from "@holdfast/pool";
import type { ListSessionsRequest } from "@holdfast/proto";
import { sessionStates } from "../enums/turn.ts";
import { checkLabels, plainMap } from "./labels.ts";
import { type Page, type PageScope, readPage } from "./page.ts";
import { type Validated, Violations } from "./violations.ts";

export type ValidListSessions = {
  readonly page: Page;
  /** Makes the token of the next page. */
  readonly scope: PageScope;
  /** Empty: in any state. */
  readonly states: ReadonlySet<SessionState>;
  readonly labels: Readonly<Record<string, string>>;
};

const STATES_LISTED = 64;

/** `project` comes from the credential. */
export function validateListSessions(request: ListSessionsRequest, project: string): Validated<ValidListSessions> {
  const found = new Violations();
  checkLabels(found, "labels", request.labels);
  const states = readStates(found, request.states);
  const labels = plainMap(request.labels);
  const scope: PageScope = { list: "sessions", project, filter: { states: [...states].sort(), labels } };
  const page = readPage(found, request, scope);
  return found.settle("ListSessions", () => ({ page, scope, states, labels }));
}

function readStates(found: Violations, values: readonly number[]): ReadonlySet<SessionState> {
  const states = new Set<SessionState>();
  if (!found.check(values.length <= STATES_LISTED, "states", `has more than ${STATES_LISTED} entries`)) return states;
  for (const [index, value] of values.entries()) {
    const name = sessionStates.fromWire(value);
    if (name === null) found.add(`states[${index}]`, `is not one of ${sessionStates.names.join(", ")}`);
    else states.add(name);
  }
  return states;
}
