// Processes of a test's agents: whoever has the stack's directory in its environment and is none of our services.
import { readdirSync, readFileSync } from "node:fs";

/** Ended ones that nobody has reaped yet (state Z) do not count. */
export function processesOf(directory: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && isAlive(pid) && environmentOf(pid).some((entry) => isAgentOf(entry, directory)));
}

function isAgentOf(entry: string, directory: string): boolean {
  return entry.startsWith(`HOME=${directory}/sessions/`);
}

function environmentOf(pid: number): readonly string[] {
  return read(`/proc/${pid}/environ`).split("\0");
}

export function isAlive(pid: number): boolean {
  const stat = read(`/proc/${pid}/stat`);
  return stat !== "" && stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
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
