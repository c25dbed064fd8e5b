// Processes of a test's agents: whoever has its HOME below a directory of the stack's sessions.
import { readdirSync, readFileSync } from "node:fs";

/** Ended ones that nobody has reaped yet (state Z) do not count. */
export function processesOf(directory: string): readonly number[] {
  return processesWith((entry) => entry.startsWith(`HOME=${directory}/`));
}

/** Whoever has an entry like this, `NAME=value`, in its environment. */
export function processesWith(holds: (entry: string) => boolean): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && isAlive(pid) && environmentOf(pid).some(holds));
}

export function environmentOf(pid: number): readonly string[] {
  return read(`/proc/${pid}/environ`).split("\0");
}

export function isAlive(pid: number): boolean {
  const stat = read(`/proc/${pid}/stat`);
  return stat !== "" && stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
}

/** How many files, sockets and pipes a process holds open. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Children of a process that are alive. */
export function childrenOf(pid: number): readonly number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean).map(Number);
  return children.filter(isAlive);
}

/** What a process holds of the machine's memory. */
export function residentBytes(pid: number): number {
  const [, kibibytes = "0"] = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`)) ?? [];
  return Number(kibibytes) * 1024;
}

/** What anybody on this machine sees of every process: its arguments. */
export function commandLines(): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => read(`/proc/${pid}/cmdline`));
}

/** "" for a process that is gone or not ours to see. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) return "";
    throw error;
  }
}
