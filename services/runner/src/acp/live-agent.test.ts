import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ToolCallStatus } from "@holdfast/proto";
import { newId, systemClock } from "@holdfast/runtime";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { endPredecessors } from "../process/index.ts";
import { readProcess } from "../process/table.ts";
import { Recorder, Stage, scripted, smallAgent, text } from "./test-start.ts";

const LIVE_TEST_MS = 30_000;

let stage: Stage;
let listener: Recorder;

beforeEach(() => {
  stage = new Stage();
  listener = new Recorder();
});

afterEach(() => stage.clear(), LIVE_TEST_MS);

function ledger(): readonly string[] {
  const file = join(stage.directory, "ledger.jsonl");
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => (JSON.parse(line) as { command: string }).command);
}

describe("A prompt", { timeout: LIVE_TEST_MS }, () => {
  it("is answered with what the agent said, in order, and then settles", async () => {
    const agent = await stage.ready({ listener });
    agent.prompt([text("think hm\nsay one\nsay two")]);
    const { result } = await listener.until("settled");
    expect(result).toEqual({ kind: "stopped", stopReason: "end_turn" });
    expect(listener.told.map((told) => (told.kind === "update" ? told.event.case : told.kind))).toEqual([
      "thoughtDelta",
      "messageDelta",
      "messageDelta",
      "settled",
    ]);
    expect(listener.said).toBe("onetwo");
  });

  it("keeps the agent's order between updates, questions and the end, message by message", async () => {
    const busy = smallAgent(`
      on["session/prompt"] = (params, reply) => {
        for (let i = 0; i < 50; i++) { say(String(i)); void ask("q" + i, { toolCallId: String(i), rawInput: { i } }); }
        reply({ stopReason: "end_turn" });
      };`);
    const agent = await stage.ready({ listener, ...busy });
    agent.prompt([text("go")]);
    await listener.until("settled");
    const expected = Array.from({ length: 50 }, () => ["update", "asks"]).flat();
    expect(listener.told.map(({ kind }) => kind)).toEqual([...expected, "settled"]);
    expect(listener.of("asks").map(({ ask }) => ask.toolCall.id)).toEqual(
      Array.from({ length: 50 }, (_, i) => String(i)),
    );
  });

  it("that the agent answers with an error has failed, and the agent can be prompted again", async () => {
    const agent = await stage.ready({ listener });
    agent.prompt([text("noise prompt-error")]);
    const { result } = await listener.until("settled");
    expect(result).toMatchObject({ kind: "failed", message: expect.stringContaining("-32603") });
    agent.prompt([text("say again")]);
    expect((await listener.until("settled", 2)).result).toEqual({ kind: "stopped", stopReason: "end_turn" });
  });

  it.each(["null", '"done"', '{ "stopReason": "because" }', "{}"])("answered with %s has failed", async (answer) => {
    const agent = await stage.ready({
      listener,
      ...smallAgent(`on["session/prompt"] = (p, reply) => reply(${answer});`),
    });
    agent.prompt([text("go")]);
    expect((await listener.until("settled")).result).toMatchObject({ kind: "failed" });
  });

  it("tells what was used, when the agent counts it", async () => {
    const counting = smallAgent(`on["session/prompt"] = (p, reply) =>
      reply({ stopReason: "end_turn", usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } });`);
    const agent = await stage.ready({ listener, ...counting });
    agent.prompt([text("go")]);
    await listener.until("settled");
    expect(listener.told[0]).toMatchObject({ event: { case: "usage", value: { inputTokens: 3n, totalTokens: 7n } } });
  });

  it("is refused while another one has not settled: that is a bug of the caller", async () => {
    const agent = await stage.ready({ listener });
    agent.prompt([text("sleep 60000")]);
    expect(() => agent.prompt([text("say no")])).toThrow(/one prompt at a time/);
  });

  it("is cancelled, and the same process goes on", async () => {
    const agent = await stage.ready({ listener });
    agent.prompt([text("say begun\nsleep 60000")]);
    await listener.until("update");
    agent.cancel();
    expect((await listener.until("settled")).result).toEqual({ kind: "stopped", stopReason: "cancelled" });
    agent.prompt([text("pid")]);
    await listener.until("settled", 2);
    expect(listener.said).toContain(String(agent.pid));
  });
});

