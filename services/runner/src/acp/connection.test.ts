// When bytes go out: the lease is checked and the byte written in one step (D9), so nothing may come between.

import { PassThrough } from "node:stream";
import { newId } from "@holdfast/runtime";
import { beforeEach, describe, expect, it } from "vitest";
import { AgentConnection } from "./connection.ts";
import { Hearing, NoiseCount } from "./hearing.ts";
import { STDIN_BACKLOG_BYTES } from "./stdin.ts";
import { Recorder } from "./test-start.ts";

let stdin: PassThrough;
let stdout: PassThrough;
let listener: Recorder;
let connection: AgentConnection;

beforeEach(() => {
  stdin = new PassThrough();
  stdout = new PassThrough();
  listener = new Recorder();
  const hearing = new Hearing(listener, new NoiseCount(() => undefined));
  hearing.belongTo("s");
  hearing.ready("new");
  connection = new AgentConnection({ tree: { stdin, stdout }, hearing, room: () => Promise.resolve(), newId });
});

function say(message: object): void {
  stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function ask(id: string | number): void {
  const params = { sessionId: "s", toolCall: { toolCallId: "c" }, options: [] };
  say({ id, method: "session/request_permission", params });
}

function written(): readonly unknown[] {
  const text = (stdin.read() as Buffer | null)?.toString() ?? "";
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** All that follows from what happened in this turn of the event loop, and no more. */
async function microtasks(): Promise<void> {
  for (let step = 0; step < 50; step++) await null;
}

describe("The connection", () => {
  it("has written an answer when answer() returns, and writes it once", async () => {
    ask("q");
    const told = await listener.until("asks");
    connection.answer(told.ask.askId, { kind: "selected", optionId: "yes" });
    const result = { outcome: { outcome: "selected", optionId: "yes" } };
    expect(written()).toEqual([{ jsonrpc: "2.0", id: "q", result }]);
    ask("next");
    await listener.until("asks", 2);
    expect(written()).toEqual([]);
  });

  it("has written a prompt and the cancel after it, in order, before the event loop turns", async () => {
    connection.request("session/prompt", { n: 1 }).catch(() => undefined);
    connection.notify("session/cancel", { n: 2 });
    await microtasks();
    expect(written()).toMatchObject([{ method: "session/prompt" }, { method: "session/cancel" }]);
  });

  it("is not held up by an agent that does not read its stdin", async () => {
    connection.notify("test/first", { filler: "x".repeat(1 << 20) });
    connection.notify("test/second", {});
    await microtasks();
    expect(written()).toMatchObject([{ method: "test/first" }, { method: "test/second" }]);
  });

  it("writes nothing for a question whose pipe is gone", async () => {
    ask("q");
    const told = await listener.until("asks");
    stdin.destroy();
    expect(connection.answer(told.ask.askId, { kind: "selected", optionId: "yes" })).toBe(false);
  });

  it("answers a withdrawn request with -32800", async () => {
    ask(7);
    await listener.until("asks");
    say({ method: "$/cancel_request", params: { requestId: 7 } });
    await listener.until("withdraws");
    await microtasks();
    expect(written()).toMatchObject([{ id: 7, error: { code: -32800 } }]);
  });

  it("takes two requests with one id for two, and answers both", async () => {
    ask("same");
    ask("same");
    const asked = [await listener.until("asks", 1), await listener.until("asks", 2)];
    for (const { ask: open } of asked) connection.answer(open.askId, { kind: "cancelled" });
    expect(written()).toHaveLength(2);
  });

  it("tells nobody of a withdrawal when it is the connection that closed", async () => {
    ask("q");
    await listener.until("asks");
    connection.close();
    await microtasks();
    expect(listener.of("withdraws")).toEqual([]);
  });

  it("stops reading from an agent that does not read what it is answered", async () => {
    connection.notify("test/large", { filler: "x".repeat(STDIN_BACKLOG_BYTES) });
    await microtasks();
    ask("q");
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(listener.of("asks").length).toBeLessThanOrEqual(1);
    ask("after");
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(listener.of("asks").length).toBeLessThanOrEqual(1);
    stdin.resume();
    await listener.until("asks", 2);
  });
});
