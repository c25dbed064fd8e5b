// What a session keeps over the death of its process: one JSON file in the session's directory. `session/load` and
// `session/resume` read it; a transcript sent again as a prompt does not bring it back, and that is how a test tells
// a loaded session from a replayed one.
//
// 1. The file is replaced whole (written beside, then renamed): a reader never sees half of it.
// 2. A damaged file, or one of another format, is an error that names the file; it is never overwritten.

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SessionUpdate } from "@agentclientprotocol/sdk";

const MEMORY_FORMAT = 1;
/** Most keys `remember` holds, and most commands `allow-always` holds. */
export const MEMORY_MAX_ENTRIES = 1_000;

/** The file's content. */
export type Memory = {
  format: typeof MEMORY_FORMAT;
  session: string;
  mode: string;
  model: string;
  /** Tool calls announced so far; the next one is `call-<calls + 1>`. */
  calls: number;
  /** What `remember` put there. */
  remembered: Record<string, string>;
  /** Commands a human allowed for always, exactly as they were written. */
  alwaysAllowed: string[];
  history: readonly SessionUpdate[];
};

export function emptyMemory(session: string, mode: string, model: string): Memory {
  return { format: MEMORY_FORMAT, session, mode, model, calls: 0, remembered: {}, alwaysAllowed: [], history: [] };
}

/** Where a session's memory is. The id must be one of ours: it becomes part of a path. */
export function memoryFile(directory: string, session: string): string {
  return join(directory, `.scripted-${session}.json`);
}

/** Reads a session's memory; undefined when there is none. Throws when it cannot be understood. */
export function readMemory(directory: string, session: string): Memory | undefined {
  const path = memoryFile(directory, session);
  if (!existsSync(path)) return undefined;
  const content: unknown = JSON.parse(readFileSync(path, "utf8"));
  if (!isMemory(content) || content.session !== session) throw new Error(`not a memory of format 1: ${path}`);
  return content;
}

export function writeMemory(directory: string, memory: Memory): void {
  const path = memoryFile(directory, memory.session);
  writeFileSync(`${path}.new`, JSON.stringify(memory), { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

function isMemory(content: unknown): content is Memory {
  if (typeof content !== "object" || content === null) return false;
  const fields = content as Partial<Record<keyof Memory, unknown>>;
  return (
    fields.format === MEMORY_FORMAT &&
    [fields.session, fields.mode, fields.model].every((field) => typeof field === "string") &&
    typeof fields.calls === "number" &&
    typeof fields.remembered === "object" &&
    fields.remembered !== null &&
    Array.isArray(fields.alwaysAllowed) &&
    Array.isArray(fields.history)
  );
}
