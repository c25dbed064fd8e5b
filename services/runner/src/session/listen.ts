// From the agent's process into the session's lane, in order. What the process said while its start was still on its way
// waits for that; what an ended process said is dropped.
import type { AgentListener } from "../acp/agent.ts";
import { contentArrived, lineDropped } from "./content.ts";
import { gateAsked, gateWithdrawn } from "./gates.ts";
import type { SessionHost } from "./host.ts";
import { agentExited, closeSlot } from "./loss.ts";
import { promptSettled } from "./settle.ts";
import { PART_BYTES, weightOf } from "./weight.ts";

export function listen(host: SessionHost, instance: string): AgentListener {
  const put = (bytes: number, handle: () => Promise<void> | void): void => {
    const first = host.inbox.put(bytes, () => (host.isCurrent(instance) ? handle() : undefined));
    if (first && host.starting?.instance !== instance) seeTo(host);
  };
  return {
    update: (event) => put(weightOf(event.value), () => contentArrived(host, event)),
    asks: (ask) => put(weightOf(ask.toolCall), () => gateAsked(host, ask)),
    withdraws: (askId) => put(PART_BYTES, () => gateWithdrawn(host, askId)),
    settled: (result) => put(PART_BYTES, () => promptSettled(host, result)),
    exited: (exit) => put(PART_BYTES, () => agentExited(host, exit)),
    dropped: (bytes) => put(PART_BYTES, () => lineDropped(host, bytes)),
  };
}

/** Handles, in one turn of the lane, what has come; what comes meanwhile gets a turn of its own. */
function seeTo(host: SessionHost): void {
  host.world.background(host.inLane(() => handleCome(host)));
}

/** In the lane. What was said before a prompt is sent is no part of it (B2): whoever sends the first one hears that out. */
export async function handleCome(host: SessionHost): Promise<void> {
  try {
    for (const handle of host.inbox.take()) await handle();
    await host.flush();
  } catch (error) {
    // What was not handled is lost, so the process cannot go on; a session that waits for it would wait for ever.
    host.world.log.error("crash", { reason: "agent_message", error, ...host.named });
    host.failure = { message: "what the agent said could not be handled", stderr: "" };
    if (host.instance !== null) closeSlot(host, host.instance, "prompt_failed");
  }
}
