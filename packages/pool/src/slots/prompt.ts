// The prompt on a process: the start's outcome, the prompt's beginning and its end.
//
// One prompt at a time (A9): a prompt is due from a checkout (or a start, or notes that follow), running from
// `prompt_started`, and over with `prompt_settled`; nothing else makes one.
import type { Named } from "./input.ts";
import type { Done, Ignored, SettledReply } from "./reply.ts";
import { type Busy, type Offers, prompting, startClock, type Tick } from "./slot.ts";
import { changed, DONE, endSlot, ignored, type Pool, rest, type Step, slotOf, withSlot } from "./state.ts";

/** Starting -> busy, with its prompt due. */
export function started(pool: Pool, named: Named & { readonly offers: Offers }, now: Tick): Step<Done | Ignored> {
  const slot = slotOf(pool, named);
  if (slot === null) return ignored(pool, "stale");
  if (slot.state === "closing") return ignored(pool, "closing");
  if (slot.state !== "starting") return ignored(pool, "not_starting");
  const process = { ...slot.process, offers: named.offers };
  const prompt = { kind: "due", from: null } as const;
  const clock = startClock(now);
  return changed(pool, named.key, { state: "busy", process, clock, prompt, sending: [], stoppingSince: null });
}

export function startFailed(pool: Pool, named: Named, now: Tick): Step<Done | Ignored> {
  const slot = slotOf(pool, named);
  if (slot === null) return ignored(pool, "stale");
  if (slot.state === "closing") return ignored(pool, "closing");
  if (slot.state !== "starting") return ignored(pool, "not_starting");
  return { ...endSlot(pool, named.key, slot, "start_failed", now), reply: DONE };
}

export function promptStarted(pool: Pool, named: Named): Step<Done | Ignored> {
  const slot = slotOf(pool, named);
  if (slot === null) return ignored(pool, "stale");
  if (slot.state === "closing") return ignored(pool, "closing");
  if (slot.state === "waiting") return ignored(pool, "prompt_running");
  if (slot.state !== "busy") return ignored(pool, "not_checked_out");
  if (slot.prompt.kind === "running") return ignored(pool, "prompt_running");
  return changed(pool, named.key, { ...slot, prompt: { kind: "running" } });
}

type Settled = Named & { readonly history: string | null; readonly more: boolean };

/** Whatever was open is over with the prompt (A6, C9). After a Stop no further prompt follows, whatever was meant to. */
export function promptSettled(pool: Pool, named: Settled, now: Tick): Step<SettledReply | Ignored> {
  const slot = slotOf(pool, named);
  if (slot === null) return ignored(pool, "stale");
  if (slot.state === "closing") return ignored(pool, "closing");
  if (slot.state !== "waiting" && (slot.state !== "busy" || slot.prompt.kind === "due"))
    return ignored(pool, "no_prompt");
  const process = { ...slot.process, history: named.history };
  const gateIds = slot.state === "waiting" ? slot.gates.map((gate) => gate.gateId) : [];
  const sendingGateIds = slot.sending.map((gate) => gate.gateId);
  if (named.more && !(slot.state === "busy" && slot.stoppingSince !== null)) {
    const due: Busy = { ...prompting(slot, [], now), process, prompt: { kind: "due", from: null } };
    const reply = { kind: "settled", slot: "due", gateIds, sendingGateIds } as const;
    return { state: withSlot(pool, named.key, due), effects: [], reply };
  }
  const change = rest(pool, named.key, process, now, now);
  const kept = change.effects.length === 0 ? "idle" : "closing";
  return { ...change, reply: { kind: "settled", slot: kept, gateIds, sendingGateIds } };
}
