// Gates as callers see them: open, answered, or what is left of a closed one.
//
// A gate's call comes in two forms. The preview is in the record and is what lists show. The whole call is the tool_call
// event with the number `callSeq`; who has read it passes it in.
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type * as pool from "@holdfast/pool";
import {
  type Gate,
  GateCloseReason,
  GateKind,
  type GateOption,
  GateOptionSchema,
  GateSchema,
  type GateToolCall,
  GateToolCallSchema,
  type ToolCall,
} from "@holdfast/proto";
import { gateCloseReasons, gateStates, optionKinds } from "../enums/gate.ts";
import { answerMessage } from "./answer.ts";

/** Whose gate it is: what every message of it repeats for inboxes. */
export type GateSession = { readonly sessionId: string; readonly labels: Readonly<Record<string, string>> };

/** The same, with what tells until when its process is kept. */
export type ParkedSession = GateSession & Pick<pool.SessionRecord, "execution" | "config">;

/** A gate of the record: pending, or answered without a final disposition. `call` null shows the preview. */
export function gateMessage(gate: pool.Gate, session: ParkedSession, call: ToolCall | null): Gate {
  const answered = gate.state.kind === "answered" ? gate.state.answer : null;
  return create(GateSchema, {
    ...openedFields(gate, session, call),
    parkedUntil: gate.warm ? parkedUntil(session) : undefined,
    state: gateStates.toWire(gate.state.kind),
    warm: gate.warm,
    answer: answered === null ? undefined : answerMessage(answered),
  });
}

/** approval_ttl runs from the moment the execution parked (D4); absent while it works. */
function parkedUntil({ execution, config }: ParkedSession) {
  const parkedAt = execution?.state === "parked" ? execution.parkedAt : null;
  return parkedAt === null ? undefined : timestampFromMs(parkedAt + config.limits.approvalTtlMs);
}

/** The gate as it opened, for its event: pending, of a process that is alive. */
export function openedGateMessage(gate: pool.OpenedGate, session: GateSession, call: ToolCall | null): Gate {
  return create(GateSchema, {
    ...openedFields(gate, session, call),
    state: gateStates.toWire("pending"),
    warm: true,
  });
}

/** What is left of a closed gate: no arguments, options without names, and the call is marked as cut. */
export function tombstoneMessage(tombstone: pool.Tombstone, session: GateSession): Gate {
  const { state } = tombstone;
  const toolCall = create(GateToolCallSchema, { id: tombstone.toolCallId, title: tombstone.title, truncated: true });
  return create(GateSchema, {
    ...sessionFields(session),
    gateId: tombstone.gateId,
    turnId: tombstone.turnId,
    kind: GateKind.PERMISSION,
    toolCall,
    options: tombstone.options.map((option) => optionMessage({ ...option, name: "" })),
    digest: tombstone.digest,
    openedAt: timestampFromMs(tombstone.openedAt),
    state: gateStates.toWire(closedState(state)),
    closeReason: state.kind === "closed" ? gateCloseReasons.toWire(state.why) : GateCloseReason.UNSPECIFIED,
    supersededBy: state.kind === "closed" ? (state.supersededBy ?? "") : "",
    answer: state.kind === "answered" ? answerMessage(state.answer) : undefined,
  });
}

/** The whole call of a tool_call event, as a gate shows it. */
export function wholeCall(call: ToolCall): GateToolCall {
  const { id, title, kind, rawInputJson, diff, locations, truncated } = call;
  return create(GateToolCallSchema, { id, title, kind, rawInputJson, diff, locations, truncated });
}

/** The short form in the record, for lists. */
export function previewCall(preview: pool.CallPreview): GateToolCall {
  const { toolCallId, title, kind, rawInput, truncated } = preview;
  return create(GateToolCallSchema, { id: toolCallId, title, kind, rawInputJson: rawInput, truncated });
}

function openedFields(gate: pool.OpenedGate, session: GateSession, call: ToolCall | null) {
  return {
    ...sessionFields(session),
    gateId: gate.gateId,
    turnId: gate.turnId,
    kind: GateKind.PERMISSION,
    toolCall: call === null ? previewCall(gate.preview) : wholeCall(call),
    options: gate.options.map(optionMessage),
    digest: gate.digest,
    bindable: gate.bindable,
    mayRepeat: gate.mayRepeat ?? "",
    openedAt: timestampFromMs(gate.openedAt),
    expiresAt: timestampFromMs(gate.expiresAt),
  };
}

function sessionFields({ sessionId, labels }: GateSession) {
  return { sessionId, labels: { ...labels } };
}

function optionMessage({ optionId, name, kind }: pool.GateOption): GateOption {
  return create(GateOptionSchema, { optionId, name, kind: optionKinds.toWire(kind) });
}

function closedState(state: pool.TombstoneState): "answered" | "cancelled" | "expired" {
  if (state.kind === "answered") return "answered";
  return state.why === "expired" ? "expired" : "cancelled";
}
