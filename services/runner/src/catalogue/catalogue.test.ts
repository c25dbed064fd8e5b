// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a catalogue's placeholders look like template strings
import { mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionConfig } from "@holdfast/pool";
import { createLog, newId } from "@holdfast/runtime";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startAgent } from "../acp/start-agent.ts";
import { Recorder } from "../acp/test-start.ts";
import { type AgentEntry, CATALOGUE_BYTES, readCatalogue } from "./catalogue.ts";
import { sessionDirectories } from "./directory.ts";
import type { StartRequest } from "./entry.ts";
import { CatalogueInvalid, parseCatalogue } from "./parse.ts";
import { SECRET_BYTES } from "./secrets.ts";

const KEY = { project: "default", sessionId: "s-1" };
const CONFIG: SessionConfig = {
  model: "",
  mode: "",
  systemPrompt: "",
  mcpServers: [],
  workingDirectory: "",
  permissionRules: [],
  limits: { turnLimitMs: 1, idleTtlMs: 1, approvalTtlMs: 1 },
};

let base: string;
let data: string;

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "holdfast-catalogue-")));
  data = join(base, "data");
});

afterEach(() => rm(base, { recursive: true }));

function problems(text: string): readonly string[] {
  try {
    parseCatalogue(text, "agents.yaml");
    return [];
  } catch (error) {
    if (error instanceof CatalogueInvalid) return error.problems;
    throw error;
  }
}

const log = createLog({ service: "test", destination: { write: () => undefined } });

async function entry(agent: object, environment: Record<string, string> = { PATH: process.env.PATH ?? "" }) {
  const file = join(base, "agents.yaml");
  await writeFile(file, JSON.stringify({ agents: [{ name: "a", command: "agent", ...agent }] }));
  const catalogue = await readCatalogue(file, { dataDirectory: data, owner: "owner", environment, log });
  const found = catalogue.find("a");
  if (found === null) throw new Error("the catalogue lost its agent");
  return found;
}

async function prepare(agent: AgentEntry, over: Partial<StartRequest> = {}) {
  const { workingDirectory } = over.config ?? CONFIG;
  return agent.prepare({
    key: KEY,
    directory: agent.directoryOf(KEY, workingDirectory),
    config: CONFIG,
    secrets: new Map(),
    traceparent: "",
    ...over,
  });
}

async function prepared(agent: AgentEntry, over: Partial<StartRequest> = {}) {
  const result = await prepare(agent, over);
  if (result.kind === "failed") throw new Error(result.message);
  return result.start;
}

describe("A catalogue", () => {
  it("names file, line, agent and field of everything that is wrong with it", () => {
    const text = [
      "agents:",
      "  - name: one",
      "    comand: x",
      "    args: [1]",
      "  - name: one",
      "    command: x",
      "    env: { 'A-B': c }",
      "    secrets: { good name: file }",
      "    args:",
      "      - ${nowhere}",
      "    secrets: {}",
    ];
    expect(problems(text.join("\n"))).toEqual(["agents.yaml:11: Map keys must be unique"]);
    expect(problems([...text.slice(0, -1)].join("\n"))).toEqual([
      "agents.yaml:2: agent one: command: Invalid input: expected string, received undefined",
      "agents.yaml:3: agent one: comand: there is no such field",
      "agents.yaml:4: agent one: args[0]: Invalid input: expected string, received number",
      "agents.yaml:7: agent one: env.A-B: is no name of an environment variable",
      "agents.yaml:10: agent one: args[0]: there is no placeholder ${nowhere} here",
    ]);
  });

  it("has each name once", () => {
    const text = "agents:\n  - { name: a, command: x }\n  - { name: a, command: y }";
    expect(problems(text)).toEqual(["agents.yaml:3: agent a: name: there are two agents named a"]);
  });

  it("has at least one agent, and a command for each", () => {
    expect(problems("")).toHaveLength(1);
    expect(problems("agents: []")).toHaveLength(1);
    expect(problems("agents: [{ name: a }]")).toEqual([expect.stringContaining("agent a: command")]);
  });

  it("cannot set the variables that the runner finds its processes by, nor leave a directory", () => {
    expect(problems("agents: [{ name: a, command: x, env: { ACP_HOST_PROCESS: y } }]")).toEqual([
      expect.stringContaining("the runner's own variable"),
    ]);
    expect(problems("agents: [{ name: a, command: x, files: [{ path: ../b, content: c }] }]")).toEqual([
      expect.stringContaining("must not go up"),
    ]);
  });

  it("that uses a session's placeholder where there is no session yet is wrong", () => {
    expect(problems('agents: [{ name: a, command: x, roots: ["${home}"] }]')).toEqual([
      expect.stringContaining("roots[0]: there is no placeholder ${home} here"),
    ]);
  });

  it("that cannot be read, or is no YAML, says so", async () => {
    const missing = join(base, "missing.yaml");
    const surroundings = { dataDirectory: data, owner: "owner", environment: {}, log };
    await expect(readCatalogue(missing, surroundings)).rejects.toThrow(
      `${missing}: the catalogue cannot be read: ENOENT`,
    );
    await writeFile(missing, "#".repeat(CATALOGUE_BYTES + 1));
    await expect(readCatalogue(missing, surroundings)).rejects.toThrow(/the catalogue is longer than/);
    expect(problems("agents: [")).toEqual([expect.stringMatching(/^agents\.yaml:1: /)]);
  });

  it("is the scripted agent's when there is no other, and that can be started", async () => {
    const surroundings = { dataDirectory: data, owner: newId("nonce"), environment: process.env, log };
    const catalogue = await readCatalogue(null, surroundings);
    expect(catalogue.names).toEqual(["scripted"]);
    const scripted = catalogue.find("scripted");
    expect(scripted?.load).toBe(true);
    if (scripted === null) return;
    const start = await prepared(scripted);
    const outcome = await startAgent({
      ...start,
      instance: newId("instance"),
      load: null,
      signal: new AbortController().signal,
      listener: new Recorder(),
      room: () => Promise.resolve(),
    });
    expect(outcome).toMatchObject({ kind: "ready" });
    if (outcome.kind === "ready") await outcome.agent.end();
  });
});

