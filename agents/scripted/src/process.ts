// The commands that keep the process busy or leave something behind: sleep, flood, stderr, grandchild.
//
// 1. All of them can be stopped: they look for a cancel while they go on, and let the event loop read it.
// 2. None of them grows: each waits for its reader.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setImmediate as breathe, setTimeout as delay } from "node:timers/promises";
import type { Stage } from "./stage.ts";
import { message } from "./voice.ts";

const MIB = 1_024 * 1_024;
const STDERR_LINE = `${"e".repeat(1_023)}\n`;
const STDERR_PIECE_BYTES = 64 * 1_024;
/** Chunks of a flood between two looks at what the client sent. */
const CHUNKS_PER_BREATH = 64;

/** `sleep MS`. */
export async function sleep({ turn }: Stage, ms: number): Promise<void> {
  try {
    await delay(ms, undefined, { signal: turn.signal });
  } catch (error) {
    // The only thing that ends a timer early is the turn's stop, and the script looks for that itself.
    if (!turn.signal.aborted) throw error;
  }
}

/** `flood N`: one message in N chunks, as fast as the client reads. Not in the history. */
export async function flood({ turn, voice }: Stage, count: number): Promise<void> {
  const id = randomUUID();
  for (let number = 1; number <= count && !turn.signal.aborted; number += 1) {
    await voice.sendUnrecorded(message(`chunk ${number} of ${count}\n`, id));
    if (number % CHUNKS_PER_BREATH === 0) await breathe();
  }
}

/** `stderr MIB`, in lines of 1 KiB. */
export async function writeToStderr({ turn }: Stage, sizeMib: number): Promise<void> {
  const piece = STDERR_LINE.repeat(STDERR_PIECE_BYTES / STDERR_LINE.length);
  for (let left = (sizeMib * MIB) / STDERR_PIECE_BYTES; left > 0 && !turn.signal.aborted; left -= 1) {
    await new Promise<void>((resolve, reject) => {
      process.stderr.write(piece, (error) => (error ? reject(error) : resolve()));
    });
  }
}

/**
 * `grandchild SECONDS`: a process in a session and group of its own that lives on when the agent ends. It holds the agent's
 * stdout and stderr open, so a host that waits for the end of the output, not of the process, waits for it too.
 */
export async function leaveGrandchild(seconds: number): Promise<string> {
  const child = spawn("sleep", [String(seconds)], { detached: true, stdio: ["ignore", "inherit", "inherit"] });
  await once(child, "spawn");
  child.unref();
  return `grandchild ${child.pid}`;
}