describe("A permission request", { timeout: LIVE_TEST_MS }, () => {
  it("shows the call and the options, and its answer lets the held call run once", async () => {
    const agent = await stage.ready({ listener });
    agent.prompt([text("run echo held")]);
    const { ask } = await listener.until("asks");
    expect(ask.toolCall).toMatchObject({
      title: "echo held",
      kind: "execute",
      status: ToolCallStatus.PENDING,
      rawInputJson: '{"command":"echo held"}',
    });
    expect(ask.options.map(({ kind }) => kind)).toEqual(["allow_once", "allow_always", "reject_once"]);
    expect(ledger()).toEqual([]);
    expect(agent.answer(ask.askId, { kind: "selected", optionId: "allow-once" })).toBe(true);
    await listener.until("settled");
    expect(ledger()).toEqual(["echo held"]);
  });

  it("is answered once: a second answer writes nothing", async () => {
    const counting = smallAgent(`
      on["session/prompt"] = async (params, reply) => {
        let answered = 0;
        const first = ask("q", { toolCallId: "c" });
        answers.set("q", ((resolve) => (message) => { answered += 1; resolve(message); })(answers.get("q")));
        await first;
        on["test/count"] = () => { say(String(answered)); reply({ stopReason: "end_turn" }); };
        await ask("again", { toolCallId: "c" });
        on["test/count"]();
      };`);
    const agent = await stage.ready({ listener, ...counting });
    agent.prompt([text("go")]);
    const { ask } = await listener.until("asks");
    expect(agent.answer(ask.askId, { kind: "selected", optionId: "yes" })).toBe(true);
    expect(agent.answer(ask.askId, { kind: "selected", optionId: "no" })).toBe(false);
    const second = await listener.until("asks", 2);
    agent.answer(second.ask.askId, { kind: "cancelled" });
    await listener.until("settled");
    expect(listener.said).toBe("1");
  });

  it("that the agent takes back is told, and can no longer be answered", async () => {
    const agent = await stage.ready({ listener });
    agent.prompt([text("run echo never")]);
    const { ask } = await listener.until("asks");
    agent.cancel();
    expect(await listener.until("withdraws")).toEqual({ kind: "withdraws", askId: ask.askId });
    expect(agent.answer(ask.askId, { kind: "selected", optionId: "allow-once" })).toBe(false);
    await listener.until("settled");
    expect(ledger()).toEqual([]);
  });

  it("answered with cancelled runs nothing", async () => {
    const agent = await stage.ready({ listener });
    agent.prompt([text("run echo never")]);
    const { ask } = await listener.until("asks");
    agent.answer(ask.askId, { kind: "cancelled" });
    expect((await listener.until("settled")).result).toEqual({ kind: "stopped", stopReason: "cancelled" });
    expect(ledger()).toEqual([]);
  });

  it("two at once are two questions, answered in either order, however alike", async () => {
    const agent = await stage.ready({ listener });
    agent.prompt([text("twice echo same")]);
    const [one, other] = [await listener.until("asks", 1), await listener.until("asks", 2)];
    expect(one.ask.askId).not.toBe(other.ask.askId);
    agent.answer(other.ask.askId, { kind: "selected", optionId: "reject-once" });
    agent.answer(one.ask.askId, { kind: "selected", optionId: "allow-once" });
    await listener.until("settled");
    expect(ledger()).toEqual(["echo same"]);
  });

  it("outside a prompt is told as well: whoever listens decides", async () => {
    const agent = await stage.ready({ listener });
    agent.prompt([text("noise stray-gate")]);
    const { ask } = await listener.until("asks");
    await listener.until("settled");
    expect(agent.answer(ask.askId, { kind: "cancelled" })).toBe(true);
    expect(ledger()).toEqual([]);
  });

  it.each([
    ["without its tool call", `{ toolCall: undefined }`],
    ["with a change that cannot be read", `{ toolCall: { toolCallId: "c", content: [{ type: "diff", path: 7 }] } }`],
    ["with an option of an unknown kind", `{ options: [{ optionId: "x", name: "X", kind: "maybe" }] }`],
    [
      "with an option of a longer id than is kept",
      `{ options: [{ optionId: "x".repeat(257), name: "X", kind: "allow_once" }] }`,
    ],
    ["of another session", `{ sessionId: "other" }`],
  ])("%s is refused with -32602 and never told", async (_, more) => {
    const odd = smallAgent(`
      on["session/prompt"] = async (params, reply) => {
        const { error } = await ask("q", { toolCallId: "c" }, ${more});
        say(String(error.code));
        reply({ stopReason: "end_turn" });
      };`);
    const agent = await stage.ready({ listener, ...odd });
    agent.prompt([text("go")]);
    await listener.until("settled");
    expect(listener.said).toBe("-32602");
    expect(listener.of("asks")).toEqual([]);
  });

  it("keeps long numbers as the agent wrote them", async () => {
    const exact = smallAgent(`
      on["session/prompt"] = () => write('{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":"s",' +
        '"toolCall":{"toolCallId":"c","rawInput":{"id":9007199254740993,"size":1e400}},"options":[]}}\\n');`);
    const agent = await stage.ready({ listener, ...exact });
    agent.prompt([text("go")]);
    const { ask } = await listener.until("asks");
    expect(ask.toolCall.rawInputJson).toBe('{"id":9007199254740993,"size":1e400}');
  });
});

