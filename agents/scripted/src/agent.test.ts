import { methods, type SetSessionConfigOptionRequest } from "@agentclientprotocol/sdk";
import { afterEach, describe, expect, test } from "vitest";
import { Driver } from "./driver.ts";
import { readLedger } from "./ledger.ts";
import { OUTPUT_MAX_BYTES } from "./shell.ts";

const started: Driver[] = [];

function start(...args: ConstructorParameters<typeof Driver>): Driver {
  const driver = new Driver(...args);
  started.push(driver);
  return driver;
}

function commandsRun(driver: Driver): string[] {
  return readLedger(driver.directory).map((line) => line.command);
}

afterEach(async () => {
  for (const driver of started.splice(0)) await driver.end();
});

describe("messages", () => {
  test("come in the order of the script; what is no command is echoed", async () => {
    const driver = start({ env: { TRACEPARENT: "00-abc-def-01" } });
    const session = await driver.newSession();
    const { stopReason } = await driver.prompt(
      session,
      "say one",
      "hello there",
      "env TRACEPARENT",
      "env NOT_THERE",
      "pid",
      "sleep 1",
      "think two",
    );
    expect(stopReason).toBe("end_turn");
    expect(driver.said).toEqual([
      "one",
      "hello there",
      "TRACEPARENT=00-abc-def-01",
      "NOT_THERE is not set",
      `pid ${driver.child.pid}`,
    ]);
    expect(driver.updates.at(-1)?.update).toMatchObject({ sessionUpdate: "agent_thought_chunk" });
  });

  test("say of content that is no text only that it arrived", async () => {
    const driver = start();
    const sessionId = await driver.newSession();
    const prompt = [{ type: "resource_link", uri: "file:///x", name: "x" } as const];
    await driver.agent.request(methods.agent.session.prompt, { sessionId, prompt });
    expect(driver.said).toEqual(["received: resource_link"]);
  });

  test("of a flood all arrive, in order", async () => {
    const driver = start();
    await driver.prompt(await driver.newSession(), "flood 500");
    expect(driver.said).toHaveLength(500);
    expect(driver.said.at(-1)).toBe("chunk 500 of 500\n");
  });

  test("with a question carry its answer back where the client offers questions", async () => {
    const driver = start();
    driver.answerQuestion = "blue";
    await driver.prompt(await driver.newSession(), "ask which colour?");
    expect(driver.questions).toEqual(["which colour?"]);
    expect(driver.said).toEqual(["answer: blue"]);
  });

  test("say so where the client offers no questions", async () => {
    const driver = start();
    await driver.prompt(await driver.newSession(), "ask which colour?");
    expect(driver.said).toEqual(["this client does not offer questions (elicitation.form)"]);
  });
});

