// From the agent's process into the session's lane, in order. What the process said while its start was still on its way
// waits for that; what an ended process said is dropped.
import type { AgentListener } from "../acp/agent.ts";
import { contentArrived, lineDropped } from "./content.ts";
import { gateAsked, gateWithdrawn } from "./gates.ts";
import type { SessionHost } from "./host.ts";
import { agentExited } from "./loss.ts";
import { promptSettled } from "./settle.ts";

/** What a message, and each of its parts, weighs in the inbox besides its content. */
const SMALL_BYTES = 256;

export function listen(host: SessionHost, instance: string): AgentListener {
  const put = (bytes: number, handle: () => Promise<void> | void): void => {
    const first = host.inbox.put(bytes, () => (host.isCurrent(instance) ? handle() : undefined));
    if (first && host.starting?.instance !== instance) seeTo(host);
  };
  return {
    update: (event) => put(sizeOf(event.value), () => contentArrived(host, event)),
    asks: (ask) => put(sizeOf(ask.toolCall), () => gateAsked(host, ask)),
    withdraws: (askId) => put(SMALL_BYTES, () => gateWithdrawn(host, askId)),
    settled: (result) => put(SMALL_BYTES, () => promptSettled(host, result)),
    exited: (exit) => put(SMALL_BYTES, () => agentExited(host, exit)),
    dropped: (bytes) => put(SMALL_BYTES, () => lineDropped(host, bytes)),
  };
}

/** Handles, in one turn of the lane, what has come; what comes meanwhile gets a turn of its own. */
export function seeTo(host: SessionHost): void {
  host.world.background(host.inLane(() => handleCome(host)));
}

/** In the lane. What was said before a prompt is sent is no part of it (B2): whoever sends the first one hears that out. */
export async function handleCome(host: SessionHost): Promise<void> {
  for (const handle of host.inbox.take()) await handle();
  await host.flush();
}

/** What a message weighs: its texts and attachments, however deep. */
function sizeOf(value: object): number {
  return Object.values(value).reduce<number>((sum, part) => sum + contentOf(part), SMALL_BYTES);
}

function contentOf(part: unknown): number {
  if (typeof part === "string") return part.length;
  if (part instanceof Uint8Array) return part.byteLength;
  return typeof part === "object" && part !== null ? sizeOf(part) : 0;
}
