// The process table as /proc tells it. A process is its pid and its start time together: pids are given out again.
//
// T1  Nothing here waits: what was read and what is done about it are one step, in which no pid can change hands unseen
//     for longer than the kernel needs to run once through all of them.
// T2  A process that ended but was not yet fetched by its parent (a zombie) counts as gone: it runs nothing and holds nothing.

import { readdirSync, readFileSync } from "node:fs";

/** One process, for as long as it lives. */
export type ProcessId = {
  readonly pid: number;
  /** When it started, in clock ticks since the machine's start. */
  readonly startTime: number;
};

export type ProcessEntry = ProcessId & {
  readonly parent: number;
  readonly group: number;
  readonly session: number;
};

/** A variable in a process's environment, which its children inherit, whatever group they go to. */
export type Marker = { readonly name: string; readonly value: string };

/** Every process that runs now. */
export function readProcessTable(): readonly ProcessEntry[] {
  const entries: ProcessEntry[] = [];
  for (const name of readdirSync("/proc")) {
    const entry = /^\d+$/.test(name) ? readProcess(Number(name)) : null;
    if (entry !== null) entries.push(entry);
  }
  return entries;
}

/** One process, or null when no such one runs. */
export function readProcess(pid: number): ProcessEntry | null {
  const stat = readProcFile(`/proc/${pid}/stat`)?.toString("latin1");
  if (stat === undefined) return null;
  // The name stands in parentheses and may hold anything, parentheses too; the state is what follows the last one.
  const [state, parent, group, session, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (state === "Z" || state === "X") return null;
  const startTime = Number(rest[START_TIME_AFTER_SESSION]);
  return { pid, startTime, parent: Number(parent), group: Number(group), session: Number(session) };
}

/** The start time is field 22 of the file, the session field 6. */
const START_TIME_AFTER_SESSION = 22 - 6 - 1;

/** Whether this very process still runs. */
export function isRunning({ pid, startTime }: ProcessId): boolean {
  return readProcess(pid)?.startTime === startTime;
}

/** Whether the process was started with this variable. False for one whose environment we may not read. */
export function carries(pid: number, { name, value }: Marker): boolean {
  const environment = readProcFile(`/proc/${pid}/environ`);
  if (environment === null) return false;
  return Buffer.concat([SEPARATOR, environment]).includes(`\0${name}=${value}\0`);
}

const SEPARATOR = Buffer.of(0);

/** Pages of memory a process holds: all that are in memory, and those of them it shares or could share with others. */
export function readPages(pid: number): { readonly resident: number; readonly shared: number } | null {
  const [, resident, shared] = readProcFile(`/proc/${pid}/statm`)?.toString("latin1").split(" ") ?? [];
  return resident === undefined || shared === undefined ? null : { resident: Number(resident), shared: Number(shared) };
}

/** Null when the process is gone, or is none of ours to look into. */
function readProcFile(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if (UNREADABLE.has((error as NodeJS.ErrnoException).code ?? "")) return null;
    throw error;
  }
}

const UNREADABLE = new Set(["ENOENT", "ESRCH", "EACCES", "EPERM"]);
