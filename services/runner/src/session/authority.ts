// Does this runner own the session that a request is about (E1, E6)? Only the record says so; what this process remembers
// has to agree with it.
import { readRecord } from "@holdfast/ledger";
import { type Refusal, type RefusalReason, refusal, type Writer } from "@holdfast/pool";
import type { Route } from "@holdfast/wire";
import type { SessionHost } from "./host.ts";
import { recordLoss } from "./loss.ts";

export type Authority =
  | { readonly kind: "held"; readonly by: Writer }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** Who writes for this request: the owner, or a claimant that becomes it by the swap that follows. */
export async function takeAuthority(host: SessionHost, route: Route): Promise<Authority> {
  const { self } = host.world;
  if (route.incarnation !== self.incarnation) return refuse(host, "NOT_OWNER", `incarnation ${route.incarnation}`);
  if (host.epoch !== null) {
    if (route.epoch === host.epoch && route.claim === null) return { kind: "held", by: host.writer };
    return refuse(host, "STALE_EPOCH", `epoch ${route.epoch}`);
  }
  const read = await readRecord(host.world.store.records, host.key);
  if (read.kind === "unreadable") return { kind: "refused", refusal: read.refusal };
  host.held = read.held;
  if (route.claim !== null) {
    return { kind: "held", by: { kind: "claimant", owner: self, fromEpoch: route.claim.fromEpoch } };
  }
  await disown(host);
  return refuse(host, "NOT_OWNER", `epoch ${route.epoch}`);
}

/** A runner that finds itself named with nothing in its pool treats the process as gone (E1). */
async function disown(host: SessionHost): Promise<void> {
  const { held } = host;
  if (held?.record.owner?.incarnation !== host.world.self.incarnation || host.instance !== null) return;
  await host.adopt(held);
  await recordLoss(host, "owner_lost", null);
}

function refuse(host: SessionHost, reason: RefusalReason, addressed: string): Authority {
  const { self } = host.world;
  const holds = host.epoch === null ? "owns nothing of it" : `holds epoch ${host.epoch}`;
  const metadata = {
    session_id: host.key.sessionId,
    runner: self.runner,
    incarnation: self.incarnation,
    epoch: `${host.epoch ?? 0}`,
  };
  const message = `session ${host.key.sessionId}: ${addressed} was addressed; runner ${self.runner} ${self.incarnation} ${holds}`;
  return {
    kind: "refused",
    refusal: refusal(reason, message, "read the session again and address its owner", metadata),
  };
}