describe("run", () => {
  test("announces, asks with three options, and runs the command once after allow", async () => {
    const driver = start();
    const session = await driver.newSession();
    const prompt = driver.prompt(session, "run echo hi; pwd > here", "say done");
    const gate = await driver.gate(0);
    expect(driver.updates.map(({ update }) => update)).toMatchObject([
      {
        sessionUpdate: "tool_call",
        toolCallId: "call-1",
        status: "pending",
        kind: "execute",
        title: "echo hi; pwd > here",
        rawInput: { command: "echo hi; pwd > here" },
      },
    ]);
    expect(gate.request.toolCall.toolCallId).toBe("call-1");
    expect(gate.request.options.map(({ optionId, kind }) => [optionId, kind])).toEqual([
      ["allow-once", "allow_once"],
      ["allow-always", "allow_always"],
      ["reject-once", "reject_once"],
    ]);
    expect(readLedger(driver.directory)).toEqual([]);

    gate.choose("allow-once");
    expect((await prompt).stopReason).toBe("end_turn");
    expect(driver.statuses("call-1")).toEqual(["pending", "in_progress", "completed"]);
    expect(driver.updates.at(-2)?.update).toMatchObject({
      content: [{ type: "content", content: { text: "hi\n" } }],
      rawOutput: { kind: "exited", code: 0 },
    });
    expect(driver.said).toEqual(["done"]);
    expect(readLedger(driver.directory)).toEqual([
      {
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        pid: driver.child.pid,
        session,
        toolCallId: "call-1",
        command: "echo hi; pwd > here",
      },
    ]);
  });

  test("fails the call and goes on after reject, and after an option nobody offered", async () => {
    const driver = start();
    const prompt = driver.prompt(await driver.newSession(), "run echo a", "run echo b", "say done");
    (await driver.gate(0)).choose("reject-once");
    (await driver.gate(1)).choose("allow_once");
    expect((await prompt).stopReason).toBe("end_turn");
    expect(driver.statuses("call-1")).toEqual(["pending", "failed"]);
    expect(driver.statuses("call-2")).toEqual(["pending", "failed"]);
    expect(driver.said).toEqual(["done"]);
    expect(commandsRun(driver)).toEqual([]);
  });

  test("reports a command that fails as failed, with its exit code", async () => {
    const driver = start();
    const prompt = driver.prompt(await driver.newSession(), "run echo no >&2; exit 4");
    (await driver.gate(0)).choose("allow-once");
    await prompt;
    expect(driver.updates.at(-1)?.update).toMatchObject({
      status: "failed",
      content: [{ content: { text: "no\nexit code 4" } }],
    });
  });

  test("keeps the beginning of a long output and drops the rest", async () => {
    const driver = start();
    const prompt = driver.prompt(await driver.newSession(), "run head -c 1000000 /dev/zero | tr '\\0' x");
    (await driver.gate(0)).choose("allow-once");
    await prompt;
    expect(driver.updates.at(-1)?.update).toMatchObject({
      status: "completed",
      content: [{ content: { text: "x".repeat(OUTPUT_MAX_BYTES) } }],
    });
  });

  test("does not wait for what a command left behind in the background", async () => {
    const driver = start();
    const prompt = driver.prompt(await driver.newSession(), "run sleep 5 & echo $!");
    (await driver.gate(0)).choose("allow-once");
    await prompt;
    const { update } = driver.updates.at(-1) ?? {};
    expect(update).toMatchObject({ status: "completed", rawOutput: { output: expect.stringMatching(/^\d+\n$/) } });
    process.kill(Number((update as { rawOutput: { output: string } }).rawOutput.output), "SIGKILL");
  });

  test("asks no more for a command that was always allowed, and still for any other", async () => {
    const driver = start();
    const prompt = driver.prompt(await driver.newSession(), "run echo a", "run echo a", "run echo b");
    (await driver.gate(0)).choose("allow-always");
    (await driver.gate(1)).choose("allow-once");
    await prompt;
    expect(driver.gates.map((gate) => gate.request.toolCall.title)).toEqual(["echo a", "echo b"]);
    expect(commandsRun(driver)).toEqual(["echo a", "echo a", "echo b"]);
  });

  test("asks for nothing and runs nothing in read-only mode", async () => {
    const driver = start();
    const sessionId = await driver.newSession();
    await driver.agent.request(methods.agent.session.setMode, { sessionId, modeId: "read-only" });
    await driver.prompt(sessionId, "run echo a");
    expect(driver.gates).toEqual([]);
    expect(driver.statuses("call-1")).toEqual(["pending", "failed"]);
    expect(commandsRun(driver)).toEqual([]);
  });
});

