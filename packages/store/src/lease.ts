// The document of a runner's lease: the lease itself, and the ids of its last writes, by which a write that is sent again
// recognises itself (S2).
import { type Lease, type LeaseFound, OPERATIONS_KEPT } from "@holdfast/pool";
import { z } from "zod";
import { type Decoded, decodeDocument, encodeDocument } from "./document.ts";
import { count, type Exactly } from "./shape/value.ts";
import { StoreUnavailable } from "./unavailable.ts";

const LEASE_FORMAT = 1;

const leaseShape = z.object({
  runner: z.string(),
  incarnation: z.string(),
  host: z.string(),
  address: z.string(),
  state: z.enum(["live", "draining", "released", "dead"]),
  beat: count,
});
true satisfies Exactly<Lease, z.output<typeof leaseShape>>;

const documentShape = z.object({ format: z.literal(LEASE_FORMAT), lease: leaseShape, operations: z.array(z.string()) });

export type LeaseDocument = {
  readonly format: typeof LEASE_FORMAT;
  readonly lease: Lease;
  /** Newest last, at most OPERATIONS_KEPT. */
  readonly operations: readonly string[];
};

/** A lease as it lies in a store. */
export type StoredLease = { readonly runner: string; readonly revision: number; readonly document: string };

/** The document that replaces one whose operations were `earlier`. Throws when the lease is another runner's. */
export function encodeLease(runner: string, lease: Lease, earlier: readonly string[], operation: string): string {
  if (lease.runner !== runner) throw new TypeError(`lease of runner ${lease.runner} was swapped under ${runner}`);
  const operations = [...earlier, operation].slice(-OPERATIONS_KEPT);
  const document: LeaseDocument = { format: LEASE_FORMAT, lease, operations };
  return encodeDocument(documentShape, document, `lease of runner ${runner}`);
}

/** `runner` is the name it was found under. */
function decodeLease(text: unknown, runner: string): Decoded<LeaseDocument> {
  const decoded = decodeDocument<LeaseDocument>(documentShape, LEASE_FORMAT, text);
  if (decoded.kind === "read" && decoded.value.lease.runner !== runner) {
    return { kind: "unreadable", why: `it says it is the lease of runner ${decoded.value.lease.runner}` };
  }
  return decoded;
}

/**
 * Throws StoreUnavailable when the document cannot be read. Nobody may take such a runner for gone: its sessions would be
 * settled while it lives. So one unreadable lease makes the whole list unavailable, and says which one it is.
 */
export function leaseFound(stored: StoredLease): LeaseFound {
  const decoded = decodeLease(stored.document, stored.runner);
  if (decoded.kind === "read") return { kind: "found", revision: stored.revision, lease: decoded.value.lease };
  throw new StoreUnavailable(
    `the lease of runner ${stored.runner} cannot be read: ${decoded.why}`,
    "restore it from a copy, or use the release that wrote it",
  );
}

/** null when the document cannot be read: nothing may replace it (S3). */
export function leaseOperations(stored: StoredLease): readonly string[] | null {
  const decoded = decodeLease(stored.document, stored.runner);
  return decoded.kind === "read" ? decoded.value.operations : null;
}
