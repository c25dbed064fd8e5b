// An agent asks: the whole call is in the log first, then the gate is in the record, then anyone is told (D3, P3).

import { create } from "@bufbuild/protobuf";
import { GATE_ARGUMENT_BYTES, type GateOption, type GateRefusedReason, PREVIEW_CHARACTERS } from "@holdfast/pool";
import { GateRefusedSchema, type ToolCall } from "@holdfast/proto";
import { sha256 } from "@holdfast/runtime";
import { contentEvent, gateRefusedReasons } from "@holdfast/wire";
import type { PermissionAsk } from "../acp/agent.ts";
import { canonicalCall } from "../call/canonical-call.ts";
import { mergeCall } from "../call/merge.ts";
import { boundary } from "./content.ts";
import type { SessionHost } from "./host.ts";
import type { Live } from "./live.ts";
import { closeSlot, handBack } from "./loss.ts";

/** How long a gate's swap is tried. Then the process is ended: nobody was told, nothing has run (P5). */
const GATE_BUDGET_MS = 10_000;

export async function gateAsked(host: SessionHost, ask: PermissionAsk): Promise<void> {
  const { live, turn } = host;
  if (live === null) return;
  // B2: outside a running prompt nothing is recorded and nothing is shown.
  if (!live.prompting || turn === null) return cancelAsk(host, live, ask);
  live.shown = true;
  boundary(host, live);
  const call = mergeCall(live.calls.get(ask.toolCall.id), ask.toolCall);
  live.remember(call);
  const canonical = canonicalCall(host.agentName, host.directory, call, ask.toolName);
  const isShown = canonical.bytes <= GATE_ARGUMENT_BYTES && !call.truncated && fitsAnEvent(host, call);
  if (!isShown) return refuseAsk(host, live, ask, "too_large");
  const event = { case: "toolCall" as const, value: call };
  live.unfinished.note({ event });
  host.keep(event);
  host.observer.tool(call);
  await host.flush();
  const callSeq = host.teller.last;
  if (callSeq === null) return;
  if (!host.teller.isFlushed) return notRecorded(host, live, "STORE_UNAVAILABLE");
  const gateId = host.world.newId("gate");
  const changed = await host.change(
    {
      type: "open_gate",
      gateId,
      turnId: turn.turnId,
      instance: live.agent.instance,
      callSeq,
      preview: previewOf(host.clean(call)),
      options: ask.options,
      digest: sha256(canonical.text),
      bindable: canonical.bindable,
      approvalExpiryMs: host.world.settings.approvalExpiryMs,
    },
    undefined,
    GATE_BUDGET_MS,
  );
  if (changed.kind === "refused") return notRecorded(host, live, changed.refusal.reason);
  const decided = changed.result;
  switch (decided.kind) {
    case "opened":
      return opened(host, live, ask, gateId);
    case "matched":
      return applyStored(host, live, ask, decided.gateId, decided.optionId);
    case "too_many":
      return refuseAsk(host, live, ask, "too_many");
    case "not_asked":
      return cancelAsk(host, live, ask);
  }
}

/** Nobody was told and nothing has run: the process ends (P5). */
function notRecorded(host: SessionHost, live: Live, reason: string): void {
  host.failure = { message: `a gate could not be recorded: ${reason}`, stderr: "" };
  closeSlot(host, live.agent.instance, "prompt_failed");
}

/** Within its arguments' limit a call may still be too large with all that is around them: part of it would be left out. */
function fitsAnEvent(host: SessionHost, call: ToolCall): boolean {
  const place = { turnId: host.turn?.turnId ?? "", execution: host.turn?.execution ?? 0, at: host.world.clock.now() };
  const { event } = contentEvent(place, { case: "toolCall", value: call });
  return event.case === "toolCall" && !event.value.truncated;
}

function opened(host: SessionHost, live: Live, ask: PermissionAsk, gateId: string): void {
  const toolCallId = ask.toolCall.id;
  live.questions.set(gateId, { askId: ask.askId, toolCallId, options: ask.options });
  const optionIds = ask.options.map(({ optionId }) => optionId);
  host.world.pool.step({ kind: "gate_opened", key: host.slot, instance: live.agent.instance, gateId, optionIds });
}

/** C6: a stored answer applies to this very call; it is `sending` already. */
async function applyStored(
  host: SessionHost,
  live: Live,
  ask: PermissionAsk,
  gateId: string,
  optionId: string,
): Promise<void> {
  const written =
    host.isCurrent(live.agent.instance) &&
    host.world.lease.mayWrite() &&
    live.agent.answer(ask.askId, { kind: "selected", optionId });
  if (written) live.written.set(ask.toolCall.id, gateId);
  else await handBack(host, gateId);
}

function cancelAsk(host: SessionHost, live: Live, ask: PermissionAsk): void {
  if (host.world.lease.mayWrite()) live.agent.answer(ask.askId, { kind: "cancelled" });
}

/** Nobody approves what was not shown (B9): the agent gets its reject option. */
function refuseAsk(host: SessionHost, live: Live, ask: PermissionAsk, reason: GateRefusedReason): void {
  host.observer.gateRefused(reason);
  host.keep({ case: "gateRefused", value: create(GateRefusedSchema, { reason: gateRefusedReasons.toWire(reason) }) });
  const option = rejection(ask.options);
  if (!host.world.lease.mayWrite()) return;
  live.agent.answer(
    ask.askId,
    option === null ? { kind: "cancelled" } : { kind: "selected", optionId: option.optionId },
  );
}

function rejection(options: readonly GateOption[]): GateOption | null {
  return options.find(({ kind }) => kind === "reject_once") ?? null;
}

const PREVIEW_ID_CHARACTERS = 256;
const PREVIEW_TITLE_CHARACTERS = 200;
const PREVIEW_KIND_CHARACTERS = 64;

function previewOf(call: ToolCall) {
  const title = call.title.slice(0, PREVIEW_TITLE_CHARACTERS);
  const room = PREVIEW_CHARACTERS - title.length;
  return {
    toolCallId: call.id.slice(0, PREVIEW_ID_CHARACTERS),
    title,
    kind: call.kind.slice(0, PREVIEW_KIND_CHARACTERS),
    rawInput: call.rawInputJson.slice(0, room),
    truncated: call.rawInputJson.length > room || call.diff.length > 0,
  };
}

/** The agent took its question back (A6). */
export async function gateWithdrawn(host: SessionHost, askId: string): Promise<void> {
  const { live } = host;
  const found = live === null ? undefined : [...live.questions].find(([, question]) => question.askId === askId);
  if (live === null || found === undefined) return;
  const [gateId] = found;
  live.questions.delete(gateId);
  const changed = await host.change({ type: "withdraw_gate", gateId });
  if (changed.kind === "refused") {
    host.world.log.warn("store.unavailable", { reason: changed.refusal.reason, gate: gateId, ...host.named });
    return;
  }
  host.world.pool.step({ kind: "gate_closed", key: host.slot, instance: live.agent.instance, gateId });
}
