// RouteContext: for whom a gateway calls its runner, and what it believes about the session.
import { create } from "@bufbuild/protobuf";
import type * as pool from "@holdfast/pool";
import { refusal } from "@holdfast/pool";
import { type RouteContext, RouteContextSchema } from "@holdfast/proto";
import { fallReasons } from "../enums/turn.ts";
import { type Validated, Violations } from "../validate/violations.ts";

/**
 * A proposal to claim a session that has no living owner (E1). The runner claims from `fromEpoch`, 0 without a record, and
 * reads the record itself; revision (0: there was none) and reason are for who looks at the call.
 */
export type ClaimProposal = {
  readonly fromRevision: number;
  readonly fromEpoch: number;
  readonly reason: pool.ColdReason;
};

export type Route = {
  readonly project: string;
  readonly principal: string;
  /** The incarnation addressed, always: a runner that is another one refuses (E6). */
  readonly incarnation: string;
  /** The epoch at which it owns the session; 0 with a claim. */
  readonly epoch: number;
  readonly claim: ClaimProposal | null;
  /** The command that is delivered, and the execution it is pinned to; null for the other calls. */
  readonly command: { readonly commandId: string; readonly execution: number } | null;
  /** The caller may see process ids. */
  readonly admin: boolean;
};

export function routeMessage(route: Route): RouteContext {
  const { claim, command } = route;
  return create(RouteContextSchema, {
    project: route.project,
    principal: route.principal,
    ownerIncarnation: route.incarnation,
    epoch: BigInt(route.epoch),
    commandId: command?.commandId ?? "",
    execution: command?.execution ?? 0,
    admin: route.admin,
    claim:
      claim === null
        ? undefined
        : {
            fromRevision: BigInt(claim.fromRevision),
            fromEpoch: BigInt(claim.fromEpoch),
            reason: fallReasons.toWire(claim.reason),
          },
  });
}

/** A gateway always sends a whole route, so what is missing is a refusal that names it. */
export function readRoute(rpc: string, message: RouteContext | undefined): Validated<Route> {
  if (message === undefined) {
    return { refusal: refusal("FIELD_INVALID", `${rpc} came without a route.`, "Only a gateway calls a runner.") };
  }
  const found = new Violations();
  found.check(message.project !== "", "route.project", "is required");
  found.check(message.principal !== "", "route.principal", "is required");
  found.check(message.ownerIncarnation !== "", "route.owner_incarnation", "is required");
  const epoch = readNumber(found, "route.epoch", message.epoch);
  const claim = readClaim(found, message);
  found.check((claim === null) === epoch > 0, "route.epoch", "is set exactly when nothing is to be claimed");
  return found.settle(rpc, () => ({
    project: message.project,
    principal: message.principal,
    incarnation: message.ownerIncarnation,
    epoch,
    claim,
    command: message.commandId === "" ? null : { commandId: message.commandId, execution: message.execution },
    admin: message.admin,
  }));
}

function readClaim(found: Violations, { claim }: RouteContext): ClaimProposal | null {
  if (claim === undefined) return null;
  const reason = fallReasons.fromWire(claim.reason);
  found.check(reason !== null, "route.claim.reason", "is not a reason of this version");
  return {
    fromRevision: readNumber(found, "route.claim.from_revision", claim.fromRevision),
    fromEpoch: readNumber(found, "route.claim.from_epoch", claim.fromEpoch),
    reason: reason ?? "owner_dead",
  };
}

function readNumber(found: Violations, field: string, value: bigint): number {
  return found.check(value <= BigInt(Number.MAX_SAFE_INTEGER), field, "is larger than 2^53 - 1") ? Number(value) : 0;
}
