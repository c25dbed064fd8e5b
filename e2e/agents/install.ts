// Puts the pinned Claude agent where the tests start it: a cache outside the workspaces, so that 400 MB of it are
// fetched once per machine and never become a dependency of the product.
//
// I1 The folder at its final name is always a finished install: npm works in a folder beside it, which is renamed into
//    place when npm has succeeded. A crash leaves only a leftover beside it.
// I2 Two that install at once both work; the first rename wins and the second takes what is there.
// I3 Installed is what claude/package-lock.json says, byte for byte: every transitive package has one version and one
//    integrity digest. A folder made from another lock file is replaced; the name is then free for a moment.
// I4 No install script runs.

import { spawn } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";

/** The agent's version, as pinned in claude/package.json. */
export const CLAUDE_VERSION = "0.101.0";

/** How long npm may take. */
const INSTALL_LIMIT_MS = 240_000;

/** How much of what npm printed goes into the error. */
const NPM_OUTPUT_KEPT_CHARS = 4_096;

/** What the names of unfinished installs begin with. */
const LEFTOVER_PREFIX = `.claude-${CLAUDE_VERSION}-`;

/** A leftover (I1) older than this belongs to no running install and is removed. */
const LEFTOVER_AGE_MS = 3_600_000;

/** The package.json and the lock file to install from. */
const PINNED_DIR = join(import.meta.dirname, "claude");

/** An agent ready to be started with `node ENTRY`, by the Node that runs this (the agent needs 22 or later). */
export interface InstalledAgent {
  /** The cache folder that holds it. */
  readonly dir: string;
  /** Absolute path of the script to start. */
  readonly entry: string;
}

/** Where agents are cached: AGENTS_CACHE_DIR, or `holdfast/agents` in the user's cache. */
export function agentsCacheDir(env: NodeJS.ProcessEnv): string {
  if (env.AGENTS_CACHE_DIR) return env.AGENTS_CACHE_DIR;
  return join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "holdfast", "agents");
}

/** What a caller of installClaude may change; a test does. */
export interface InstallOptions {
  /** Default: agentsCacheDir of this process's environment. */
  readonly cacheDir?: string;
  /** How long npm may take, in milliseconds. Default: INSTALL_LIMIT_MS. */
  readonly limitMs?: number;
}

/**
 * Installs the pinned agent unless it is there. The first time takes up to INSTALL_LIMIT_MS and needs the npm registry;
 * afterwards it reads two small files.
 *
 * Throws an Error when npm is missing, fails or takes too long: it names npm's exit and holds the tail of what npm
 * printed. The cache is then as it was before.
 */
export async function installClaude(options: InstallOptions = {}): Promise<InstalledAgent> {
  const cacheDir = options.cacheDir ?? agentsCacheDir(process.env);
  const dir = join(cacheDir, `claude-${CLAUDE_VERSION}`);
  const installed = { dir, entry: join(dir, "node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js") };
  if (await isInstalled(dir)) return installed;
  await mkdir(cacheDir, { recursive: true });
  await removeLeftovers(cacheDir);
  const workshop = await mkdtemp(join(cacheDir, LEFTOVER_PREFIX));
  try {
    await copyFile(join(PINNED_DIR, "package.json"), join(workshop, "package.json"));
    await copyFile(join(PINNED_DIR, "package-lock.json"), join(workshop, "package-lock.json"));
    await npmCi(workshop, options.limitMs ?? INSTALL_LIMIT_MS);
    await putInPlace(workshop, dir);
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
  return installed;
}

async function isInstalled(dir: string): Promise<boolean> {
  const [pinned, found] = await Promise.all([
    readFile(join(PINNED_DIR, "package-lock.json")),
    readFile(join(dir, "package-lock.json")).catch(absent),
  ]);
  return found !== undefined && pinned.equals(found);
}

/** Renames a finished install into place (I1). Another's that is there already is taken (I2), an outdated one goes (I3). */
async function putInPlace(workshop: string, dir: string): Promise<void> {
  if (await renamed(workshop, dir)) return;
  if (await isInstalled(dir)) return;
  const outdated = `${workshop}-outdated`;
  await rename(dir, outdated);
  await rename(workshop, dir);
  await rm(outdated, { recursive: true, force: true });
}

/** Whether the rename was made; false when something has the name already. */
async function renamed(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTEMPTY" || code === "EEXIST") return false;
    throw error;
  }
}

async function removeLeftovers(cacheDir: string): Promise<void> {
  for (const name of await readdir(cacheDir)) {
    if (!name.startsWith(LEFTOVER_PREFIX)) continue;
    const path = join(cacheDir, name);
    const found = await stat(path).catch(absent);
    if (found !== undefined && Date.now() - found.mtimeMs > LEFTOVER_AGE_MS) {
      await rm(path, { recursive: true, force: true });
    }
  }
}

/** `npm ci` in a folder, with the Node that runs this first on PATH: npm's own may be too old for what it installs. */
async function npmCi(dir: string, limitMs: number): Promise<void> {
  const args = ["ci", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress"];
  const path = [dirname(process.execPath), process.env.PATH ?? ""].join(delimiter);
  const npm = spawn("npm", args, {
    cwd: dir,
    env: { ...process.env, PATH: path },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: limitMs,
  });
  let printed = "";
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed = (printed + text).slice(-NPM_OUTPUT_KEPT_CHARS);
    });
  }
  const end = await new Promise<string>((resolve) => {
    npm.once("error", (error) => resolve(`not started: ${error.message}`));
    npm.once("close", (code, signal) => resolve(signal === null ? `exit ${code}` : `ended by ${signal}`));
  });
  if (end === "exit 0") return;
  const limit = `at most ${limitMs} ms`;
  throw new Error(`npm ci of the Claude agent ${CLAUDE_VERSION} failed (${end}; ${limit}). npm printed:\n${printed}`);
}

/** Turns "there is no such file" into undefined; everything else goes on being an error. */
function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT") return undefined;
  throw error;
}
