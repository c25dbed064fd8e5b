import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { newId } from "@holdfast/runtime";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { STDERR_TAIL_CHARACTERS } from "./stderr-tail.ts";
import { Recorder, Stage, scripted, smallAgent, text } from "./test-start.ts";

const START_TEST_MS = 30_000;

let stage: Stage;
let listener: Recorder;

beforeEach(() => {
  stage = new Stage();
  listener = new Recorder();
});

afterEach(() => stage.clear(), START_TEST_MS);

/** Processes on this machine that carry the mark of this start. */
function carriers(owner: string): readonly string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(join("/proc", name, "environ"), "latin1").includes(owner);
    } catch {
      return false;
    }
  });
}

async function failed(over: Parameters<Stage["start"]>[0]) {
  const owner = newId("nonce");
  const outcome = await stage.start({ ...over, owner });
  if (outcome.kind !== "failed") throw new Error("it started");
  expect(carriers(owner)).toEqual([]);
  expect(listener.told).toEqual([]);
  return outcome;
}

describe("A start", { timeout: START_TEST_MS }, () => {
  it("gives an agent whose session is ready", async () => {
    const agent = await stage.ready({ listener, model: "fancy", mode: "ask" });
    expect(agent).toMatchObject({ tier: "new", canLoad: true });
    expect(agent.offers).toEqual({ models: ["plain", "fancy"], modes: ["ask", "read-only"] });
    expect(agent.memoryBytes()).toBeGreaterThan(1 << 20);
  });

  it("that finds no program says so", async () => {
    const { message } = await failed({ listener, command: "/nowhere/agent" });
    expect(message).toBe("spawn: spawn /nowhere/agent ENOENT");
  });

  it("of an agent that exits at once names the step, the code and what it printed, without secrets", async () => {
    const script = `process.stderr.write("no luck with correct-horse"); process.exit(3);`;
    const outcome = await failed({ listener, args: ["-e", script], secrets: ["correct-horse"] });
    expect(outcome.message).toBe("initialize: the agent exited with code 3");
    expect(outcome.stderr).toBe("no luck with [redacted]");
  });

  it("tells the end of what the agent printed, and no more than its limit", async () => {
    const script = `process.stderr.write("x".repeat(20000) + "the end", () => process.exit(1));`;
    const { stderr } = await failed({ listener, args: ["-e", script] });
    expect(stderr).toHaveLength(STDERR_TAIL_CHARACTERS);
    expect(stderr.endsWith("xxthe end")).toBe(true);
  });

  it("of an agent that is killed names the signal", async () => {
    const { message } = await failed({
      listener,
      ...smallAgent(`on["session/new"] = () => process.kill(process.pid, "SIGKILL");`),
    });
    expect(message).toBe("session/new: the agent was ended by SIGKILL");
  });

  it("of an agent that closes its stdout and lives on fails", async () => {
    const { message } = await failed({
      listener,
      args: ["-e", `require("node:fs").closeSync(1); setInterval(() => {}, 1000);`],
    });
    expect(message).toBe("initialize: the agent closed its stdout");
  });

  it("of an agent that speaks another version names both", async () => {
    const { message } = await failed({ listener, ...scripted("--protocol-version", "7") });
    expect(message).toBe("initialize: the agent speaks ACP version 7, this runner speaks 1");
  });

  it("of an agent whose answer is malformed fails", async () => {
    const { message } = await failed({ listener, ...smallAgent(`on.initialize = (params, reply) => reply("hello");`) });
    expect(message).toBe("initialize: the agent's answer is malformed");
  });

  it("whose session the agent refuses tells the agent's error", async () => {
    const refusing = smallAgent(
      `on["session/new"] = (p, r, id) => send({ id, error: { code: -32000, message: "log in first" } });`,
    );
    const { message } = await failed({ listener, ...refusing });
    expect(message).toBe("session/new: the agent answered with error -32000: log in first");
  });

  it("that hangs is given up when its signal says so", async () => {
    const giveUp = new AbortController();
    const outcome = failed({ listener, ...scripted("--hang-start"), signal: giveUp.signal });
    giveUp.abort(new Error("the start limit passed"));
    expect((await outcome).message).toMatch(/^(spawn|initialize): (given up: )?the start limit passed$/);
  });

  it("that is given up while it opens the session leaves nothing either", async () => {
    const giveUp = new AbortController();
    const silent = smallAgent(`on["session/new"] = () => process.stderr.write("asked");`);
    const outcome = failed({
      listener,
      ...silent,
      signal: giveUp.signal,
      room: async () => void setImmediate(() => giveUp.abort()),
    });
    expect((await outcome).message).toMatch(/given up/);
  });

  it("with a mode or model that is not offered fails and names those that are", async () => {
    expect((await failed({ listener, mode: "yolo" })).message).toBe(
      "mode: the agent does not offer mode yolo, but ask, read-only",
    );
    expect((await failed({ listener, model: "huge" })).message).toBe(
      "model: the agent does not offer model huge, but plain, fancy",
    );
  });

  it("with an MCP server over a transport that the agent does not take fails", async () => {
    const mcpServers = [{ name: "tools", transport: "http", url: "http://localhost:1/", headers: {} }] as const;
    expect((await failed({ listener, mcpServers })).message).toBe(
      "initialize: the agent takes no MCP servers over http, which tools needs",
    );
  });

  it("answers a permission request that comes before the session is ready with cancelled, and tells nobody", async () => {
    const early = smallAgent(`
      on["session/new"] = async (params, reply) => {
        const { result } = await ask("early", { toolCallId: "c", rawInput: { command: "rm -rf /" } });
        if (result.outcome.outcome === "cancelled") reply({ sessionId: "s" });
      };`);
    await stage.ready({ listener, ...early });
    expect(listener.told).toEqual([]);
  });

  it("hands a system prompt over as an addition to the agent's own", async () => {
    const echo = smallAgent(`
      let meta;
      on["session/new"] = (params, reply) => { meta = params._meta; reply({ sessionId: "s" }); };
      on["session/prompt"] = (params, reply) => { say(JSON.stringify(meta)); reply({ stopReason: "end_turn" }); };`);
    const agent = await stage.ready({ listener, ...echo, systemPrompt: "be brief" });
    agent.prompt([text("go")]);
    await listener.until("settled");
    expect(listener.said).toBe('{"systemPrompt":{"append":"be brief"}}');
  });
});

