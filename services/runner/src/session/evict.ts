// Evicting a waiting slot, in two swaps (A20): first the record has its gates as cold, then the process is ended.
import { type EvictionReason, evictionDue } from "@holdfast/pool";
import type { SessionHost } from "./host.ts";

export function proposeEviction(host: SessionHost, instance: string, reason: EvictionReason): void {
  host.world.background(host.inLane(() => evict(host, instance, reason)));
}

async function evict(host: SessionHost, instance: string, reason: EvictionReason): Promise<void> {
  const { pool, clock } = host.world;
  const named = { key: host.slot, instance };
  if (!evictionDue(pool.state, { ...named, reason }, clock.monotonicMs())) {
    pool.step({ kind: "eviction_refused", ...named });
    return;
  }
  await host.refresh();
  const changed = await host.change({ type: "mark_cold", reason });
  if (changed.kind !== "refused" && changed.result.kind === "cold") {
    pool.step({ kind: "eviction_confirmed", ...named, reason });
  } else {
    pool.step({ kind: "eviction_refused", ...named });
  }
}
