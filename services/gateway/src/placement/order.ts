// Where a session without an owner goes (E7): among runners that take new sessions and have its agent, the one with the
// fewest used slots relative to its capacity.
//
// Every live process counts as used, idle ones too: starting here instead of evicting there keeps both sessions warm. But a
// runner that is full of idle sessions has room (it evicts the oldest), so it comes before one that is full of work. The full
// ones come last and are still tried: what was counted may have ended since.
import type { SessionKey } from "@holdfast/pool";
import { sha256 } from "@holdfast/runtime";

/** What a runner says of its pool, and who it is. Counts are live processes. */
export type Candidate = {
  readonly runner: string;
  readonly incarnation: string;
  readonly address: string;
  readonly maxLive: number;
  readonly starting: number;
  readonly busy: number;
  readonly waiting: number;
  readonly idle: number;
  readonly closing: number;
};

/** Best first; the same for every gateway that sees the same numbers. */
export function placementOrder(candidates: readonly Candidate[], key: SessionKey): readonly Candidate[] {
  return candidates
    .map((candidate) => ({ candidate, rank: rankOf(candidate, key) }))
    .sort((one, other) => compare(one.rank, other.rank))
    .map(({ candidate }) => candidate);
}

type Rank = readonly [full: number, used: number, working: number, ordinal: number, weight: string];

function rankOf(candidate: Candidate, key: SessionKey): Rank {
  const { maxLive, starting, busy, waiting, idle, closing } = candidate;
  const capacity = Math.max(maxLive, 1);
  const working = starting + busy + waiting + closing;
  const full = working >= capacity ? 1 : 0;
  return [full, (working + idle) / capacity, working / capacity, ordinalOf(candidate.runner), weightOf(candidate, key)];
}

function compare(one: Rank, other: Rank): number {
  for (const [index, value] of one.entries()) {
    const against = other[index] ?? value;
    if (value !== against) return value < against ? -1 : 1;
  }
  return 0;
}

/** `runner-3` is the fourth of its set; a name without a number comes after all that have one. */
function ordinalOf(runner: string): number {
  const digits = /(\d{1,9})$/.exec(runner)?.[1];
  return digits === undefined ? Number.MAX_SAFE_INTEGER : Number(digits);
}

/** Rendezvous hash: which of two equal runners a session goes to does not depend on who else is there. */
function weightOf({ runner }: Candidate, { project, sessionId }: SessionKey): string {
  return sha256(JSON.stringify([runner, project, sessionId]));
}
