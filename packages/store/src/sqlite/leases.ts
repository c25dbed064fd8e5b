// Leases in sqlite: one row for each runner's name.
import type { Lease, LeaseFound, SwapOutcome } from "@holdfast/pool";
import { encodeLease, leaseFound, leaseOperations, type StoredLease } from "../lease.ts";
import { judgeSwap } from "../swap.ts";
import type { Access } from "./desk.ts";

type LeaseSwapOutcome = Exclude<SwapOutcome, { kind: "too_large" }>;

export function leaseCalls({ db, read, write }: Access) {
  const one = db.prepare("SELECT runner, revision, document FROM leases WHERE runner = ?");
  const all = db.prepare("SELECT runner, revision, document FROM leases ORDER BY runner");
  const put = db.prepare(
    "INSERT INTO leases (runner, revision, document) VALUES (?, ?, ?) " +
      "ON CONFLICT DO UPDATE SET revision = excluded.revision, document = excluded.document",
  );

  return {
    getLease: (runner: string): Promise<LeaseFound | { readonly kind: "absent" }> =>
      read(() => {
        const row = one.get(runner);
        return row === undefined ? { kind: "absent" } : leaseFound(stored(row));
      }),

    swapLease: (runner: string, revision: number, lease: Lease, operation: string): Promise<LeaseSwapOutcome> =>
      write((): LeaseSwapOutcome => {
        const row = one.get(runner);
        const held = row === undefined ? null : stored(row);
        const operations = held === null ? [] : leaseOperations(held);
        const verdict = judgeSwap(held === null ? null : { revision: held.revision, operations }, revision, operation);
        if (verdict.kind !== "write") return verdict;
        put.run(runner, verdict.revision, encodeLease(runner, lease, operations ?? [], operation));
        return { kind: "swapped", revision: verdict.revision };
      }),

    listLeases: (): Promise<readonly LeaseFound[]> => read(() => all.all().map((row) => leaseFound(stored(row)))),
  };
}

function stored(row: Readonly<Record<string, unknown>>): StoredLease {
  return { runner: String(row.runner), revision: Number(row.revision), document: String(row.document) };
}
