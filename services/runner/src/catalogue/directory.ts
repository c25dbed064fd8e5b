// A session's own directories on this host, below the runner's data directory:
//
//   sessions/p_<project>/s_<session id>/work   where the agent works, unless it works below a root of the catalogue
//                                       home   its HOME: settings, and what it needs to bring its session back
//                                       tmp    its TMPDIR
//
// D1  Names are encoded: `..` is a legal session id, and no two names meet in one directory.
// D2  All of them belong to the runner's user alone (0700).
// D3  What the runner writes stays in them, whatever links an agent has put there.
// D4  A start that fails takes along what it made: a session that never had a process has no directory either (A1).

import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, mkdir, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { SessionKey } from "@holdfast/pool";
import { systemClock } from "@holdfast/runtime";
import type { AgentFile } from "../acp/agent.ts";
import { isDoneWithin } from "../process/index.ts";

/** How long a look at a directory may take: one on a dead network file system never answers. */
const PROBE_MS = 2_000;

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

/** `own` holds the others and nothing else. */
export type SessionDirectories = {
  readonly own: string;
  readonly work: string;
  readonly home: string;
  readonly tmp: string;
};

export function sessionDirectories(dataDirectory: string, { project, sessionId }: SessionKey): SessionDirectories {
  const own = resolve(dataDirectory, "sessions", `p_${encoded(project)}`, `s_${encoded(sessionId)}`);
  return { own, work: join(own, "work"), home: join(own, "home"), tmp: join(own, "tmp") };
}

function encoded(name: string): string {
  return Buffer.from(name).toString("base64url");
}

/** Whether the session had none before. */
export async function createDirectories({ own, work, home, tmp }: SessionDirectories): Promise<boolean> {
  const first = await mkdir(own, { recursive: true, mode: DIRECTORY_MODE });
  for (const path of [work, home, tmp]) await mkdir(path, { recursive: true, mode: DIRECTORY_MODE });
  return first !== undefined;
}

/** With all that is in them; links are removed, not followed. */
export async function removeDirectories({ own }: SessionDirectories): Promise<void> {
  await rm(own, { recursive: true, force: true });
}

/** Whether it is there, is a directory, and can be written to; false also when that cannot be told in PROBE_MS. */
export async function isUsableDirectory(path: string): Promise<boolean> {
  let isUsable = false;
  const probe = async (): Promise<void> => {
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    isUsable = (await stat(path)).isDirectory();
  };
  try {
    await isDoneWithin(probe(), PROBE_MS, systemClock);
    return isUsable;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return false;
  }
}

/** Lexically: `path` is `base` or below it. */
export function isWithin(base: string, path: string): boolean {
  const way = relative(base, path);
  return way === "" || !(isAbsolute(way) || way === ".." || way.startsWith(`..${sep}`));
}

/** The same with every link followed. Both must exist. */
export async function isReallyWithin(base: string, path: string): Promise<boolean> {
  return isWithin(await realpath(base), await realpath(path));
}

/**
 * Writes files below a directory, replacing what is there. A path that leads out of it, also by a link, throws; a link in the
 * file's own place is replaced, not followed.
 */
export async function writeFilesBelow(base: string, files: readonly AgentFile[]): Promise<void> {
  for (const { path, content } of files) {
    const target = resolve(base, path);
    const parent = dirname(target);
    if (target === base) throw new LeadsOut(`${path} names the directory itself`);
    await makeBelow(base, parent);
    const fresh = join(parent, `.${randomUUID()}`);
    await writeFile(fresh, content, { mode: FILE_MODE, flag: "wx" });
    await rename(fresh, target);
  }
}

/** A path that leads out of the directory it has to be in. */
export class LeadsOut extends Error {}

/** Makes a directory and those above it, one by one: a link among them is seen before anything is made behind it. */
export async function makeBelow(base: string, path: string): Promise<void> {
  if (!isWithin(base, path)) throw new LeadsOut(`${path} is not below ${base}`);
  const steps = relative(base, path).split(sep);
  let at = base;
  for (const step of steps) {
    at = join(at, step);
    await mkdir(at, { recursive: true, mode: DIRECTORY_MODE });
    if (!(await isReallyWithin(base, at))) throw new LeadsOut(`${at} is a link that leads out of ${base}`);
  }
}
