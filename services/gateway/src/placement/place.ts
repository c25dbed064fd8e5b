// Who may be asked to claim a session that has no owner: the runners that live, take new sessions and have its agent, best
// first (E7).
import { type Refusal, refusal, type SessionKey } from "@holdfast/pool";
import { agentsOf, type LivePool, livePools } from "../runners/pools.ts";
import type { GatewayWorld } from "../world.ts";
import { type Candidate, placementOrder } from "./order.ts";

export type Placement = { readonly candidates: readonly Candidate[] } | { readonly refusal: Refusal };

/** At least one candidate, or why there is none. Throws StoreUnavailable. */
export async function place(
  world: GatewayWorld,
  key: SessionKey,
  agent: string,
  signal: AbortSignal,
): Promise<Placement> {
  const pools = await livePools(world, signal);
  const agents = agentsOf(pools);
  world.telemetry.metrics.knowAgents(agents);
  if (pools.length > 0 && !agents.includes(agent)) return { refusal: agentUnknown(key, agent, agents) };
  const taking = pools.filter(
    ({ lease, pool }) => lease.state === "live" && !pool.draining && pool.agents.includes(agent),
  );
  if (taking.length === 0)
    return {
      refusal: noRoom(key, pools.length === 0 ? "no runner answers" : "every runner that has its agent is draining"),
    };
  return { candidates: placementOrder(taking.map(candidateOf), key) };
}

function candidateOf({ lease, pool }: LivePool): Candidate {
  const { maxLive, starting, busy, waiting, idle, closing } = pool;
  const { runner, incarnation, address } = lease;
  return { runner, incarnation, address, maxLive, starting, busy, waiting, idle, closing };
}

/** No room anywhere; nothing ran. */
export function noRoom({ sessionId }: SessionKey, why: string): Refusal {
  const what = `session ${sessionId} has no place: ${why}; nothing ran`;
  return refusal("POOL_FULL", what, "try again in a moment", { session_id: sessionId });
}

function agentUnknown({ sessionId }: SessionKey, agent: string, agents: readonly string[]): Refusal {
  return refusal(
    "AGENT_UNKNOWN",
    `session ${sessionId}: there is no agent "${agent}"; there are: ${agents.join(", ")}`,
    "name one of them",
    { session_id: sessionId, agent, agents: agents.join(",") },
  );
}
