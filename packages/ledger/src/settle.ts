// Whoever reads a record whose owner is dead first settles it, then goes on (E10): one swap that records the loss (D10, D13),
// the ownership mark at the new epoch (E5), and the events that tell of it.
import type { SessionKey, Store } from "@holdfast/pool";
import { type Changed, changeRecord, type Held, type LedgerWorld } from "./change.ts";
import { Fenced, Journal, type JournalWorld } from "./journal.ts";
import { appendOutbox, logSources } from "./outbox.ts";
import { type OwnerView, viewOwner } from "./owner.ts";

/** The world of one store, for gateways and runners alike. */
export type StoreWorld = LedgerWorld & JournalWorld & { readonly leases: Store["leases"] };

export function storeWorld(store: Store, clock: StoreWorld["clock"], newOperationId: () => string): StoreWorld {
  return { records: store.records, log: store.events, leases: store.leases, clock, newOperationId };
}

export type Settled =
  | { readonly kind: "settled"; readonly held: Held; readonly owner: Exclude<OwnerView, { kind: "dead" }> }
  | Extract<Changed<never>, { kind: "refused" }>;

/** The record with a living owner or none. Refused only when the store cannot say. */
export async function settleOwnerless(world: StoreWorld, key: SessionKey, held: Held): Promise<Settled> {
  const owner = await viewOwner(world.leases, held.record.owner);
  if (owner.kind !== "dead") return { kind: "settled", held, owner };
  const changed = await changeRecord(
    world,
    key,
    { type: "settle_ownerless", dead: owner.owner },
    { kind: "gateway" },
    { held },
  );
  if (changed.kind === "refused") {
    // It has another owner by now: looked at again, with what is there. Any other refusal is the store's word.
    const isOwned = changed.refusal.reason === "NOT_OWNER" && changed.held !== null;
    return isOwned ? settleOwnerless(world, key, changed.held) : changed;
  }
  // Also when another one has settled it: that one may have died before it told of it, and telling twice is telling once.
  await tellOwnerless(world, key, changed.held);
  return { kind: "settled", held: changed.held, owner: { kind: "none" } };
}

/**
 * Appends what an owner-less record has to tell. Fenced means a new owner has claimed the session since: it appends the
 * outbox itself (E5), so there is nothing left to do here.
 */
export async function tellOwnerless(world: StoreWorld, key: SessionKey, held: Held): Promise<void> {
  if (held.record.owner !== null || held.record.outbox.length === 0) return;
  try {
    const journal = await Journal.open(world, key, held.record.epoch, () => undefined);
    const known = await world.log.holds(
      key,
      held.record.outbox.map(({ id }) => id),
    );
    await appendOutbox(journal, held.record, logSources(world.log, key), known);
  } catch (error) {
    if (!(error instanceof Fenced)) throw error;
  }
}
