// The shapes of gates, of their answers, and of the tombstones they leave.
import { GATE_CLOSE_REASONS, MOOT_REASONS, OPTION_KINDS, VERDICTS } from "@holdfast/pool";
import { z } from "zod";
import { count, millis } from "./value.ts";

export const deliveryShape = z.object({ incarnation: z.string(), nonce: z.string() });

const dispositionShape = z.discriminatedUnion("kind", [
  z.object({ kind: z.enum(["queued", "stored", "sending", "applied", "delivered", "uncertain"]) }),
  z.object({ kind: z.literal("moot"), why: z.enum(MOOT_REASONS) }),
]);

/** What stays of an answer in a tombstone. */
const committedShape = z.object({
  answerId: z.string(),
  commandId: z.string(),
  optionId: z.string(),
  verdict: z.enum(VERDICTS),
  principal: z.string(),
  channel: z.string(),
  at: millis,
  note: z.string(),
  idempotencyKey: z.string().nullable(),
  contentDigest: z.string(),
  order: count,
  execution: count,
  disposition: dispositionShape,
});

const answerShape = committedShape.extend({
  traceparent: z.string(),
  attempts: count,
  recoverable: z.string().nullable(),
  admitted: deliveryShape.nullable(),
});

const closedOptionShape = z.object({ optionId: z.string(), kind: z.enum(OPTION_KINDS) });
const optionShape = closedOptionShape.extend({ name: z.string() });

const previewShape = z.object({
  toolCallId: z.string(),
  title: z.string(),
  kind: z.string(),
  rawInput: z.string(),
  truncated: z.boolean(),
});

/** What never changes about a gate. */
export const openedGateShape = z.object({
  gateId: z.string(),
  turnId: z.string(),
  instance: z.string(),
  callSeq: count,
  preview: previewShape,
  options: z.array(optionShape),
  digest: z.string(),
  bindable: z.boolean(),
  mayRepeat: z.string().nullable(),
  openedAt: millis,
  expiresAt: millis,
});

export const gateShape = openedGateShape.extend({
  warm: z.boolean(),
  state: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("pending") }),
    z.object({ kind: z.literal("answered"), answer: answerShape }),
  ]),
});

export const tombstoneShape = z.object({
  gateId: z.string(),
  turnId: z.string(),
  toolCallId: z.string(),
  title: z.string(),
  digest: z.string(),
  openedAt: millis,
  closedAt: millis,
  options: z.array(closedOptionShape),
  state: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("answered"), answer: committedShape }),
    z.object({ kind: z.literal("closed"), why: z.enum(GATE_CLOSE_REASONS), supersededBy: z.string().nullable() }),
  ]),
});
