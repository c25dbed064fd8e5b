// A prompt goes to the live process. The lease is looked at and the bytes are written in one synchronous step (E4).
import type { ContentBlock } from "@holdfast/proto";
import type { SessionHost } from "./host.ts";

export function sendPrompt(host: SessionHost, blocks: readonly ContentBlock[]): void {
  const { live } = host;
  if (live === null) throw new Error(`session ${host.key.sessionId}: a prompt needs a live process`);
  const { instance } = live.agent;
  host.world.pool.step({ kind: "prompt_started", key: host.slot, instance });
  live.beginPrompt();
  if (host.world.lease.mayWrite()) live.agent.prompt(blocks);
  else host.depose("LEASE_LOST");
}
