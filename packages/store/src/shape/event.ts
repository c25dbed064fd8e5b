// The shapes of the state events that wait in a record's outbox (D14).
import { COLD_REASONS, GATE_CLOSE_REASONS, OUTCOMES, TIERS, VERDICTS } from "@holdfast/pool";
import { z } from "zod";
import { openedGateShape } from "./gate.ts";
import { count, millis } from "./value.ts";

export const errorShape = z.object({ reason: z.string(), message: z.string(), nextStep: z.string() });

const tellShape = z.discriminatedUnion("type", [
  z.object({ type: z.literal("prompt"), preview: z.string(), truncated: z.boolean(), principal: z.string() }),
  z.object({
    type: z.literal("started"),
    tier: z.enum(TIERS),
    coldReason: z.enum(COLD_REASONS).nullable(),
    runner: z.string(),
  }),
  z.object({ type: z.literal("gate_opened"), gate: openedGateShape }),
  z.object({
    type: z.literal("gate_answered"),
    gateId: z.string(),
    answerId: z.string(),
    verdict: z.enum(VERDICTS),
    optionId: z.string(),
  }),
  z.object({ type: z.literal("gate_closed"), gateId: z.string(), reason: z.enum(GATE_CLOSE_REASONS) }),
  z.object({ type: z.literal("continued"), commandId: z.string(), tier: z.enum(TIERS) }),
  z.object({ type: z.literal("recoverable"), commandId: z.string(), reason: z.string() }),
  z.object({
    type: z.literal("ended"),
    outcome: z.enum(OUTCOMES),
    stopReason: z.string(),
    error: errorShape.nullable(),
    moot: z.array(z.string()),
    uncertain: z.array(z.string()),
  }),
]);

export const stateEventShape = z.object({
  id: z.string(),
  turnId: z.string(),
  execution: count,
  at: millis,
  tell: tellShape,
});