describe("A session that is brought back", { timeout: START_TEST_MS }, () => {
  async function remembered(): Promise<string> {
    const first = await stage.ready({ listener: new Recorder() });
    const recorder = new Recorder();
    const agent = await stage.ready({ listener: recorder });
    agent.prompt([text("remember colour green\nsay noted")]);
    await recorder.until("settled");
    await Promise.all([first.end(), agent.end()]);
    return agent.sessionId;
  }

  it("has its memory, by resume where the agent offers it", async () => {
    const load = await remembered();
    const agent = await stage.ready({ listener, load });
    expect(agent).toMatchObject({ tier: "load", sessionId: load });
    agent.prompt([text("recall colour")]);
    await listener.until("settled");
    expect(listener.said).toBe("colour=green");
  });

  it("tells nothing of what a load replays, before its response or after", async () => {
    const replaying = smallAgent(`
      on.initialize = (params, reply) => reply({ protocolVersion: 1, agentCapabilities: { loadSession: true } });
      on["session/load"] = (params, reply) => {
        say("old 1");
        reply(null);
        setTimeout(() => say("old 2"), 50);
      };
      on["session/prompt"] = (params, reply) => { say("new"); reply({ stopReason: "end_turn" }); };`);
    const agent = await stage.ready({ listener, ...replaying, load: "s" });
    expect(agent.tier).toBe("load");
    agent.prompt([text("go")]);
    await listener.until("settled");
    expect(listener.said).toBe("new");
  });

  it("that the agent no longer knows begins anew and says so", async () => {
    const agent = await stage.ready({ listener, load: "00000000-0000-0000-0000-000000000000" });
    expect(agent.tier).toBe("new");
    expect(agent.sessionId).not.toBe("00000000-0000-0000-0000-000000000000");
  });

  it("begins anew when the agent can bring nothing back", async () => {
    const agent = await stage.ready({ listener, ...scripted("--no-load"), load: "whatever" });
    expect(agent).toMatchObject({ tier: "new", canLoad: false });
  });
});
