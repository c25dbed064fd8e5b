// The document of a runner's lease: the lease itself, and the ids of its last writes, by which a write that is sent again
// recognises itself (S2).
import { type Lease, OPERATIONS_KEPT } from "@holdfast/pool";
import { z } from "zod";
import { type Decoded, decodeDocument, encodeDocument } from "./document.ts";
import { count, type Exactly } from "./shape/value.ts";

export const LEASE_FORMAT = 1;

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

/** The document that replaces one whose operations were `earlier`. */
export function encodeLease(lease: Lease, earlier: readonly string[], operation: string): string {
  const operations = [...earlier, operation].slice(-OPERATIONS_KEPT);
  const document: LeaseDocument = { format: LEASE_FORMAT, lease, operations };
  return encodeDocument(documentShape, document, `lease of runner ${lease.runner}`);
}

/** `runner` is the name it was found under. */
export function decodeLease(text: unknown, runner: string): Decoded<LeaseDocument> {
  const decoded = decodeDocument<LeaseDocument>(documentShape, LEASE_FORMAT, text);
  if (decoded.kind === "read" && decoded.value.lease.runner !== runner) {
    return { kind: "unreadable", why: `it says it is the lease of runner ${decoded.value.lease.runner}` };
  }
  return decoded;
}
