// A child process with everything it starts: one tree, begun and ended as a whole (A16).
//
// P1  The child leads a session and a group of its own, and carries a marker that its descendants inherit.
// P2  Its environment is what it was given and the markers, nothing else (B7).
// P3  end() leaves nothing of the tree, whether its members left the group, were adopted, ignore SIGTERM, or hold the pipes;
//     it takes as long as ending.ts says. Every call gets the same ending.
// P4  The pipes are destroyed when the tree has ended: a stranger who holds the other end cannot keep them open here.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { Clock } from "@holdfast/runtime";
import { type Ending, endProcesses, signalAll } from "./ending.ts";
import { Kin } from "./kin.ts";
import { markers } from "./marker.ts";
import { memoryOf, type SharedTable } from "./memory.ts";
import { StderrRing } from "./stderr.ts";
import { readProcess, readProcessTable } from "./table.ts";
import { isDoneWithin } from "./within.ts";

/** How long the last words on stderr are waited for, once whoever could say more is gone. */
const PIPE_BOUND_MS = 200;

export type TreeStart = {
  /** Names the tree: no other has the same name, on this host or any other. */
  readonly instance: string;
  /** Names whoever is responsible for the tree, over restarts (orphans.ts). */
  readonly owner: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Complete. The command is looked for in its PATH. */
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
};

/** How the child itself went: one of the two is null. */
export type ChildExit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export class ProcessTree {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: StderrRing;
  /** Resolves when the child has gone, for whatever reason. Others of the tree may still run. */
  readonly exited: Promise<ChildExit>;
  readonly #child: ChildProcess;
  readonly #kin: Kin;
  readonly #clock: Clock;
  readonly #tables: SharedTable;
  #ending: Promise<Ending> | null = null;

  constructor(child: RunningChild, instance: string, clock: Clock, tables: SharedTable) {
    this.pid = child.pid;
    this.stdin = child.stdin;
    this.stdout = child.stdout;
    this.stderr = new StderrRing(child.stderr);
    this.exited = once(child, "exit").then(([code, signal]) => ({ code, signal }));
    // Whoever writes sees that the pipe broke by its state; the exit is told through `exited`.
    child.stdin.on("error", () => child.stdin.destroy());
    this.#child = child;
    // A child that is gone already has no start time any more, but the session it led may still have members.
    const startTime = readProcess(child.pid)?.startTime ?? Number.NaN;
    this.#kin = new Kin(markers.instance(instance), [{ pid: child.pid, startTime }]);
    this.#clock = clock;
    this.#tables = tables;
  }

  /** The child itself has not gone yet. */
  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Bytes of memory of the whole tree, as of the last half second; 0 when it cannot be told. */
  memoryBytes(): number {
    return memoryOf(this.#kin.relations(this.#tables.recent()));
  }

  /** Ends all of it in bounded time. Told of nothing when everybody is gone already. */
  end(): Promise<Ending> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** SIGKILL for all of it, now, in this very step. What forks away at this moment is left to end(). */
  kill(): void {
    signalAll(this.#kin.search(readProcessTable()), "SIGKILL");
  }

  async #end(): Promise<Ending> {
    this.stdin.destroy();
    const ending = await endProcesses(() => this.#kin.search(readProcessTable()), this.#clock);
    await isDoneWithin(this.stderr.ended, PIPE_BOUND_MS, this.#clock);
    this.stdout.destroy();
    this.#child.stderr?.destroy();
    if (ending.left.length === 0) await this.exited;
    return ending;
  }
}

/** Starts the child. Rejects with what the system said when there is no such program, or it cannot be run. */
export async function startTree(start: TreeStart, clock: Clock, tables: SharedTable): Promise<ProcessTree> {
  const child = spawn(start.command, [...start.args], {
    cwd: start.directory,
    env: { ...start.env, ...markers.environment(start.instance, start.owner) },
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  await once(child, "spawn");
  if (!isPiped(child)) throw new Error("a spawned child has a pid and three pipes");
  return new ProcessTree(child, start.instance, clock, tables);
}

type RunningChild = ChildProcess & {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
};

function isPiped(child: ChildProcess): child is RunningChild {
  return child.pid !== undefined && child.stdin !== null && child.stdout !== null && child.stderr !== null;
}
