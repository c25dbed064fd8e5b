// The shape of a stored record, field by field as packages/pool writes it. Fields that are not named here are let through
// at every level: they belong to a newer release that writes the same format. The end of the file makes the compiler
// compare this shape with the type, in both directions.
import { COLD_REASONS, OUTCOMES, RECORD_FORMAT, type SessionRecord, TIERS } from "@holdfast/pool";
import { z } from "zod";
import { configShape } from "./config.ts";
import { errorShape, stateEventShape } from "./event.ts";
import { deliveryShape, gateShape, tombstoneShape } from "./gate.ts";
import { count, type Exactly, millis } from "./value.ts";

const ownerShape = z.object({ runner: z.string(), incarnation: z.string(), address: z.string() });

const processShape = z.object({ instance: z.string(), pid: count, tier: z.enum(TIERS) });

const endingShape = z.object({
  outcome: z.enum(OUTCOMES),
  stopReason: z.string(),
  at: millis,
  error: errorShape.nullable(),
});

const turnShape = z.object({
  turnId: z.string(),
  requestId: z.string().nullable(),
  principal: z.string(),
  openedAt: millis,
  afterSeq: count,
  onDisconnect: z.enum(["detach", "cancel"]),
  ending: endingShape.nullable(),
});

const executionShape = z.object({
  number: count,
  turnId: z.string(),
  parent: count.nullable(),
  state: z.enum(["queued", "running", "parked", "stopping", "continued", "ended", "lost"]),
  parkedAt: millis.nullable(),
});

const cancelShape = z.object({
  commandId: z.string(),
  execution: count,
  reason: z.string(),
  principal: z.string(),
  channel: z.string(),
  at: millis,
  attempts: count,
  admitted: deliveryShape.nullable(),
});

const stopShape = z.object({
  commandId: z.string(),
  turnId: z.string(),
  execution: count,
  idempotencyKey: z.string().nullable(),
  contentDigest: z.string(),
});

const requestShape = z.object({
  requestId: z.string(),
  contentDigest: z.string(),
  turnId: z.string(),
  afterSeq: count,
});

export const recordShape = z.object({
  format: z.literal(RECORD_FORMAT),
  project: z.string(),
  sessionId: z.string(),
  agent: z.string(),
  labels: z.record(z.string(), z.string()),
  config: configShape,
  secretNames: z.array(z.string()),
  createdAt: millis,
  updatedAt: millis,
  epoch: count,
  owner: ownerShape.nullable(),
  lastRunner: z.string().nullable(),
  process: processShape.nullable(),
  coldReason: z.enum(COLD_REASONS),
  agentSession: z.object({ id: z.string(), turnId: z.string() }).nullable(),
  turn: turnShape.nullable(),
  execution: executionShape.nullable(),
  gates: z.array(gateShape),
  tombstones: z.array(tombstoneShape),
  cancel: cancelShape.nullable(),
  next: z.object({ turnId: z.string(), requestId: z.string().nullable() }).nullable(),
  requests: z.array(requestShape),
  stops: z.array(stopShape),
  outbox: z.array(stateEventShape),
  operations: z.array(z.string()),
  answerCount: count,
});

true satisfies Exactly<SessionRecord, z.output<typeof recordShape>>;
