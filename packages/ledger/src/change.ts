// The shell around the record's pure machine: read, decide, swap (D1, D2).
//
// L1  A swap whose outcome is unknown is sent again unchanged until it is definite; it is never decided anew before that.
// L2  After a conflict the record is read again; if the operation is in it, the first deciding's result stands. If so many
//     have written since an unknown outcome that the record may have forgotten the operation (it keeps OPERATIONS_KEPT),
//     nothing is written a second time: STORE_UNAVAILABLE. A retry of the caller's finds the effect.
// L3  At most SWAP_ATTEMPTS swaps within the budget; then STORE_UNAVAILABLE, which proves nothing either way. A read that
//     cannot be made is made again within the same budget.
import {
  type DecisionOf,
  decide,
  isWritten,
  OPERATIONS_KEPT,
  type Operation,
  OUTBOX_EVENTS,
  type RecordCommand,
  type RecordFound,
  type RecordStore,
  type Refusal,
  type Results,
  refusal,
  type SessionKey,
  type SessionRecord,
  SWAP_ATTEMPTS,
  SWAP_BUDGET_MS,
  type Writer,
} from "@holdfast/pool";
import type { Clock } from "@holdfast/runtime";

/** What a change needs of the world. */
export type LedgerWorld = {
  readonly records: RecordStore;
  readonly clock: Pick<Clock, "now" | "monotonicMs" | "sleep">;
  readonly newOperationId: () => string;
};

/** A record and the revision it was read or written at: a hint for the next change, never authority. */
export type Held = { readonly revision: number; readonly record: SessionRecord };

export type Changed<R> =
  | { readonly kind: "written" | "same"; readonly held: Held; readonly result: R }
  | { readonly kind: "refused"; readonly held: Held | null; readonly refusal: Refusal };

export type ChangeOptions = {
  /** What the caller believes the record to be: saves the first read; a conflict corrects it. */
  readonly held?: Held | null;
  /** Outbox events known to be in the log: dropped by this swap (D14). */
  readonly appended?: readonly string[];
  readonly budgetMs?: number;
};

export async function changeRecord<C extends RecordCommand>(
  world: LedgerWorld,
  key: SessionKey,
  command: C,
  by: Writer,
  options: ChangeOptions = {},
): Promise<Changed<Results[C["type"]]>> {
  const operation: Operation = { id: world.newOperationId(), by, appended: options.appended ?? [] };
  const patience = new Patience(world.clock, options.budgetMs ?? SWAP_BUDGET_MS);
  let held = options.held ?? null;
  let hinted = held !== null;
  let known = hinted;
  let decided: DecisionOf<C> | null = null;
  let sent: Sent | null = null;
  while (patience.left()) {
    if (!known) {
      const read = await readPatiently(world, key, patience);
      if (read.kind === "unreadable") return refuse(null, read.refusal);
      held = read.held;
      known = true;
      hinted = false;
    }
    if (decided?.kind === "write" && held !== null && isWritten(held.record, operation)) {
      return { kind: "written", held, result: decided.result };
    }
    if (sent !== null && mayBeForgotten(sent, held)) return refuse(held, storeUnavailable(key, "many wrote since"));
    const decision = decide(held?.record ?? null, command, world.clock.now(), operation);
    decided = decision;
    if (decision.kind !== "write" && hinted) {
      // A hint may be old: nothing is refused, and nothing taken as settled, before a true read.
      known = false;
      continue;
    }
    if (decision.kind === "refused") return refuse(held, decision.refusal);
    if (decision.kind === "same") {
      if (held === null) throw new Error(`session ${key.sessionId}: nothing held, nothing to write`);
      return { kind: "same", held, result: decision.result };
    }
    if (decision.record.outbox.length > OUTBOX_EVENTS) {
      return refuse(held, outboxFull(key));
    }
    sent = { base: held, wasUnknown: false };
    const outcome = await swapUntilDefinite(world, key, sent, decision.record, operation.id, patience);
    if (outcome.kind === "swapped") {
      return {
        kind: "written",
        held: { revision: outcome.revision, record: decision.record },
        result: decision.result,
      };
    }
    if (outcome.kind === "too_large") return refuse(held, recordTooLarge(key, outcome.bytes));
    if (outcome.kind === "unknown") return refuse(held, storeUnavailable(key, outcome.why));
    known = false;
    await patience.afterConflict();
  }
  return refuse(held, contended(key));
}

/** A store that cannot be read for a moment is asked again; in the end it is a refusal like any other. */
async function readPatiently(world: LedgerWorld, key: SessionKey, patience: Patience): Promise<ReadOutcome> {
  for (;;) {
    try {
      return await readRecord(world.records, key);
    } catch (error) {
      if (!isStoreUnavailable(error)) throw error;
      if (!patience.left()) return { kind: "unreadable", refusal: storeUnavailable(key, error.message) };
      await patience.afterUnknown();
    }
  }
}