describe("A start's preparation", () => {
  it("makes directories of the session's own, for its user alone", async () => {
    const { directory, env } = await prepared(await entry({}));
    for (const path of [directory, env.HOME, env.TMPDIR]) {
      expect(((await stat(path ?? "")).mode & 0o777).toString(8)).toBe("700");
      expect(path?.startsWith(join(data, "sessions"))).toBe(true);
    }
  });

  it("gives no two sessions one directory, whatever they are called", async () => {
    const agent = await entry({});
    const names = ["..", ".", "a", "A", "a/b", "a%2Fb", "s_YQ"];
    const keys = names.flatMap((project) => names.map((sessionId) => ({ project, sessionId })));
    const directories = keys.map((key) => agent.directoryOf(key, ""));
    expect(new Set(directories).size).toBe(keys.length);
    expect(directories.every((path) => path.startsWith(join(data, "sessions")))).toBe(true);
  });

  it("gives the agent a curated environment and nothing of the runner's secrets", async () => {
    const runner = {
      PATH: "/bin",
      TZ: "UTC",
      HOLDFAST_NATS_CREDS: "secret",
      AWS_SECRET_ACCESS_KEY: "secret",
      HOME: "/root",
    };
    const agent = await entry({ env: { NODE: "${node}", AT: "${catalogue}/x", LITERAL: "$${home}" } }, runner);
    const { env } = await prepared(agent, { traceparent: "00-1-2-01" });
    const { HOME, TMPDIR, ...others } = env;
    expect(others).toEqual({
      PATH: "/bin",
      LANG: "C.UTF-8",
      TZ: "UTC",
      TRACEPARENT: "00-1-2-01",
      NODE: process.execPath,
      AT: `${base}/x`,
      LITERAL: "${home}",
    });
    expect([HOME, TMPDIR].every((path) => path?.startsWith(data))).toBe(true);
  });

  it("writes files below the home and the directory, and replaces a link instead of following it", async () => {
    const files = [
      { path: ".agent/settings.json", content: '{"dir":"${directory}"}' },
      { path: "${directory}/AGENTS.md", content: "hello" },
    ];
    const agent = await entry({ files });
    const first = await prepared(agent);
    await writeFile(join(base, "victim"), "untouched");
    await rm(join(first.directory, "AGENTS.md"));
    await symlink(join(base, "victim"), join(first.directory, "AGENTS.md"));
    const { env, directory } = await prepared(agent);
    expect(await readFile(join(env.HOME ?? "", ".agent/settings.json"), "utf8")).toBe(`{"dir":"${directory}"}`);
    expect(await readFile(join(directory, "AGENTS.md"), "utf8")).toBe("hello");
    expect(await readFile(join(base, "victim"), "utf8")).toBe("untouched");
  });

  it("does not write through a link to a directory outside", async () => {
    const agent = await entry({ files: [{ path: "${directory}/sub/file", content: "x" }] });
    const directory = agent.directoryOf(KEY, "");
    await mkdir(directory, { recursive: true });
    await mkdir(join(base, "outside"));
    await symlink(join(base, "outside"), join(directory, "sub"));
    expect(await prepare(agent)).toMatchObject({ kind: "failed", message: expect.stringContaining("leads out of") });
  });

  it("reads secrets from their files each time, and names one that is missing", async () => {
    await writeFile(join(base, "key"), "first\n");
    const agent = await entry({ secrets: { API_KEY: "key", other: { file: join(base, "other"), env: "OTHER" } } });
    expect(await prepare(agent)).toEqual({
      kind: "failed",
      message: "the file of secret other cannot be read: ENOENT",
    });
    await writeFile(join(base, "other"), "two words");
    expect(await prepared(agent)).toMatchObject({
      env: { API_KEY: "first", OTHER: "two words" },
      secrets: ["first", "two words"],
    });
    await writeFile(join(base, "key"), "second");
    expect((await prepared(agent)).env).toMatchObject({ API_KEY: "second" });
    await writeFile(join(base, "key"), "x".repeat(SECRET_BYTES + 1));
    expect(await prepare(agent)).toMatchObject({
      kind: "failed",
      message: expect.stringContaining("API_KEY is longer"),
    });
  });

  it("leaves no directory when it fails or is undone, unless the session had one", async () => {
    const agent = await entry({ secrets: { KEY: "key" } });
    const { own } = sessionDirectories(data, KEY);
    expect(await prepare(agent)).toMatchObject({ kind: "failed" });
    await expect(stat(own)).rejects.toThrow("ENOENT");
    await writeFile(join(base, "key"), "value");
    const first = await prepare(agent);
    const second = await prepare(agent);
    if (first.kind === "failed" || second.kind === "failed") throw new Error("the start could not be prepared");
    await second.undo();
    expect((await stat(own)).isDirectory()).toBe(true);
    await first.undo();
    await expect(stat(own)).rejects.toThrow("ENOENT");
  });

  it("puts the secrets that MCP servers name into them, the caller's before the catalogue's", async () => {
    await writeFile(join(base, "key"), "catalogue's");
    const agent = await entry({ secrets: { KEY: "key" } });
    const headers = { Authorization: { secretName: "token" }, Key: { secretName: "KEY" }, Plain: { literal: "x" } };
    const config: SessionConfig = {
      ...CONFIG,
      mcpServers: [{ name: "m", transport: "http", url: "http://h/", headers }],
    };
    expect(agent.missingSecrets(config, new Map())).toEqual(["token"]);
    expect(await prepare(agent, { config })).toEqual({ kind: "failed", message: "there is no secret named token" });
    const start = await prepared(agent, { config, secrets: new Map([["token", { value: "caller's" }]]) });
    expect(start.mcpServers).toMatchObject([
      { headers: { Authorization: "caller's", Key: "catalogue's", Plain: "x" } },
    ]);
    expect(start.secrets).toEqual(["catalogue's", "caller's"]);
  });

  it("uses the session's model and mode before the catalogue's", async () => {
    const agent = await entry({ model: "m1", mode: "ask" });
    expect(await prepared(agent)).toMatchObject({ model: "m1", mode: "ask" });
    expect(await prepared(agent, { config: { ...CONFIG, model: "m2" } })).toMatchObject({ model: "m2", mode: "ask" });
  });

  it("refuses a system prompt for an agent that takes none", async () => {
    const config = { ...CONFIG, systemPrompt: "be brief" };
    expect(await prepare(await entry({}), { config })).toMatchObject({ kind: "failed" });
    expect(await prepared(await entry({ system_prompt: "append" }), { config })).toMatchObject({
      systemPrompt: "be brief",
    });
  });
});

