// The closed sets of label values that are only telemetry's. All others (reasons, tiers, outcomes, dispositions) are the
// pool's own lists.

import type { Disposition } from "@holdfast/pool";

/** What a process was wanted for. */
export const CHECKOUT_CAUSES = ["prompt", "answer"] as const;
export type CheckoutCause = (typeof CHECKOUT_CAUSES)[number];

export const CHECKOUT_OUTCOMES = ["warm", "cold", "refused"] as const;
export type CheckoutOutcome = (typeof CHECKOUT_OUTCOMES)[number];

/** The tier of a checkout that was refused. */
export const NO_TIER = "none";

export const GATE_OUTCOMES = ["allowed", "rejected", "cancelled", "expired"] as const;
export type GateOutcome = (typeof GATE_OUTCOMES)[number];

export const ANSWER_OUTCOMES = ["accepted", "duplicate", "conflict", "refused"] as const;
export type AnswerOutcome = (typeof ANSWER_OUTCOMES)[number];

/** The reason of an answer that was taken. */
export const NO_REASON = "none";

export type SettledDisposition = Extract<Disposition, "applied" | "delivered" | "uncertain" | "moot">;

/** Whether an answer reached the process that asked. */
export const ANSWER_PATHS = ["warm", "cold"] as const;
export type AnswerPath = (typeof ANSWER_PATHS)[number];

/** handed_back: refused in a way that proves nothing ran, so the attempt does not count. spent: it was the last one. */
export const DELIVERY_RESULTS = ["accepted", "duplicate", "handed_back", "failed", "spent"] as const;
export type DeliveryResult = (typeof DELIVERY_RESULTS)[number];

export const LOOKUP_RESULTS = ["hit", "claimed", "stale", "dead"] as const;
export type LookupResult = (typeof LOOKUP_RESULTS)[number];

export const STORE_OPERATIONS = [
  "record_get",
  "record_swap",
  "record_list",
  "event_append",
  "event_mark",
  "event_tail",
  "event_read",
  "lease_get",
  "lease_swap",
  "lease_list",
] as const;
export type StoreOperation = (typeof STORE_OPERATIONS)[number];

/** failed: the store could not be reached or did not answer in time. */
export const STORE_RESULTS = ["ok", "conflict", "fenced", "too_large", "unknown", "failed"] as const;
export type StoreResult = (typeof STORE_RESULTS)[number];

/** The states of a slot in the pool. */
export const SLOT_STATES = ["starting", "busy", "waiting", "idle", "closing"] as const;
export type SlotState = (typeof SLOT_STATES)[number];

/** An agent that the catalogue does not name, so that a caller cannot invent label values. */
export const OTHER_AGENT = "other";
