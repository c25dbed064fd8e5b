// Gates as the process sees them: open (a request of the agent is held), sending (its answer was written, the agent has not
// reported on the call), or nothing. What they are to humans is in the record.
//
// G1  A gate is consumed at most once: consuming moves it from open to sending, and nothing but a hand-back moves it back.
// G2  An answer that names no open gate, or an option that was not offered, changes nothing (A7, P4).
// G3  A slot waits from its first gate's opening to its last one's closing, whatever other calls are open or sending (A19).
import { OPEN_GATES_PER_SESSION } from "../limits.ts";
import { refusal } from "../refusal.ts";
import type { Named, NamedGate } from "./input.ts";
import type { AnswerReply, Done, GateReply, Ignored } from "./reply.ts";
import { type Busy, type SlotGate, type SlotKey, sessionOf, type Tick, type Waiting, working } from "./slot.ts";
import { changed, ignored, type Pool, type Step, slotOf, withSlot } from "./state.ts";

type Opened = NamedGate & { readonly optionIds: readonly string[] };

export function gateOpened(pool: Pool, named: Opened, now: Tick): Step<GateReply> {
  const slot = slotOf(pool, named);
  if (slot === null) return ignored(pool, "stale");
  if (slot.state === "closing") return cancelled(pool, "closing");
  if (slot.state === "starting" || slot.state === "idle") return cancelled(pool, "no_prompt");
  if (slot.state === "busy" && slot.prompt.kind === "due") return cancelled(pool, "no_prompt");
  if (slot.state === "busy" && slot.stoppingSince !== null) return cancelled(pool, "stopping");
  const gates = openGates(slot);
  if (holds(gates, named.gateId) || holds(slot.sending, named.gateId)) return ignored(pool, "gate_known");
  if (gates.length >= OPEN_GATES_PER_SESSION) {
    return { state: pool, effects: [], reply: { kind: "gate_refused", why: "too_many" } };
  }
  const gate: SlotGate = { gateId: named.gateId, optionIds: named.optionIds };
  const state = withSlot(pool, named.key, working(slot, [...gates, gate], slot.sending, now));
  return { state, effects: [], reply: { kind: "opened" } };
}

/** Looks, and changes nothing (P4). Consuming is a step of its own, after the admission's swap. */
export function answer(pool: Pool, named: NamedGate & { readonly optionId: string }): Step<AnswerReply> {
  const slot = slotOf(pool, named);
  if (slot === null || slot.state === "closing") return { state: pool, effects: [], reply: { kind: "gone" } };
  const gate = slot.state === "waiting" ? slot.gates.find((open) => open.gateId === named.gateId) : undefined;
  if (gate === undefined) return gateUnknown(pool, named);
  if (!gate.optionIds.includes(named.optionId)) return optionNotOffered(pool, named.key, gate);
  return { state: pool, effects: [], reply: { kind: "open" } };
}

export function gateConsumed(pool: Pool, named: NamedGate, now: Tick): Step<Done | Ignored> {
  return onGates(pool, named, (slot) => {
    const gates = openGates(slot);
    const gate = gates.find((open) => open.gateId === named.gateId);
    if (gate === undefined) return ignored(pool, "gate_not_open");
    return changed(pool, named.key, working(slot, without(gates, named.gateId), [...slot.sending, gate], now));
  });
}

/** A gate whose answer is sending is closed with it: that answer was delivered (A6). */
export function gateClosed(pool: Pool, named: NamedGate, now: Tick): Step<Done | Ignored> {
  return onGates(pool, named, (slot) => {
    const gates = openGates(slot);
    if (!holds(gates, named.gateId) && !holds(slot.sending, named.gateId)) return ignored(pool, "gate_not_open");
    const left = working(slot, without(gates, named.gateId), without(slot.sending, named.gateId), now);
    return changed(pool, named.key, left);
  });
}

export function answerReported(pool: Pool, named: NamedGate, now: Tick): Step<Done | Ignored> {
  return onGates(pool, named, (slot) => {
    if (!holds(slot.sending, named.gateId)) return ignored(pool, "not_sending");
    return changed(pool, named.key, working(slot, openGates(slot), without(slot.sending, named.gateId), now));
  });
}

/** Only when this runner knows that it did not write the answer (D9). After a Stop the gate stays closed: it was cancelled. */
export function answerHandedBack(pool: Pool, named: NamedGate, now: Tick): Step<Done | Ignored> {
  return onGates(pool, named, (slot) => {
    const gate = slot.sending.find((sent) => sent.gateId === named.gateId);
    if (gate === undefined) return ignored(pool, "not_sending");
    if (slot.state === "busy" && slot.stoppingSince !== null) return ignored(pool, "stopping");
    return changed(
      pool,
      named.key,
      working(slot, [...openGates(slot), gate], without(slot.sending, named.gateId), now),
    );
  });
}

type OnGates = (slot: Busy | Waiting) => Step<Done | Ignored>;

function onGates(pool: Pool, named: Named, act: OnGates): Step<Done | Ignored> {
  const slot = slotOf(pool, named);
  if (slot === null) return ignored(pool, "stale");
  if (slot.state === "closing") return ignored(pool, "closing");
  if (slot.state === "starting" || slot.state === "idle") return ignored(pool, "no_prompt");
  if (slot.state === "busy" && slot.prompt.kind === "due") return ignored(pool, "no_prompt");
  return act(slot);
}

function openGates(slot: Busy | Waiting): readonly SlotGate[] {
  return slot.state === "waiting" ? slot.gates : [];
}

function holds(gates: readonly SlotGate[], gateId: string): boolean {
  return gates.some((gate) => gate.gateId === gateId);
}

function without(gates: readonly SlotGate[], gateId: string): readonly SlotGate[] {
  return gates.filter((gate) => gate.gateId !== gateId);
}

function cancelled(state: Pool, why: "stopping" | "no_prompt" | "closing"): Step<GateReply> {
  return { state, effects: [], reply: { kind: "gate_cancelled", why } };
}

function gateUnknown(state: Pool, { key, gateId }: NamedGate): Step<AnswerReply> {
  const { sessionId } = sessionOf(key);
  const why = refusal(
    "GATE_UNKNOWN",
    `The process of session ${sessionId} holds no open gate ${gateId}. The session is as it was.`,
    "Read the session's open gates and answer one of them.",
    { session_id: sessionId, gate_id: gateId },
  );
  return { state, effects: [], reply: { kind: "refused", refusal: why } };
}

function optionNotOffered(state: Pool, key: SlotKey, gate: SlotGate): Step<AnswerReply> {
  const { sessionId } = sessionOf(key);
  const why = refusal(
    "OPTION_NOT_OFFERED",
    `Gate ${gate.gateId} of session ${sessionId} does not offer this option. The gate is still open.`,
    "Choose one of the options it offers.",
    { session_id: sessionId, gate_id: gate.gateId, option_ids: gate.optionIds.join(",") },
  );
  return { state, effects: [], reply: { kind: "refused", refusal: why } };
}
