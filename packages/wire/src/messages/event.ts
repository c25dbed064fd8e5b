// Events as the contract has them: from what the record tells (D14), and from what an agent says. Both makers keep an event
// within its size (see event-size.ts), so what they return can be logged and sent.
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ParkNote, StateEvent, Tell } from "@holdfast/pool";
import {
  CommandRecoverableSchema,
  type ContentBlock,
  ContentBlockSchema,
  ContinuedSchema,
  EndedSchema,
  FallReason,
  GateAnsweredSchema,
  GateClosedSchema,
  GateOpenedSchema,
  ParkedSchema,
  PromptSchema,
  StartedSchema,
  type ToolCall,
  type TurnEvent,
  TurnEventSchema,
} from "@holdfast/proto";
import { gateCloseReasons, verdicts } from "../enums/gate.ts";
import { fallReasons, outcomes, tiers } from "../enums/turn.ts";
import { errorDetail } from "./error-detail.ts";
import { fitEvent } from "./event-size.ts";
import { type GateSession, openedGateMessage } from "./gate.ts";

/** The large parts of a state event, from whoever still has them. Null: the record's preview is all there is. */
export type StateSources = {
  /** The whole prompt, for `prompt`. */
  readonly prompt: readonly ContentBlock[] | null;
  /** The whole call, for `gate_opened`. */
  readonly call: ToolCall | null;
  /** Whose gate it is, for `gate_opened`; without it the gate's session_id and labels stay empty. */
  readonly session?: GateSession;
};

export type EventCase = TurnEvent["event"];
/** Where and when: a state event has all three itself. `at` is in milliseconds since 1970. */
export type EventPlace = { readonly turnId: string; readonly execution: number; readonly at: number };

/** A durable event that has no number yet (seq 0). */
export function stateEvent(event: StateEvent, sources: StateSources): TurnEvent {
  return contentEvent(event, stateCase(event.tell, sources));
}

/** The same for what an agent says. A call that was cut to fit is marked `truncated`: it must not become a gate (B9). */
export function contentEvent({ turnId, execution, at }: EventPlace, event: EventCase): TurnEvent {
  return fitEvent(create(TurnEventSchema, { turnId, execution, time: timestampFromMs(at), event }));
}

/** The end marker of a stream that follows UNTIL_PARKED: live, without a number (A19). */
export function parkedEvent(place: EventPlace, gateIds: readonly string[]): TurnEvent {
  return contentEvent(place, { case: "parked", value: create(ParkedSchema, { gateIds: [...gateIds] }) });
}

/** What a stream that follows UNTIL_PARKED has to know of an event. */
export function parkNote({ seq, event }: TurnEvent, isShown: boolean): ParkNote {
  return { seq: Number(seq), isShown, gate: gateNews(event) };
}

function gateNews(event: TurnEvent["event"]): ParkNote["gate"] {
  switch (event.case) {
    case "gateOpened":
      return { state: "open", gateId: event.value.gate?.gateId ?? "" };
    case "gateAnswered":
    case "gateClosed":
      return { state: "over", gateId: event.value.gateId };
    default:
      return null;
  }
}

function stateCase(tell: Tell, sources: StateSources): EventCase {
  switch (tell.type) {
    case "prompt": {
      const { preview, principal } = tell;
      const whole = sources.prompt;
      const content = whole ?? [textBlock(preview)];
      const value = { content: [...content], truncated: whole === null && tell.truncated, principal };
      return { case: "prompt", value: create(PromptSchema, value) };
    }
    case "started": {
      const coldReason = tell.coldReason === null ? FallReason.UNSPECIFIED : fallReasons.toWire(tell.coldReason);
      const value = { tier: tiers.toWire(tell.tier), coldReason, runner: tell.runner };
      return { case: "started", value: create(StartedSchema, value) };
    }
    case "gate_opened": {
      const gate = openedGateMessage(tell.gate, sources.session ?? { sessionId: "", labels: {} }, sources.call);
      return { case: "gateOpened", value: create(GateOpenedSchema, { gate }) };
    }
    case "gate_answered": {
      const { gateId, answerId, optionId } = tell;
      const value = { gateId, answerId, verdict: verdicts.toWire(tell.verdict), optionId };
      return { case: "gateAnswered", value: create(GateAnsweredSchema, value) };
    }
    case "gate_closed": {
      const value = { gateId: tell.gateId, reason: gateCloseReasons.toWire(tell.reason) };
      return { case: "gateClosed", value: create(GateClosedSchema, value) };
    }
    case "continued": {
      const value = { commandId: tell.commandId, tier: tiers.toWire(tell.tier) };
      return { case: "continued", value: create(ContinuedSchema, value) };
    }
    case "recoverable": {
      const { commandId, reason } = tell;
      return { case: "recoverable", value: create(CommandRecoverableSchema, { commandId, reason }) };
    }
    case "ended":
      return endedCase(tell);
  }
}

function endedCase(tell: Extract<Tell, { type: "ended" }>): EventCase {
  const value = {
    outcome: outcomes.toWire(tell.outcome),
    stopReason: tell.stopReason,
    error: tell.error === null ? undefined : errorDetail(tell.error),
    moot: [...tell.moot],
    uncertain: [...tell.uncertain],
  };
  return { case: "ended", value: create(EndedSchema, value) };
}

function textBlock(text: string): ContentBlock {
  return create(ContentBlockSchema, { block: { case: "text", value: { text } } });
}
