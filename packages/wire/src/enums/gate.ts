// Gates, answers and what becomes of them: the pool's words and the contract's enums.
import type * as pool from "@holdfast/pool";
import {
  Disposition,
  GateCloseReason,
  GateRefusedReason,
  GateState,
  MootReason,
  OptionKind,
  Verdict,
} from "@holdfast/proto";
import { enumTable } from "./enum-table.ts";

export const verdicts = enumTable<pool.Verdict, Verdict>({
  allow: Verdict.ALLOW,
  reject: Verdict.REJECT,
});

export const optionKinds = enumTable<pool.OptionKind, OptionKind>({
  allow_once: OptionKind.ALLOW_ONCE,
  allow_always: OptionKind.ALLOW_ALWAYS,
  reject_once: OptionKind.REJECT_ONCE,
  reject_always: OptionKind.REJECT_ALWAYS,
});

export const dispositions = enumTable<pool.Disposition, Disposition>({
  queued: Disposition.QUEUED,
  stored: Disposition.STORED,
  sending: Disposition.SENDING,
  applied: Disposition.APPLIED,
  delivered: Disposition.DELIVERED,
  uncertain: Disposition.UNCERTAIN,
  moot: Disposition.MOOT,
});

export const mootReasons = enumTable<pool.MootReason, MootReason>({
  cancelled: MootReason.CANCELLED,
  turn_ended: MootReason.TURN_ENDED,
  withdrawn: MootReason.WITHDRAWN,
  not_reissued: MootReason.NOT_REISSUED,
  expired: MootReason.EXPIRED,
});

export const gateCloseReasons = enumTable<pool.GateCloseReason, GateCloseReason>({
  cancelled: GateCloseReason.CANCELLED,
  turn_ended: GateCloseReason.TURN_ENDED,
  withdrawn: GateCloseReason.WITHDRAWN,
  superseded: GateCloseReason.SUPERSEDED,
  expired: GateCloseReason.EXPIRED,
});

export const gateRefusedReasons = enumTable<pool.GateRefusedReason, GateRefusedReason>({
  too_large: GateRefusedReason.TOO_LARGE,
  too_many: GateRefusedReason.TOO_MANY,
});

/** What a caller sees of a gate: its four states. */
export type GateStateName = "pending" | "answered" | "cancelled" | "expired";
export const gateStates = enumTable<GateStateName, GateState>({
  pending: GateState.PENDING,
  answered: GateState.ANSWERED,
  cancelled: GateState.CANCELLED,
  expired: GateState.EXPIRED,
});
