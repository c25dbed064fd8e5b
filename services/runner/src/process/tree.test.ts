import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { newId, systemClock } from "@holdfast/runtime";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KILL_BOUND_MS, TERM_BOUND_MS } from "./ending.ts";
import { SharedTable } from "./memory.ts";
import { endPredecessors } from "./orphans.ts";
import { STDERR_RING_BYTES } from "./stderr.ts";
import { isRunning, type ProcessId, readProcess } from "./table.ts";
import { type ProcessTree, startTree } from "./tree.ts";

/** What both bounds and a loaded machine take together. */
const ENDING_TEST_MS = TERM_BOUND_MS + KILL_BOUND_MS + 10_000;

let directory: string;
let trees: ProcessTree[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-tree-"));
  trees = [];
});

afterEach(async () => {
  await Promise.all(trees.map((tree) => tree.end()));
  rmSync(directory, { recursive: true });
});

async function start(script: string, owner = newId("nonce"), env: Record<string, string> = {}): Promise<ProcessTree> {
  const given = {
    instance: newId("instance"),
    owner,
    command: process.execPath,
    args: ["-e", script],
    env: { PATH: process.env.PATH ?? "", ...env },
    directory,
  };
  const tree = await startTree(given, systemClock, new SharedTable(systemClock));
  trees.push(tree);
  return tree;
}

async function line(tree: ProcessTree): Promise<string> {
  const lines = createInterface({ input: tree.stdout });
  const [text] = await once(lines, "line");
  lines.close();
  return text;
}

/** The processes whose pids the child printed, as they are now. */
async function printed(tree: ProcessTree): Promise<readonly ProcessId[]> {
  const pids = (await line(tree)).split(" ").map(Number);
  return pids.map((pid) => {
    const entry = readProcess(pid);
    if (entry === null) throw new Error(`process ${pid} is not there`);
    return entry;
  });
}

const STAY = "setInterval(() => {}, 1000);";
const DEAF = `process.on("SIGTERM", () => {}); process.stdin.on("end", () => {}); ${STAY}`;
/** Starts `sleep` in a session of its own, which holds the pipes open, and prints its pid. */
const LEAVE = `
  const child = require("node:child_process").spawn("sleep", ["600"], { detached: true, stdio: "inherit" });
  child.on("spawn", () => console.log(child.pid));
`;
/** A daemon: a session of its own, its parent gone before anybody looks. */
const DAEMON = `
  require("node:child_process").exec("setsid sh -c 'sleep 600 >/dev/null 2>&1 & echo $!'", (_, out) => console.log(out.trim()));
`;

