// Who owns a session, and whether that owner is alive (E2, E10): only the runner name's lease key says so.
import type { Lease, LeaseStore, Owner } from "@holdfast/pool";

export type OwnerView =
  | { readonly kind: "none" }
  | { readonly kind: "alive"; readonly owner: Owner; readonly lease: Lease }
  | { readonly kind: "dead"; readonly owner: Owner };

export async function viewOwner(leases: LeaseStore, owner: Owner | null): Promise<OwnerView> {
  if (owner === null) return { kind: "none" };
  const found = await leases.get(owner.runner);
  const lease = found.kind === "found" ? found.lease : null;
  const alive = lease !== null && lease.incarnation === owner.incarnation && isAlive(lease);
  return alive ? { kind: "alive", owner, lease } : { kind: "dead", owner };
}

/** A draining runner serves what it owns. */
export function isAlive(lease: Lease): boolean {
  return lease.state === "live" || lease.state === "draining";
}
