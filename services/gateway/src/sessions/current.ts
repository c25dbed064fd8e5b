// A session as it is now: its record read from the store and, if its owner is dead, settled first (E10). Every rpc begins
// here, so nobody decides on what a dead owner left behind.
import { changeRecord, type Held, readRecord, settleOwnerless, tellOwnerless } from "@holdfast/ledger";
import { type Lease, type Owner, type Refusal, refusal, type SessionKey } from "@holdfast/pool";
import type { GatewayWorld } from "../world.ts";

export type LivingOwner = { readonly kind: "alive"; readonly owner: Owner; readonly lease: Lease };
export type CurrentOwner = { readonly kind: "none" } | LivingOwner;

export type Current =
  | { readonly kind: "found"; readonly held: Held; readonly owner: CurrentOwner }
  | { readonly kind: "absent" }
  | { readonly kind: "refused"; readonly refusal: Refusal };

export type FoundSession = Extract<Current, { kind: "found" }>;

/** Throws StoreUnavailable when the store cannot be asked. */
export async function currentSession(world: GatewayWorld, key: SessionKey): Promise<Current> {
  const read = await readRecord(world.store.records, key);
  if (read.kind === "unreadable") {
    world.log.error("record.unreadable", { project: key.project, session: key.sessionId, reason: read.refusal.reason });
    return { kind: "refused", refusal: read.refusal };
  }
  return read.held === null ? { kind: "absent" } : settled(world, key, read.held);
}

/** The same for a record that was read already. */
export async function settled(
  world: GatewayWorld,
  key: SessionKey,
  held: Held,
): Promise<Exclude<Current, { kind: "absent" }>> {
  const now = await settleOwnerless(world.ledger, key, held);
  if (now.kind === "refused") return { kind: "refused", refusal: now.refusal };
  const { owner } = now;
  const wasOwned = held.record.owner;
  if (wasOwned !== null && now.held.revision !== held.revision) {
    world.telemetry.metrics.ownerLookup("dead");
    const { runner, incarnation } = wasOwned;
    const { epoch } = now.held.record;
    world.log.warn("settle", {
      project: key.project,
      session: key.sessionId,
      reason: "owner_dead",
      runner,
      incarnation,
      epoch,
    });
  } else if (owner.kind === "alive") world.telemetry.metrics.ownerLookup("hit");
  return { kind: "found", held: owner.kind === "none" ? await expired(world, key, now.held) : now.held, owner };
}

/** C4: gates of an owner-less session that are past their time are closed by whoever meets them. */
async function expired(world: GatewayWorld, key: SessionKey, held: Held): Promise<Held> {
  const now = world.clock.now();
  if (!held.record.gates.some(({ state, expiresAt }) => state.kind === "pending" && expiresAt <= now)) return held;
  const changed = await changeRecord(world.ledger, key, { type: "expire_gates" }, { kind: "gateway" }, { held });
  if (changed.kind === "refused") return held;
  await tellOwnerless(world.ledger, key, changed.held);
  return changed.held;
}

/** A session that has to be there: SESSION_UNKNOWN otherwise, also when another project has one of that name. */
export async function existingSession(
  world: GatewayWorld,
  key: SessionKey,
): Promise<FoundSession | { readonly kind: "refused"; readonly refusal: Refusal }> {
  const current = await currentSession(world, key);
  return current.kind === "absent" ? { kind: "refused", refusal: sessionUnknown(key.sessionId) } : current;
}

function sessionUnknown(sessionId: string): Refusal {
  return refusal("SESSION_UNKNOWN", `session ${sessionId} does not exist`, "run a turn to create it, naming an agent", {
    session_id: sessionId,
  });
}