/** What every store throws when it cannot be asked. */
export function isStoreUnavailable(error: unknown): error is Error {
  return error instanceof Error && error.name === "StoreUnavailable";
}

/** A swap under way: what it was decided on, and whether an outcome of it was unknown. */
type Sent = { readonly base: Held | null; wasUnknown: boolean };

/** Whether a write that met a conflict may be in all the same, below so many others that its operation is dropped. */
function mayBeForgotten({ base, wasUnknown }: Sent, now: Held | null): boolean {
  if (!wasUnknown || now === null) return false;
  const { operations } = now.record;
  const before = base?.record.operations.at(-1);
  // Ours would come right after the last one before it.
  return before === undefined ? operations.length >= OPERATIONS_KEPT : !operations.includes(before);
}

async function swapUntilDefinite(
  world: LedgerWorld,
  key: SessionKey,
  sent: Sent,
  record: SessionRecord,
  operation: string,
  patience: Patience,
) {
  for (;;) {
    patience.spend();
    const outcome = await world.records.swap(key, sent.base?.revision ?? 0, record, operation);
    if (outcome.kind !== "unknown" || !patience.left()) return outcome;
    sent.wasUnknown = true;
    await patience.afterUnknown();
  }
}

export type ReadOutcome =
  | { readonly kind: "read"; readonly held: Held | null }
  | { readonly kind: "unreadable"; readonly refusal: Refusal };

/** Null when there is no such session. Throws StoreUnavailable when the store cannot be asked. */
export async function readRecord(records: RecordStore, key: SessionKey): Promise<ReadOutcome> {
  const read = await records.get(key);
  switch (read.kind) {
    case "absent":
      return { kind: "read", held: null };
    case "found":
      return { kind: "read", held: heldOf(read) };
    case "unreadable":
      return { kind: "unreadable", refusal: recordUnreadable(key, read.why) };
  }
}

export function heldOf(found: RecordFound): Held {
  return { revision: found.revision, record: found.record };
}

function refuse<R>(held: Held | null, why: Refusal): Changed<R> {
  return { kind: "refused", held, refusal: why };
}

export function recordUnreadable(key: SessionKey, why: string): Refusal {
  return refusal(
    "RECORD_UNREADABLE",
    `the record of session ${key.sessionId} cannot be read: ${why}`,
    "restore it from a backup, or upgrade; other sessions are not affected",
    { session_id: key.sessionId, project: key.project },
  );
}

function recordTooLarge(key: SessionKey, bytes: number): Refusal {
  return refusal(
    "RECORD_TOO_LARGE",
    `the record of session ${key.sessionId} would have ${bytes} bytes`,
    "use shorter notes and labels, answer open gates, or start another session",
    { session_id: key.sessionId, bytes: `${bytes}` },
  );
}

export function storeUnavailable(key: SessionKey, why: string): Refusal {
  return refusal(
    "STORE_UNAVAILABLE",
    `session ${key.sessionId}: the store gave no definite answer (${why}); whether the write is in is not known`,
    "send the same request again, with the same key",
    { session_id: key.sessionId },
  );
}

/** The same reason, for it passes the same way; but this one proves that nothing was written. */
function outboxFull(key: SessionKey): Refusal {
  return refusal(
    "STORE_UNAVAILABLE",
    `session ${key.sessionId}: more than ${OUTBOX_EVENTS} events would wait for the event log; nothing was written`,
    "send the same request again, with the same key",
    { session_id: key.sessionId },
  );
}

/** Every swap lost to another writer's, definitely: nothing was written here, and the store is well. */
function contended(key: SessionKey): Refusal {
  return refusal(
    "STORE_UNAVAILABLE",
    `session ${key.sessionId}: other writers came first in every swap that was tried; nothing was written`,
    "send the same request again, with the same key",
    { session_id: key.sessionId },
  );
}

const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 100;

/** Counts swaps and time, and spaces retries. */
class Patience {
  private readonly clock: LedgerWorld["clock"];
  private readonly endsAt: number;
  private swaps = 0;
  private pauseMs = FIRST_PAUSE_MS;

  constructor(clock: LedgerWorld["clock"], budgetMs: number) {
    this.clock = clock;
    this.endsAt = clock.monotonicMs() + budgetMs;
  }

  left(): boolean {
    return this.swaps < SWAP_ATTEMPTS && this.clock.monotonicMs() < this.endsAt;
  }

  spend(): void {
    this.swaps += 1;
  }

  /** Somebody else won: read again at once, and step back only when it happens again and again. */
  async afterConflict(): Promise<void> {
    if (this.swaps > 4) await this.afterUnknown();
  }

  async afterUnknown(): Promise<void> {
    await this.clock.sleep(this.pauseMs);
    this.pauseMs = Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS);
  }
}
