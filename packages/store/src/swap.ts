// Compare-and-set, decided: what a swap answers, from what is stored. Records and leases, memory and sqlite share it; the
// caller holds whatever makes "read, judge, write" one step.
//
// W1  The write happens only at the revision the caller read (S1).
// W2  A write that is in already says so, with the revision it got then: whoever wrote since is not overwritten (S2).
// W3  What cannot be read is not replaced (S3).

/** What lies under the key; `operations` is null when the document cannot be read. */
export type Held = { readonly revision: number; readonly operations: readonly string[] | null };

export type SwapVerdict =
  | { readonly kind: "write"; readonly revision: number }
  | { readonly kind: "swapped"; readonly revision: number }
  | { readonly kind: "conflict" };

export function judgeSwap(held: Held | null, revision: number, operation: string): SwapVerdict {
  if (!Number.isSafeInteger(revision) || revision < 0) throw new RangeError(`revision ${revision} is no revision`);
  if (held === null) return revision === 0 ? { kind: "write", revision: 1 } : { kind: "conflict" };
  if (held.operations === null) return { kind: "conflict" };
  if (held.revision === revision) return { kind: "write", revision: revision + 1 };
  // It was sent at this revision then as well, so it got the next one.
  const isIn = held.revision > revision && held.operations.includes(operation);
  return isIn ? { kind: "swapped", revision: revision + 1 } : { kind: "conflict" };
}
