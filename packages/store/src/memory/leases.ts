// Leases in memory: encoded documents under the names of their runners.
import type { LeaseFound, LeaseStore } from "@holdfast/pool";
import { compareText } from "../key.ts";
import { encodeLease, leaseFound, leaseOperations, type StoredLease } from "../lease.ts";
import { judgeSwap } from "../swap.ts";
import { unknownInstead } from "../unavailable.ts";
import type { Step } from "./store.ts";

export function memoryLeases(step: Step): LeaseStore {
  const rows = new Map<string, StoredLease>();

  return {
    get: (runner) =>
      step((): LeaseFound | { readonly kind: "absent" } => {
        const row = rows.get(runner);
        return row === undefined ? { kind: "absent" } : leaseFound(row);
      }),

    swap: async (runner, revision, lease, operation) => {
      const write = step(() => {
        const row = rows.get(runner);
        const operations = row === undefined ? [] : leaseOperations(row);
        const verdict = judgeSwap(
          row === undefined ? null : { revision: row.revision, operations },
          revision,
          operation,
        );
        if (verdict.kind !== "write") return verdict;
        const document = encodeLease(runner, lease, operations ?? [], operation);
        rows.set(runner, { runner, revision: verdict.revision, document });
        return { kind: "swapped", revision: verdict.revision } as const;
      });
      return unknownInstead(write);
    },

    list: () =>
      step(() => [...rows.values()].sort((one, other) => compareText(one.runner, other.runner)).map(leaseFound)),
  };
}