describe("several calls", () => {
  test("`both` opens two gates; each is answered on its own and runs at once", async () => {
    const driver = start();
    const prompt = driver.prompt(await driver.newSession(), "both echo a && echo b");
    const [first, second] = [await driver.gate(0), await driver.gate(1)];
    second.choose("allow-once");
    await driver.until(() => driver.statuses("call-2").includes("completed"));
    expect(driver.statuses("call-1")).toEqual(["pending"]);
    expect(commandsRun(driver)).toEqual(["echo b"]);
    first.choose("allow-once");
    await prompt;
    expect(commandsRun(driver)).toEqual(["echo b", "echo a"]);
  });

  test("`twice` opens two gates for two calls that differ in their ids only", async () => {
    const driver = start();
    const prompt = driver.prompt(await driver.newSession(), "twice echo a");
    const calls = [await driver.gate(0), await driver.gate(1)].map((gate) => gate.request.toolCall);
    expect(calls.map((call) => call.toolCallId)).toEqual(["call-1", "call-2"]);
    expect({ ...calls[0], toolCallId: "" }).toEqual({ ...calls[1], toolCallId: "" });
    driver.gates[0]?.choose("allow-once");
    driver.gates[1]?.choose("reject-once");
    await prompt;
    expect(readLedger(driver.directory).map((line) => line.toolCallId)).toEqual(["call-1"]);
  });

  test.each([
    ["allow-once", ["echo a", "echo b"]],
    ["reject-once", ["echo a"]],
  ])("`batch` asks for the second call only and runs neither before the answer (%s)", async (option, run) => {
    const driver = start();
    const prompt = driver.prompt(await driver.newSession(), "batch echo a && echo b");
    const gate = await driver.gate(0);
    expect(gate.request.toolCall.toolCallId).toBe("call-2");
    expect(driver.statuses("call-1")).toEqual(["pending", "in_progress"]);
    expect(commandsRun(driver)).toEqual([]);
    gate.choose(option);
    await prompt;
    expect(driver.gates).toHaveLength(1);
    expect(commandsRun(driver)).toEqual(run);
  });

  test("`both-held` runs neither call before both gates are answered", async () => {
    const driver = start();
    const session = await driver.newSession();
    const prompt = driver.prompt(session, "both-held echo a && echo b");
    (await driver.gate(0)).choose("allow-once");
    const second = await driver.gate(1);
    await driver.agent.request(methods.agent.session.setMode, { sessionId: session, modeId: "ask" });
    expect(commandsRun(driver)).toEqual([]);
    second.choose("allow-once");
    await prompt;
    expect(commandsRun(driver)).toEqual(["echo a", "echo b"]);
  });

  test("`gates` opens as many gates as it is told", async () => {
    const driver = start();
    const prompt = driver.prompt(await driver.newSession(), "gates 33 true");
    await driver.gate(32);
    for (const gate of driver.gates) gate.choose("reject-once");
    await prompt;
    expect(commandsRun(driver)).toEqual([]);
  });
});

describe("the ACP session", () => {
  test("takes one prompt at a time", async () => {
    const driver = start();
    const session = await driver.newSession();
    const prompt = driver.prompt(session, "run echo a");
    const gate = await driver.gate(0);
    await expect(driver.prompt(session, "say hi")).rejects.toMatchObject({ code: -32600 });
    gate.choose("allow-once");
    expect((await prompt).stopReason).toBe("end_turn");
  });

  test("says what it offers: load, resume, close, modes and a model", async () => {
    const driver = start();
    const { agentCapabilities, protocolVersion } = await driver.initialize();
    expect(protocolVersion).toBe(1);
    expect(agentCapabilities).toMatchObject({
      loadSession: true,
      sessionCapabilities: { resume: {}, close: {} },
    });
    const opened = await driver.agent.request(methods.agent.session.new, { cwd: driver.directory, mcpServers: [] });
    expect(opened.modes).toMatchObject({ currentModeId: "ask" });
    const { sessionId } = opened;
    const change: SetSessionConfigOptionRequest = { sessionId, configId: "model", value: "fancy" };
    const { configOptions } = await driver.agent.request(methods.agent.session.setConfigOption, change);
    expect(configOptions).toMatchObject([{ id: "model", category: "model", currentValue: "fancy" }]);
    const wrong = driver.agent.request(methods.agent.session.setMode, { sessionId, modeId: "no such mode" });
    await expect(wrong).rejects.toMatchObject({ code: -32602 });
    const nobody = driver.prompt("nobody", "say hi");
    await expect(nobody).rejects.toMatchObject({ code: -32002 });
  });

  test("is refused in a directory that is not there", async () => {
    const driver = start();
    await driver.initialize();
    const nowhere = driver.agent.request(methods.agent.session.new, { cwd: "/no/such/place", mcpServers: [] });
    await expect(nowhere).rejects.toMatchObject({ code: -32602 });
  });
});
