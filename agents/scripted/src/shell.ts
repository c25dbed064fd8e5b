// Runs one command with `sh -c` and gathers what it prints.
//
// 1. A command that is stopped is dead with all its descendants before its outcome is known.
// 2. Commands stay in the agent's own process group, so whoever ends the group ends them; endCommands() ends them when the
//    agent goes by itself.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Most bytes of output that are kept of one command; the rest is read and dropped. */
export const OUTPUT_MAX_BYTES = 64 * 1_024;
/** How long output is waited for when the command has ended and something it left behind still holds its pipe. */
const OUTPUT_GRACE_MS = 200;

export type Outcome =
  /** It ended by itself. */
  | { kind: "exited"; code: number; output: string }
  /** A signal ended it: ours after a cancel, or anybody's. */
  | { kind: "killed"; signal: string; output: string }
  /** There is no shell, or no directory to start it in. */
  | { kind: "not-started"; reason: string };

const running = new Set<ChildProcess>();

export async function runInShell(command: string, directory: string, signal: AbortSignal): Promise<Outcome> {
  const child = spawn("sh", ["-c", command], { cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
  const output = gather(child);
  const kill = () => killTree(child.pid);
  running.add(child);
  signal.addEventListener("abort", kill, { once: true });
  try {
    const end = await ended(child);
    if (end.kind === "not-started") return end;
    return { ...end, output: await output() };
  } finally {
    signal.removeEventListener("abort", kill);
    running.delete(child);
  }
}

/** Ends every command that still runs, at once. */
export function endCommands(): void {
  for (const child of running) killTree(child.pid);
}

type End =
  | { kind: "exited"; code: number }
  | { kind: "killed"; signal: string }
  | Extract<Outcome, { kind: "not-started" }>;

function ended(child: ChildProcess): Promise<End> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ kind: "not-started", reason: error.message }));
    child.once("exit", (code, signal) =>
      resolve(code === null ? { kind: "killed", signal: signal ?? "unknown" } : { kind: "exited", code }),
    );
  });
}

/** Reads both pipes into one text; the function it gives waits for their end, but not for ever. */
function gather(child: ChildProcess): () => Promise<string> {
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (const pipe of [child.stdout, child.stderr]) {
    pipe?.on("data", (piece: Buffer) => {
      const kept = piece.subarray(0, OUTPUT_MAX_BYTES - bytes);
      bytes += kept.length;
      if (kept.length > 0) pieces.push(kept);
    });
  }
  return async () => {
    await Promise.race([closed, delay(OUTPUT_GRACE_MS)]);
    for (const pipe of [child.stdout, child.stderr]) pipe?.destroy();
    return Buffer.concat(pieces).toString("utf8");
  };
}

function killTree(pid: number | undefined): void {
  if (pid === undefined) return;
  for (const each of [pid, ...descendants(pid)]) {
    try {
      process.kill(each, "SIGKILL");
    } catch (error) {
      // Gone between being listed and being killed: that is what was wanted.
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
    }
  }
}

/** From /proc; where there is none, the shell itself is all that can be ended. */
function descendants(pid: number): number[] {
  const list = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(list)) return [];
  const children = readFileSync(list, "utf8").split(" ").filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}