describe("A working directory", () => {
  const working = (workingDirectory: string) => ({ config: { ...CONFIG, workingDirectory } });

  it("is the session's own, or below it, and is made", async () => {
    const agent = await entry({});
    const { directory } = await prepared(agent, working("a/b"));
    expect(directory).toBe(join(agent.directoryOf(KEY, ""), "a/b"));
    expect(await agent.isUsable(directory)).toBe(true);
  });

  it("may be below a root of the catalogue, and nowhere else", async () => {
    const root = join(base, "root");
    await mkdir(join(root, "project"), { recursive: true });
    await mkdir(join(base, "elsewhere"));
    await symlink(join(base, "elsewhere"), join(root, "link"));
    const agent = await entry({ roots: [root] });
    expect((await prepared(agent, working(join(root, "project")))).directory).toBe(join(root, "project"));
    for (const outside of [join(base, "elsewhere"), join(root, "link"), "../../x", "/"]) {
      expect(await prepare(agent, working(outside)), outside).toMatchObject({ kind: "failed" });
    }
    expect(agent.mayWorkIn(KEY, agent.directoryOf(KEY, "../../x"))).toBe(false);
    expect(agent.mayWorkIn(KEY, join(root, "project"))).toBe(true);
  });

  it("that is gone, or is a file, is not usable", async () => {
    const agent = await entry({});
    const { directory } = await prepared(agent);
    await rm(directory, { recursive: true });
    expect(await agent.isUsable(directory)).toBe(false);
    await writeFile(directory, "");
    expect(await agent.isUsable(directory)).toBe(false);
  });
});