describe("A live session's mode and model", { timeout: LIVE_TEST_MS }, () => {
  it("are changed while it lives, and not to what is not offered", async () => {
    const agent = await stage.ready({ listener });
    expect(await agent.change({ model: "fancy", mode: "read-only" })).toBe(true);
    expect(await agent.change({ model: null, mode: "yolo" })).toBe(false);
    agent.prompt([text("run echo never")]);
    await listener.until("settled");
    expect(listener.of("asks")).toEqual([]);
    expect(ledger()).toEqual([]);
  });
});

describe("An agent's end", { timeout: LIVE_TEST_MS }, () => {
  it("by itself is told once, with its code and what it printed, after what it said last", async () => {
    const agent = await stage.ready({ listener });
    agent.prompt([text("say last words\nexit 9")]);
    const { exit } = await listener.until("exited");
    expect(exit).toMatchObject({ code: 9, signal: null });
    expect(listener.told.map(({ kind }) => kind)).toEqual(["update", "exited"]);
    expect(agent.answer("gate_any", { kind: "cancelled" })).toBe(false);
  });

  it("while a gate is open tells of the exit, and the gate can no longer be answered", async () => {
    const agent = await stage.ready({ listener });
    agent.prompt([text("exit-gated echo never")]);
    await listener.until("exited");
    const [asked] = listener.of("asks");
    expect(agent.answer(asked?.ask.askId ?? "", { kind: "selected", optionId: "allow-once" })).toBe(false);
    expect(ledger()).toEqual([]);
  });

  it("is not waited for by whoever holds its pipes", async () => {
    const agent = await stage.ready({ listener });
    agent.prompt([text("grandchild 600\nexit 0")]);
    expect((await listener.until("exited")).exit).toMatchObject({ code: 0 });
    await agent.end();
    expect(readProcess(Number(listener.said.match(/\d+/)?.[0]))).toBe(null);
  });

  it("by itself is the end of what it started, at once: nobody hears or stops that any more", async () => {
    const heir = `
      process.on("SIGTERM", () => require("node:fs").writeFileSync("asked-to-go", ""));
      setInterval(() => {}, 1000);
      console.log("up");`;
    const host = smallAgent(`
      on["session/prompt"] = () => require("node:child_process")
        .spawn(process.execPath, ["-e", ${JSON.stringify(heir)}], { stdio: ["ignore", "pipe", "inherit"] })
        .stdout.once("data", () => process.exit(3));`);
    const agent = await stage.ready({ listener, ...host });
    agent.prompt([text("go")]);
    expect((await listener.until("exited")).exit).toMatchObject({ code: 3 });
    await agent.end();
    expect(existsSync(join(stage.directory, "asked-to-go"))).toBe(false);
  });

  it("comes when it closes its stdout and lives on", async () => {
    const mute = smallAgent(
      `on["session/prompt"] = () => { require("node:fs").closeSync(1); setInterval(() => {}, 1000); };`,
    );
    const agent = await stage.ready({ listener, ...mute });
    agent.prompt([text("go")]);
    await listener.until("exited");
    expect(readProcess(agent.pid)).toBe(null);
  });

  it("by end() tells nothing more, and leaves nothing behind", async () => {
    const owner = newId("nonce");
    const agent = await stage.ready({ listener, owner, ...scripted("--ignore-sigterm") });
    agent.prompt([text("grandchild 600\nsay up\nsleep 60000")]);
    await listener.until("update", 2);
    const told = listener.told.length;
    await Promise.all([agent.end(), agent.end()]);
    expect(listener.told).toHaveLength(told);
    expect(await endPredecessors(owner, systemClock)).toEqual({ ended: 0, left: [] });
  });

  it("by kill() comes at once, however deaf the agent", async () => {
    const agent = await stage.ready({ listener, ...scripted("--ignore-sigterm") });
    agent.kill();
    await agent.end();
    expect(readProcess(agent.pid)).toBe(null);
    expect(listener.told).toEqual([]);
  });
});
