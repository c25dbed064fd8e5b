// The scripted model's server, asked with plain fetch.

import { afterEach, beforeEach, expect, test } from "vitest";
import { EXCHANGES_KEPT_MAX, type ModelEndpoint, REQUEST_MAX_BYTES, startModelEndpoint } from "./model-endpoint.ts";

let endpoint: ModelEndpoint;

beforeEach(async () => {
  endpoint = await startModelEndpoint();
});

afterEach(() => endpoint.close());

function conversation(prompt: string, stream: boolean): string {
  return JSON.stringify({
    model: "m",
    stream,
    tools: [{ name: "Bash" }],
    messages: [{ role: "user", content: prompt }],
  });
}

function post(path: string, body: string): Promise<Response> {
  return fetch(`${endpoint.url}${path}`, { method: "POST", body });
}

test("it answers as one message", async () => {
  const response = await post("/v1/messages", conversation("say: hello\nbash: date > a", false));
  expect(await response.json()).toMatchObject({
    type: "message",
    role: "assistant",
    model: "m",
    stop_reason: "tool_use",
    content: [
      { type: "text", text: "hello" },
      { type: "tool_use", name: "Bash", input: { command: "date > a" } },
    ],
  });
});

test("it answers as a stream of events that make the same message", async () => {
  const response = await post("/v1/messages?beta=true", conversation("say: hello\nbash: date > a", true));
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const events = (await response.text())
    .split("\n\n")
    .filter((frame) => frame !== "")
    .map((frame) => JSON.parse(frame.slice(frame.indexOf("data: ") + "data: ".length)));
  const part = ["content_block_start", "content_block_delta", "content_block_stop"];
  const types = events.map((event) => event.type);
  expect(types).toEqual(["message_start", ...part, ...part, "message_delta", "message_stop"]);
  expect(events[2].delta).toEqual({ type: "text_delta", text: "hello" });
  expect(JSON.parse(events[5].delta.partial_json)).toMatchObject({ command: "date > a" });
  expect(events[7].delta.stop_reason).toBe("tool_use");
});

test("two calls in one response have ids of their own, also in another response", async () => {
  const body = conversation("bash: one\nbash: two", false);
  await Promise.all([post("/v1/messages", body), post("/v1/messages", body)]);
  const ids = endpoint.exchanges
    .flatMap((exchange) => exchange.reply)
    .map((part) => part.type === "tool_use" && part.id);
  expect(new Set(ids).size).toBe(4);
});

test("it keeps what was asked and said", async () => {
  await post("/v1/messages", conversation("say: kept", true));
  expect(endpoint.exchanges).toEqual([
    {
      model: "m",
      streamed: true,
      reading: { prompt: "say: kept", rounds: 0, outcomes: [] },
      texts: ["say: kept"],
      reply: [{ type: "text", text: "kept" }],
    },
  ]);
});

test("it keeps a bounded number of exchanges, the latest", async () => {
  for (let asked = 0; asked <= EXCHANGES_KEPT_MAX; asked += 1) {
    const response = await post("/v1/messages", conversation(`say: ${asked}`, false));
    await response.text();
  }
  expect(endpoint.exchanges.length).toBe(EXCHANGES_KEPT_MAX);
  expect(endpoint.exchanges[0]?.reading.prompt).toBe("say: 1");
});

test("it counts tokens without meaning", async () => {
  const response = await post("/v1/messages/count_tokens", conversation("say: x", false));
  expect(await response.json()).toEqual({ input_tokens: 1 });
  expect(endpoint.exchanges).toEqual([]);
});

test("what it does not serve is answered 404 and remembered", async () => {
  const response = await fetch(`${endpoint.url}/v1/elsewhere`);
  expect(response.status).toBe(404);
  expect(endpoint.strays).toEqual(["GET /v1/elsewhere"]);
});

test.each([["not JSON"], ["null"], ['{"model":"m"}']])(
  "a body that is no conversation is answered 400: %s",
  async (body) => {
    const response = await post("/v1/messages", body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
  },
);

test("a body above the limit is answered 413", async () => {
  const response = await post("/v1/messages", "x".repeat(REQUEST_MAX_BYTES + 1));
  expect(response.status).toBe(413);
});
