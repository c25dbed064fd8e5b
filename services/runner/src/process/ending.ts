// How processes are ended, and that they are: SIGTERM, a bound, SIGKILL, a bound, and a look that nothing is left.
//
// E1  Before a signal is sent, the process is looked at again: same pid, same start time.
// E2  Processes fork while they are being ended, so whoever is found is found anew until nobody is.
// E3  It takes at most TERM_BOUND_MS and KILL_BOUND_MS. What is still there then waits in the kernel, and is told of.

import type { Clock } from "@holdfast/runtime";
import { isRunning, type ProcessEntry, type ProcessId } from "./table.ts";

/** How long a process has after SIGTERM. */
export const TERM_BOUND_MS = 2_000;
/** How long the kernel has after SIGKILL. */
export const KILL_BOUND_MS = 2_000;

/** Between two looks at processes that have been told to go; the first looks come sooner. */
const LOOK_MIN_MS = 5;
const LOOK_MAX_MS = 50;
/** Between two searches for processes that nobody knew of. */
const SEARCH_MS = 250;

/** What came of it: how many processes were told to go, and those that would not. */
export type Ending = { readonly ended: number; readonly left: readonly ProcessId[] };

/** `find` searches: everyone who has to go, as of now. */
export async function endProcesses(find: () => readonly ProcessEntry[], clock: Clock): Promise<Ending> {
  const told = new Set<string>();
  for (const [signal, boundMs] of PHASES) {
    const deadlineMs = clock.monotonicMs() + boundMs;
    const signalled = new Set<string>();
    for (;;) {
      const members = find();
      if (members.length === 0) return { ended: told.size, left: [] };
      const fresh = members.filter((member) => !signalled.has(nameOf(member)));
      signalAll(fresh, signal);
      for (const name of fresh.map(nameOf)) {
        signalled.add(name);
        told.add(name);
      }
      if (clock.monotonicMs() >= deadlineMs) break;
      await untilGone(members, Math.min(deadlineMs, clock.monotonicMs() + SEARCH_MS), clock);
    }
  }
  return { ended: told.size, left: find() };
}

const PHASES = [
  ["SIGTERM", TERM_BOUND_MS],
  ["SIGKILL", KILL_BOUND_MS],
] as const;

/** Signals each of them, and a group as a whole when its leader is among them: so that nobody forks out of it unseen. */
export function signalAll(members: readonly ProcessEntry[], signal: NodeJS.Signals): void {
  const alive = members.filter(isRunning);
  for (const { pid, group } of alive) {
    if (pid === group) send(-group, signal);
  }
  for (const { pid, group } of alive) {
    if (!alive.some((leader) => leader.pid === group)) send(pid, signal);
  }
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch (error) {
    // It went by itself in between.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function untilGone(members: readonly ProcessId[], deadlineMs: number, clock: Clock): Promise<void> {
  for (let waitMs = LOOK_MIN_MS; members.some(isRunning); waitMs = Math.min(2 * waitMs, LOOK_MAX_MS)) {
    const leftMs = deadlineMs - clock.monotonicMs();
    if (leftMs <= 0) return;
    await clock.sleep(Math.min(waitMs, leftMs));
  }
}

function nameOf({ pid, startTime }: ProcessId): string {
  return `${pid}@${startTime}`;
}
