import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { McpServer, SessionConfig } from "../record/record.ts";
import { configFingerprint, extendTrail, type HistoryMessage, historyFingerprint } from "./fingerprint.ts";

const HTTP: McpServer = {
  name: "search",
  transport: "http",
  url: "https://user:pass@mcp.example/v1?team=a&callback_token=one",
  headers: {
    Authorization: { secretName: "search-token" },
    traceparent: { literal: "00-1" },
    "X-Request-Id": { literal: "1" },
  },
};
const STDIO: McpServer = {
  name: "files",
  transport: "stdio",
  command: "files",
  args: ["--root", "."],
  env: { LEVEL: { literal: "1" } },
};
const CONFIG: SessionConfig = {
  model: "small",
  mode: "ask",
  systemPrompt: "Be brief.",
  mcpServers: [HTTP, STDIO],
  workingDirectory: "src",
  permissionRules: [{ effect: "ask", toolKind: "execute", toolName: "", argumentPattern: "" }],
  limits: { turnLimitMs: 1, idleTtlMs: 1, approvalTtlMs: 1 },
};

function baseOf(change: Partial<SessionConfig>, agent = "scripted", directory = "/data/a/src"): string {
  return configFingerprint(agent, { ...CONFIG, ...change }, directory).base;
}

describe("the config fingerprint", () => {
  test.each<[string, Partial<SessionConfig>]>([
    ["the system prompt", { systemPrompt: "Be long." }],
    ["a server more", { mcpServers: [HTTP, STDIO, { ...STDIO, name: "more" }] }],
    ["a server's command", { mcpServers: [HTTP, { ...STDIO, command: "other" }] }],
    ["the order of a server's arguments", { mcpServers: [HTTP, { ...STDIO, args: [".", "--root"] }] }],
    ["a server's environment", { mcpServers: [HTTP, { ...STDIO, env: { LEVEL: { literal: "2" } } }] }],
    [
      "which secret a server gets",
      { mcpServers: [{ ...HTTP, headers: { Authorization: { secretName: "other" } } }, STDIO] },
    ],
    ["a server's query", { mcpServers: [{ ...HTTP, url: "https://mcp.example/v1?team=b" }, STDIO] }],
    ["a permission rule", { permissionRules: [] }],
  ])("shows a change of %s", (_what, change) => {
    expect(baseOf(change)).not.toBe(baseOf({}));
  });

  test("shows the agent and the working directory the process gets", () => {
    expect(baseOf({}, "other")).not.toBe(baseOf({}));
    expect(baseOf({}, "scripted", "/elsewhere")).not.toBe(baseOf({}));
  });

  test("keeps model and mode apart, and leaves limits out", () => {
    const changed = configFingerprint("scripted", { ...CONFIG, model: "large", mode: "plan" }, "/data/a/src");
    expect(changed).toEqual({ base: baseOf({}), model: "large", mode: "plan" });
    expect(baseOf({ limits: { turnLimitMs: 2, idleTtlMs: 2, approvalTtlMs: 2 } })).toBe(baseOf({}));
  });

  test("does not show key order, the order of servers, trace context, request ids, callback tokens or URL credentials", () => {
    const other: McpServer = {
      headers: {
        "X-Request-Id": { literal: "2" },
        tracestate: { literal: "x=1" },
        authorization: { secretName: "search-token" },
        "X-Callback-Token": { literal: "three" },
      },
      url: "https://mcp.example/v1?callback_token=two&team=a",
      transport: "http",
      name: "search",
    };
    const env = { TRACEPARENT: { literal: "00-2" }, LEVEL: { literal: "1" } };
    expect(baseOf({ mcpServers: [{ ...STDIO, env }, other] })).toBe(baseOf({}));
  });
});

const BLOCKS = fc.oneof(
  fc.record({ text: fc.string() }),
  fc.record({ attachmentDigest: fc.stringMatching(/^[0-9a-f]{8}$/) }),
);
const MESSAGES = fc.array(
  fc.record<HistoryMessage>({
    role: fc.constantFrom("user", "assistant"),
    content: fc.array(BLOCKS, { maxLength: 3 }),
    toolCallIds: fc.array(fc.constantFrom("c1", "c2", "c3", "c4"), { maxLength: 3 }),
  }),
  { maxLength: 8 },
);

/** The same conversation as another client would keep it. */
function retold(messages: readonly HistoryMessage[]): HistoryMessage[] {
  return messages.flatMap(({ role, content, toolCallIds }) => [
    { role: "assistant", content: [{ text: "said otherwise" }], toolCallIds: [] } as const,
    ...content.filter(() => role === "user").map((block) => ({ role, content: [block], toolCallIds: [] })),
    { role: "user", content: [{ text: "  " }], toolCallIds: [] } as const,
    { role: "assistant", content: [], toolCallIds: toolCallIds.flatMap((id) => [id, id]) } as const,
  ]);
}

describe("the history fingerprint", () => {
  test("park(whole) = check(prior): the prediction is what the caller sends next, however it cuts its messages", () => {
    const conversation = fc.property(MESSAGES, MESSAGES, (prior, turn) => {
      const parked = historyFingerprint(extendTrail(extendTrail([], prior), turn));
      expect(historyFingerprint(extendTrail([], [...prior, ...turn]))).toBe(parked);
      expect(historyFingerprint(extendTrail([], retold([...prior, ...turn])))).toBe(parked);
    });
    fc.assert(conversation);
  });

  test("shows an edited, dropped, added or moved user text", () => {
    const said = (...texts: string[]): string =>
      historyFingerprint(
        extendTrail(
          [],
          texts.map((text) => ({ role: "user", content: [{ text }], toolCallIds: [] })),
        ),
      );
    const told = said("one", "two");
    for (const other of [
      said("one", "too"),
      said("one"),
      said("one", "two", "three"),
      said("two", "one"),
      said("onetwo"),
    ]) {
      expect(other).not.toBe(told);
    }
  });

  test("shows another attachment and another tool call, and keeps a text apart from both", () => {
    const made = (message: Partial<HistoryMessage>): string =>
      historyFingerprint(extendTrail([], [{ role: "user", content: [], toolCallIds: [], ...message }]));
    const all = [
      made({ content: [{ text: "x" }] }),
      made({ content: [{ attachmentDigest: "x" }] }),
      made({ content: [{ attachmentDigest: "y" }] }),
      made({ toolCallIds: ["x"] }),
      made({ toolCallIds: ["y"] }),
      made({ toolCallIds: ["x", "y"] }),
      made({ toolCallIds: ["y", "x"] }),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  test("does not show what the assistant said, nor a call's later mentions", () => {
    const user = { role: "user", content: [{ text: "go" }], toolCallIds: [] } as const;
    const one = { role: "assistant", content: [{ text: "sure" }], toolCallIds: ["c1"] } as const;
    const other = {
      role: "assistant",
      content: [{ text: "gladly" }, { attachmentDigest: "d" }],
      toolCallIds: ["c1", "c1"],
    } as const;
    expect(historyFingerprint(extendTrail([], [user, one]))).toBe(
      historyFingerprint(extendTrail([], [user, other, one])),
    );
  });
});
