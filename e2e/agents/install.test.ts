// The pinned agent's install: once for real, into the machine's cache; the ways it can go wrong with a stand-in for npm
// on PATH, in caches of their own.

import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { agentsCacheDir, CLAUDE_VERSION, installClaude } from "./install.ts";

const FOLDER = `claude-${CLAUDE_VERSION}`;
const SHORT_LIMIT_MS = 200;
const LONG_AGO = new Date(0);

let scratch: string;
let cacheDir: string;

beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), "holdfast-install-"));
  cacheDir = join(scratch, "cache");
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(scratch, { recursive: true, force: true });
});

/** Puts a shell script in npm's place; each of its runs leaves a line in the file this returns the reader of. */
async function standInForNpm(script: string): Promise<() => Promise<number>> {
  const bin = join(scratch, "bin");
  const runs = join(scratch, "runs");
  await mkdir(bin);
  await writeFile(runs, "");
  await writeFile(join(bin, "npm"), `#!/bin/sh\necho run >> ${runs}\n${script}\n`);
  await chmod(join(bin, "npm"), 0o755);
  vi.stubEnv("PATH", `${bin}:/usr/bin:/bin`);
  return async () => (await readFile(runs, "utf8")).split("\n").length - 1;
}

test("the pinned agent is installed and starts with this Node", async () => {
  const { entry } = await installClaude();
  const { stdout } = await promisify(execFile)(process.execPath, [entry, "--version"]);
  expect(stdout.trim()).toBe(CLAUDE_VERSION);
});

test("the lock file pins the version the folder is named after", async () => {
  const lock = JSON.parse(await readFile(join(import.meta.dirname, "claude/package-lock.json"), "utf8"));
  expect(lock.packages["node_modules/@agentclientprotocol/claude-agent-acp"].version).toBe(CLAUDE_VERSION);
});

test("an agent that is there is not installed again", async () => {
  const runs = await standInForNpm("mkdir node_modules");
  const first = await installClaude({ cacheDir });
  const second = await installClaude({ cacheDir });
  expect(second).toEqual(first);
  expect(await runs()).toBe(1);
  expect(await readdir(cacheDir)).toEqual([FOLDER]);
});

test("two installs at the same time both find the agent and leave one folder", async () => {
  const runs = await standInForNpm("mkdir node_modules");
  const [one, two] = await Promise.all([installClaude({ cacheDir }), installClaude({ cacheDir })]);
  expect(one).toEqual(two);
  expect(await runs()).toBe(2);
  expect(await readdir(cacheDir)).toEqual([FOLDER]);
  expect((await readdir(one.dir)).toSorted()).toEqual(["node_modules", "package-lock.json", "package.json"]);
});

test("an npm that fails is named with its exit and what it printed, and the cache stays empty", async () => {
  await standInForNpm("echo the registry is away >&2; exit 7");
  await expect(installClaude({ cacheDir })).rejects.toThrow(/exit 7[\s\S]*the registry is away/);
  expect(await readdir(cacheDir)).toEqual([]);
});

test("an npm that takes too long is ended, and the cache stays empty", async () => {
  await standInForNpm("exec sleep 60");
  await expect(installClaude({ cacheDir, limitMs: SHORT_LIMIT_MS })).rejects.toThrow(
    /ended by SIGTERM; at most 200 ms/,
  );
  expect(await readdir(cacheDir)).toEqual([]);
});

test("a missing npm is said to be missing", async () => {
  vi.stubEnv("PATH", scratch);
  await expect(installClaude({ cacheDir })).rejects.toThrow(/not started: spawn npm ENOENT/);
});

test("an install made from another lock file is replaced", async () => {
  const runs = await standInForNpm("mkdir node_modules");
  await mkdir(join(cacheDir, FOLDER), { recursive: true });
  await writeFile(join(cacheDir, FOLDER, "package-lock.json"), "{}");
  const { dir } = await installClaude({ cacheDir });
  expect(await runs()).toBe(1);
  expect(await readdir(cacheDir)).toEqual([FOLDER]);
  expect(await readFile(join(dir, "package-lock.json"), "utf8")).toContain(CLAUDE_VERSION);
});

test("an old leftover of a crashed install goes, a young one stays", async () => {
  await standInForNpm("mkdir node_modules");
  const [old, young] = [`.${FOLDER}-old`, `.${FOLDER}-young`];
  await mkdir(join(cacheDir, old), { recursive: true });
  await mkdir(join(cacheDir, young));
  await utimes(join(cacheDir, old), LONG_AGO, LONG_AGO);
  await installClaude({ cacheDir });
  expect((await readdir(cacheDir)).toSorted()).toEqual([young, FOLDER].toSorted());
});

test("the cache is where AGENTS_CACHE_DIR says, else in the user's cache", () => {
  expect(agentsCacheDir({ AGENTS_CACHE_DIR: "/a", XDG_CACHE_HOME: "/x" })).toBe("/a");
  expect(agentsCacheDir({ XDG_CACHE_HOME: "/x" })).toBe("/x/holdfast/agents");
  expect(agentsCacheDir({})).toMatch(/\/\.cache\/holdfast\/agents$/);
});
