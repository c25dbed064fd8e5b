// B3 and B4 against real processes: whatever an agent prints, its session goes on and this process does not grow.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ACP_LINE_BYTES } from "./lines.ts";
import { Recorder, Stage, smallAgent, text } from "./test-start.ts";

const NOISE_TEST_MS = 60_000;
const MIB = 1024 * 1024;

let stage: Stage;
let listener: Recorder;

beforeEach(() => {
  stage = new Stage();
  listener = new Recorder();
});

afterEach(() => stage.clear(), NOISE_TEST_MS);

/** Prompts, waits for the end, and gives what was said. */
async function play(script: string, over: Partial<Parameters<Stage["ready"]>[0]> = {}) {
  const agent = await stage.ready({ listener, ...over });
  agent.prompt([text(script)]);
  const { result } = await listener.until("settled");
  expect(result).toEqual({ kind: "stopped", stopReason: "end_turn" });
  return listener.said;
}

describe("Noise on an agent's stdout", { timeout: NOISE_TEST_MS }, () => {
  it.each([
    ["text", "no_json"],
    ["bad-utf8", "no_utf8"],
    ["partial-line", "no_json"],
    ["non-object", "no_message"],
    ["unknown-notification", "unknown_notification"],
    ["unknown-response", "unknown_response"],
    ["foreign-session", "foreign_session"],
  ])("of the kind %s is left out and logged once as %s, and the session goes on", async (kind, noise) => {
    expect(await play(`noise ${kind}\nnoise ${kind}`)).toBe(`noise ${kind} done`.repeat(2));
    expect(stage.noise.filter((reason) => reason === noise)).toHaveLength(1);
  });

  it.each(["blank", "split-line", "unknown-update", "stray-update", "reused-tool-call"])(
    "of the kind %s is none, and nothing is logged",
    async (kind) => {
      expect(await play(`noise ${kind}`)).toContain(`noise ${kind} done`);
      expect(stage.noise).toEqual([]);
    },
  );

  it("never makes the agent get an answer: it might answer that", async () => {
    const noisy = smallAgent(`
      on["session/prompt"] = (params, reply) => {
        write('nonsense\\n[1,2]\\n{}\\n"x"\\n{"jsonrpc":"2.0","id":99,"result":{}}\\n');
        setImmediate(() => reply({ stopReason: "end_turn" }));
      };
      process.stdin.on("data", (data) => { if (String(data).includes('"error"')) say("I was answered: " + data); });`);
    expect(await play("go", noisy)).toBe("");
  });

  it("spoils the message that is glued to it, and no other", async () => {
    expect(await play("noise glued\nsay after")).toBe("noise glued doneafter");
    expect(stage.noise).toEqual(["no_json"]);
  });

  it("an unknown method is answered with -32601", async () => {
    expect(await play("noise unknown-request")).toContain("-32601");
  });

  it("fs and terminal are not there, whether they were offered or not", async () => {
    const asking = smallAgent(`
      on["session/prompt"] = async (params, reply) => {
        for (const method of ["fs/read_text_file", "terminal/create", "elicitation/create"]) {
          const { error } = await new Promise((resolve) => { answers.set(method, resolve); send({ id: method, method, params: {} }); });
          say(method + " " + error.code + " ");
        }
        reply({ stopReason: "end_turn" });
      };`);
    const said = await play("go", asking);
    expect(said).toBe("fs/read_text_file -32601 terminal/create -32601 elicitation/create -32601 ");
  });

  it("a last message without an end of line is told", async () => {
    const agent = await stage.ready({ listener });
    agent.prompt([text("noise no-newline")]);
    expect((await listener.until("exited")).exit).toMatchObject({ code: 0 });
    expect(listener.said).toBe("the last line has no end");
  });

  it("an update nobody knows is told as it came", async () => {
    await play("noise unknown-update");
    const raw = listener.of("update").find(({ event }) => event.case === "raw");
    expect(raw?.event.value).toMatchObject({ json: '{"sessionUpdate":"scripted_unheard_of","value":1}' });
  });

  it("an update nobody knows that is too long is left out", async () => {
    const long = smallAgent(`on["session/prompt"] = (params, reply) => {
      update({ sessionUpdate: "odd", text: "x".repeat(70000) });
      reply({ stopReason: "end_turn" });
    };`);
    await play("go", long);
    expect(listener.of("update")).toEqual([]);
    expect(stage.noise).toEqual(["malformed"]);
  });

  it("a message that is nested without end harms nothing", async () => {
    const deep = smallAgent(`on["session/prompt"] = async (params, reply) => {
      const nested = "[".repeat(1e6) + "]".repeat(1e6);
      write('{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","rawInput":' + nested + '}}}\\n');
      const asked = new Promise((resolve) => answers.set("q", resolve));
      write('{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c","rawInput":' + nested + '},"options":[]}}\\n');
      const { error } = await asked;
      say(String(error.code));
      reply({ stopReason: "end_turn" });
    };`);
    expect(await play("go", deep)).toBe("-32602");
    expect(listener.of("update")[0]?.event.value).toMatchObject({ id: "c", rawInputJson: "", truncated: true });
    expect(listener.of("asks")).toEqual([]);
  });

  it("a line of 100 MiB is left out and told, and costs no memory", async () => {
    const before = process.memoryUsage().rss;
    let peak = 0;
    const room = async () => {
      peak = Math.max(peak, process.memoryUsage().rss);
    };
    expect(await play("noise oversized 100", { room })).toBe("noise oversized done");
    peak = Math.max(peak, process.memoryUsage().rss);
    expect(listener.of("dropped").map(({ bytes }) => bytes > 100 * MIB)).toEqual([true]);
    expect(peak - before).toBeLessThan(8 * ACP_LINE_BYTES);
  });

  it("is not read while there is no room, and all of it comes when there is", async () => {
    let open = Promise.withResolvers<void>();
    let isAsked = Promise.withResolvers<void>();
    let isFull = false;
    const room = async () => {
      if (!isFull) return;
      isAsked.resolve();
      await open.promise;
    };
    const agent = await stage.ready({ listener, room });
    isFull = true;
    agent.prompt([text("flood 20000")]);
    await isAsked.promise;
    const told = listener.told.length;
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(listener.told).toHaveLength(told);
    isFull = false;
    [isAsked] = [Promise.withResolvers<void>()];
    open.resolve();
    open = Promise.withResolvers<void>();
    await listener.until("settled");
    expect(listener.of("update")).toHaveLength(20_000);
  });

  it("stderr of 64 MiB harms nothing", async () => {
    expect(await play("stderr 64\nsay done")).toBe("stderr 64 donedone");
  });
});
