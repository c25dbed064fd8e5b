// Stop (A10), and the first half of an INTERRUPT (A9). With this step every open gate is answered `cancelled` and the prompt
// is told; from now on it has CANCEL_BOUND_MS to settle, whether or not the cancel could be written. It settles: idle and
// warm. It does not: the process is ended, cancel_unsettled. What was not prompted yet has nothing to settle: a start is
// given up, a warm process goes back to where it was.
import { giveBack } from "./checkout.ts";
import type { Named } from "./input.ts";
import type { PoolEffect, StopReply } from "./reply.ts";
import { type Busy, prompting, type Tick } from "./slot.ts";
import { endSlot, ignored, type Pool, type Step, slotOf, withSlot } from "./state.ts";

const SETTLED: StopReply = { kind: "stopping", settled: true, gateIds: [] };

/** A second Stop changes nothing: the bound is that of the first (D7). */
export function stop(pool: Pool, named: Named, now: Tick): Step<StopReply> {
  const slot = slotOf(pool, named);
  if (slot === null) return ignored(pool, "stale");
  switch (slot.state) {
    case "closing":
      return ignored(pool, "closing");
    case "idle":
      return ignored(pool, "no_prompt");
    case "starting":
      return { ...endSlot(pool, named.key, slot, "closed", now), reply: SETTLED };
    case "busy": {
      const { prompt } = slot;
      if (slot.stoppingSince !== null) return ignored(pool, "stopping");
      if (prompt.kind === "due") {
        return { ...giveBack(pool, named.key, slot.process, prompt.from, now), reply: SETTLED };
      }
      return stopPrompt(pool, named, { ...slot, stoppingSince: now }, []);
    }
    case "waiting": {
      const gateIds = slot.gates.map((gate) => gate.gateId);
      return stopPrompt(pool, named, { ...prompting(slot, slot.sending, now), stoppingSince: now }, gateIds);
    }
  }
}

function stopPrompt(pool: Pool, { key, instance }: Named, slot: Busy, gateIds: readonly string[]): Step<StopReply> {
  const cancelGates: PoolEffect[] = gateIds.length === 0 ? [] : [{ kind: "cancel_gates", key, instance, gateIds }];
  return {
    state: withSlot(pool, key, slot),
    effects: [...cancelGates, { kind: "cancel_prompt", key, instance }],
    reply: { kind: "stopping", settled: false, gateIds },
  };
}
