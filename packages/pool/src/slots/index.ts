export { evictionDue, nextDeadline } from "./deadlines.ts";
export { describePool, type PoolDescription } from "./describe.ts";
export { isDrained } from "./drain.ts";
export * from "./fingerprint.ts";
export type { Checkout, PoolInput } from "./input.ts";
export { assertPool, PoolBroken } from "./invariants.ts";
export * from "./limits.ts";
export { step } from "./pool.ts";
export {
  type AnswerReply,
  type CheckoutReply,
  type GateReply,
  IGNORED_REASONS,
  type IgnoredReason,
  type LiveChange,
  type PoolEffect,
  type PoolReply,
  type Replies,
  type SettledReply,
  type StopReply,
} from "./reply.ts";
export {
  instanceOf,
  type Offers,
  type Slot,
  type SlotKey,
  type SlotLimits,
  type SlotState,
  sessionOf,
  slotKey,
  type Tick,
} from "./slot.ts";
export { createPool, type Pool, type PoolSettings, type Step } from "./state.ts";
