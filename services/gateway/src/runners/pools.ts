// The pools of the runners that live: what placement and GetServerInfo ask for. A runner that does not answer in time is left
// out; it does not hold the others up.
import { isAlive } from "@holdfast/ledger";
import type { Lease } from "@holdfast/pool";
import type { DescribePoolResponse } from "@holdfast/proto";
import type { GatewayWorld } from "../world.ts";

export type LivePool = { readonly lease: Lease; readonly pool: DescribePoolResponse };

/** Draining ones included: they say so. Throws StoreUnavailable. */
export async function livePools(world: GatewayWorld, signal?: AbortSignal): Promise<readonly LivePool[]> {
  const leases = (await world.store.leases.list()).map(({ lease }) => lease).filter(isAlive);
  world.runners.keepOnly(new Set(leases.map(({ address }) => address)));
  const asked = await Promise.all(
    leases.map(async (lease): Promise<LivePool[]> => {
      const described = await world.runners.describe(lease.address, signal);
      if (described.kind !== "reply" || described.reply.incarnation !== lease.incarnation) return [];
      return [{ lease, pool: described.reply }];
    }),
  );
  return asked.flat();
}

/** Every agent that some runner has, sorted. */
export function agentsOf(pools: readonly LivePool[]): readonly string[] {
  return [...new Set(pools.flatMap(({ pool }) => pool.agents))].sort();
}
