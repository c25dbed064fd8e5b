// The ledger: one line of JSON for every command that was started, so that anybody can count effects afterwards, also
// those of a process that died in the middle.
//
// 1. A line is on the disk before its command starts. A command may be in the ledger and not have run; never the reverse.
// 2. Lines are appended whole, so several processes can share one ledger.

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

/** The ledger's name in the session's directory. */
export const LEDGER_FILE = "ledger.jsonl";

export type LedgerLine = {
  /** When the command was about to start, ISO 8601 in UTC. */
  time: string;
  /** Process id of the agent, not of the command. */
  pid: number;
  /** The ACP session id. */
  session: string;
  /** The ACP tool call id; unique in its session only. */
  toolCallId: string;
  /** The command as it is handed to `sh -c`. */
  command: string;
};

/** Appends one line and waits until it is on the disk. Throws when the directory cannot be written. */
export function appendToLedger(directory: string, line: LedgerLine): void {
  const file = openSync(join(directory, LEDGER_FILE), "a", 0o600);
  try {
    writeSync(file, `${JSON.stringify(line)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** All lines of a directory's ledger, oldest first; none when nothing was ever started there. */
export function readLedger(directory: string): LedgerLine[] {
  const path = join(directory, LEDGER_FILE);
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line): LedgerLine => JSON.parse(line));
}