describe("A process tree", { timeout: ENDING_TEST_MS }, () => {
  it("has exactly the environment it was given and the markers", async () => {
    const tree = await start("console.log(Object.keys(process.env).sort().join()); ", "owner", { ONLY: "this" });
    expect(await line(tree)).toBe("ACP_HOST_OWNER,ACP_HOST_PROCESS,ONLY,PATH");
  });

  it("is refused with the system's words when there is no such program", async () => {
    const given = { instance: "i", owner: "o", command: "/nowhere/agent", args: [], env: {}, directory };
    await expect(startTree(given, systemClock, new SharedTable(systemClock))).rejects.toThrow(/ENOENT/);
  });

  it("ends by SIGTERM when the child obeys it", async () => {
    const tree = await start(`console.log("up"); ${STAY}`);
    await line(tree);
    expect(await tree.end()).toEqual({ ended: 1, left: [] });
    expect(await tree.exited).toEqual({ code: null, signal: "SIGTERM" });
  });

  it("ends by SIGKILL when the child ignores SIGTERM, within the bounds", async () => {
    const tree = await start(`${DEAF} console.log("up");`);
    await line(tree);
    const begunMs = systemClock.monotonicMs();
    expect((await tree.end()).left).toEqual([]);
    expect(await tree.exited).toEqual({ code: null, signal: "SIGKILL" });
    expect(systemClock.monotonicMs() - begunMs).toBeGreaterThanOrEqual(TERM_BOUND_MS);
  });

  it("takes along a grandchild that left the group and holds the pipes", async () => {
    const tree = await start(`${LEAVE} ${STAY}`);
    const [grandchild] = await printed(tree);
    expect(grandchild).toMatchObject({ group: grandchild?.pid });
    await tree.end();
    expect(grandchild && isRunning(grandchild)).toBe(false);
  });

  it("takes along a grandchild that outlived the child", async () => {
    const tree = await start(`${LEAVE} child.on("spawn", () => setImmediate(() => process.exit()));`);
    const [grandchild] = await printed(tree);
    await tree.exited;
    expect(grandchild && isRunning(grandchild)).toBe(true);
    await tree.end();
    expect(grandchild && isRunning(grandchild)).toBe(false);
  });

  it("takes along a daemon that nothing but the marker connects with it", async () => {
    const tree = await start(`${DAEMON} ${STAY}`);
    const [daemon] = await printed(tree);
    await tree.end();
    expect(daemon && isRunning(daemon)).toBe(false);
  });

  it("has nothing to end when everybody is gone already", async () => {
    const tree = await start("process.exit(7)");
    expect(await tree.exited).toEqual({ code: 7, signal: null });
    expect(await tree.end()).toEqual({ ended: 0, left: [] });
  });

  it("ends once, however often it is told to", async () => {
    const tree = await start(`console.log("up"); ${STAY}`);
    await line(tree);
    const [one, other] = await Promise.all([tree.end(), tree.end()]);
    expect(one).toBe(other);
  });

  it("leaves a stranger alone that has the pid of a member", async () => {
    const stranger = await start(`console.log("up"); ${STAY}`);
    await line(stranger);
    expect(isRunning({ pid: stranger.pid, startTime: 1 })).toBe(false);
    expect(stranger.isRunning).toBe(true);
  });

  it("is killed in one step, grandchildren included", async () => {
    const tree = await start(`${LEAVE} ${DEAF}`);
    const [grandchild] = await printed(tree);
    tree.kill();
    expect(await tree.exited).toEqual({ code: null, signal: "SIGKILL" });
    await tree.end();
    expect(grandchild && isRunning(grandchild)).toBe(false);
  });

  it("tells the memory of all its processes together", async () => {
    const hold = `const held = Buffer.alloc(64 << 20, 1); console.log(held.length && "up"); ${STAY}`;
    const alone = await start(hold);
    await line(alone);
    const two = await start(`
      const child = require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(hold)}], { stdio: "inherit" });
      const own = Buffer.alloc(64 << 20, 1); ${STAY} child.own = own;`);
    await line(two);
    expect(alone.memoryBytes()).toBeGreaterThan(64 << 20);
    expect(two.memoryBytes()).toBeGreaterThan(alone.memoryBytes() + (64 << 20) / 2);
    await alone.end();
  });

  it("drains stderr however much comes and keeps the end of it", async () => {
    const tree = await start(`
      const piece = "x".repeat(1 << 20);
      for (let i = 0; i < 4; i++) process.stderr.write(piece);
      process.stderr.write("the end", () => process.exit());`);
    await tree.stderr.ended;
    expect(tree.stderr.text()).toHaveLength(STDERR_RING_BYTES);
    expect(tree.stderr.text().endsWith("xxthe end")).toBe(true);
  });
});

describe("A runner that starts", { timeout: ENDING_TEST_MS }, () => {
  it("ends what its predecessor left, daemons included, and nothing else", async () => {
    const [owner, other] = [newId("nonce"), newId("nonce")];
    const left = await start(`${DAEMON} ${DEAF}`, owner);
    const [daemon] = await printed(left);
    const stranger = await start(`${LEAVE} ${STAY}`, other);
    const [strangersChild] = await printed(stranger);

    const ending = await endPredecessors(owner, systemClock);

    expect(ending.left).toEqual([]);
    expect(ending.ended).toBeGreaterThanOrEqual(2);
    expect(await left.exited).toEqual({ code: null, signal: "SIGKILL" });
    expect(daemon && isRunning(daemon)).toBe(false);
    expect(stranger.isRunning && strangersChild && isRunning(strangersChild)).toBe(true);
  });

  it("finds nothing to end on a host that is clean", async () => {
    expect(await endPredecessors(newId("nonce"), systemClock)).toEqual({ ended: 0, left: [] });
  });
});
