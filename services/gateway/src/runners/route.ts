// What goes with a call to a runner: for whom it is, and what this gateway believes about the session (E6).
import type { Refusal } from "@holdfast/pool";
import type { RouteContext } from "@holdfast/proto";
import { type Route, routeMessage } from "@holdfast/wire";
import { type Caller, isAdmin } from "../credentials/caller.ts";

export type OnBehalf = Pick<Route, "project" | "principal" | "admin">;

export function onBehalfOf(caller: Caller): OnBehalf {
  const { project, principal } = caller;
  return { project, principal, admin: isAdmin(caller) };
}

/** `epoch`: at which that runner owns the session; 0 with a claim. */
export function routeTo(
  behalf: OnBehalf,
  { incarnation }: { readonly incarnation: string },
  epoch: number,
  purpose: Partial<Pick<Route, "claim" | "command">> = {},
): RouteContext {
  return routeMessage({ ...behalf, incarnation, epoch, claim: null, command: null, ...purpose });
}

/** What the gateway believed is no longer so: nothing ran, and the record is to be read again. */
export function hasMoved({ reason }: Pick<Refusal, "reason">): boolean {
  return reason === "NOT_OWNER" || reason === "STALE_EPOCH";
}
