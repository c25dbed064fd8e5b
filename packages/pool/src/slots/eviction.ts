// Evicting a waiting slot takes two steps (A20), because its gates are the record's: the pool proposes, the shell swaps the
// record (gates cold, process gone), and only then the process is ended. A proposal goes through the session's lane, so it
// never falls between an answer's admission and the step that consumes its gate (A6).
//
// V1  What the record says is gone is ended: a confirmation ends the process in whatever live state it is now.
// V2  A refusal leaves the slot as it is. It is proposed again when its gates changed, or after EVICTION_RECHECK_MS.
// V3  A proposal nobody answers is made again after EVICTION_RECHECK_MS: nothing waits for ever.
import type { EvictionReason } from "../reasons.ts";
import type { Named } from "./input.ts";
import { EVICTION_RECHECK_MS } from "./limits.ts";
import type { Done, Ignored } from "./reply.ts";
import type { SlotKey, Tick, Waiting } from "./slot.ts";
import { type Change, changed, DONE, endSlot, ignored, type Pool, type Step, slotOf, withSlot } from "./state.ts";

export function proposeEviction(pool: Pool, key: SlotKey, slot: Waiting, reason: EvictionReason, now: Tick): Change {
  const proposal = { reason, againAt: now + EVICTION_RECHECK_MS, refused: false };
  const { instance } = slot.process;
  return {
    state: withSlot(pool, key, { ...slot, proposal }),
    effects: [{ kind: "propose_eviction", key, instance, reason }],
  };
}

type Confirmed = Named & { readonly reason: EvictionReason };

export function evictionConfirmed(pool: Pool, named: Confirmed, now: Tick): Step<Done | Ignored> {
  const slot = slotOf(pool, named);
  if (slot === null) return ignored(pool, "stale");
  if (slot.state === "closing") return ignored(pool, "closing");
  return { ...endSlot(pool, named.key, slot, named.reason, now), reply: DONE };
}

export function evictionRefused(pool: Pool, named: Named, now: Tick): Step<Done | Ignored> {
  const slot = slotOf(pool, named);
  if (slot === null) return ignored(pool, "stale");
  if (slot.state === "closing") return ignored(pool, "closing");
  if (slot.state !== "waiting" || slot.proposal === null) return ignored(pool, "not_proposed");
  const proposal = { ...slot.proposal, againAt: now + EVICTION_RECHECK_MS, refused: true };
  return changed(pool, named.key, { ...slot, proposal });
}
