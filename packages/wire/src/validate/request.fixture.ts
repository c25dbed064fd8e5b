// Test support: requests made within the limits, to be made wrong by a test.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { RespondApprovalRequestSchema, RunTurnRequestSchema, Verdict } from "@holdfast/proto";
import { CAPABILITIES } from "./capabilities.ts";
import * as limit from "./limits.ts";
import { validateRespondApproval } from "./respond-approval.ts";
import { type RunTurnRules, validateRunTurn } from "./run-turn.ts";
import type { Validated } from "./violations.ts";

export const NOW_MS = 1_800_000_000_000;
export const DEFAULTS = { turnLimitMs: 1_800_000, idleTtlMs: 60_000, approvalTtlMs: 300_000 };
export const RULES: RunTurnRules = {
  nowMs: NOW_MS,
  limits: {
    defaults: DEFAULTS,
    maxima: {
      turnLimitMs: limit.TURN_LIMIT_MAX_MS,
      idleTtlMs: limit.IDLE_TTL_MAX_MS,
      approvalTtlMs: limit.APPROVAL_TTL_MAX_MS,
    },
  },
  capabilities: new Set(CAPABILITIES),
  catalogueSecretNames: new Set(["CATALOGUE_KEY"]),
};

export type RunTurnInit = MessageInitShape<typeof RunTurnRequestSchema>;
export type RespondInit = MessageInitShape<typeof RespondApprovalRequestSchema>;

export const text = (value: string) => ({ block: { case: "text", value: { text: value } } }) as const;

export function runTurn(init: RunTurnInit, rules = RULES) {
  return validateRunTurn(
    create(RunTurnRequestSchema, { sessionId: "s-1", prompt: [text("say hello")], ...init }),
    rules,
  );
}

export function respond(init: RespondInit) {
  const decision = { case: "verdict", value: Verdict.ALLOW } as const;
  const request = create(RespondApprovalRequestSchema, { sessionId: "s-1", gateId: "g-1", decision, ...init });
  return validateRespondApproval(request, RULES);
}

/** The fields a refusal names, in order; its reason where it names none; empty for a request that holds. */
export function fields(result: Validated<unknown>): readonly string[] {
  if ("value" in result) return [];
  return (result.refusal.violations ?? [{ field: result.refusal.reason }]).map((each) => each.field);
}

export function value<T>(result: Validated<T>): T {
  if ("refusal" in result) throw new Error(JSON.stringify(result.refusal.violations));
  return result.value;
}

export const many = (count: number) => "x".repeat(count);

export function entries<T>(count: number, made: T): Record<string, T> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, made]));
}
