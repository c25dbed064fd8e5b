import { LABELS } from "@holdfast/pool";
import { IfBusy, OnDisconnect, PermissionEffect, Role } from "@holdfast/proto";
import { describe, expect, test } from "vitest";
import * as limit from "./limits.ts";
import { DEFAULTS, entries, fields, many, RULES, type RunTurnInit, runTurn, text, value } from "./request.fixture.ts";

describe("a RunTurn request", () => {
  test("with a session and a prompt is complete: everything else has its default", () => {
    expect(value(runTurn({}))).toEqual({
      sessionId: "s-1",
      agent: null,
      prompt: [{ type: "text", text: "say hello" }],
      history: null,
      config: null,
      secrets: new Map(),
      labels: {},
      requestId: null,
      ifBusy: "reject",
      onDisconnect: "detach",
      follow: "until_parked",
      limits: DEFAULTS,
    });
  });

  test.each([
    ["", ["session_id"]],
    [many(limit.SESSION_ID_CHARACTERS), []],
    [many(limit.SESSION_ID_CHARACTERS + 1), ["session_id"]],
    ["..", []],
    ["a/b", ["session_id"]],
    ["Az09._:@-", []],
    ["é", ["session_id"]],
  ])("session_id %j: violations %j", (sessionId, expected) => {
    expect(fields(runTurn({ sessionId }))).toEqual(expected);
  });

  test("names every violation at once, each by its path", () => {
    const result = runTurn({
      sessionId: "",
      prompt: [text("ok"), { block: { case: undefined } }, text("ok"), text("")],
      labels: { x: many(257) },
      ifBusy: 99 as IfBusy,
      limits: { idleTtl: { seconds: -1n, nanos: 0 } },
    });
    expect(fields(result)).toEqual([
      "session_id",
      "prompt[1].block",
      "prompt[3].text.text",
      'labels["x"]',
      "if_busy",
      "limits.idle_ttl",
    ]);
  });

  test("holds 1..256 prompt blocks", () => {
    const blocks = (count: number) => Array.from({ length: count }, () => text("x"));
    expect(fields(runTurn({ prompt: [] }))).toEqual(["prompt"]);
    expect(fields(runTurn({ prompt: blocks(limit.PROMPT_BLOCKS) }))).toEqual([]);
    expect(fields(runTurn({ prompt: blocks(limit.PROMPT_BLOCKS + 1) }))).toEqual(["prompt"]);
  });

  test("checks every kind of block", () => {
    const result = runTurn({
      prompt: [
        { block: { case: "image", value: { mimeType: "text/plain" } } },
        { block: { case: "resourceLink", value: { sizeBytes: -1n } } },
        { block: { case: "embeddedResource", value: { mimeType: "none" } } },
        { block: { case: "omitted", value: { kind: "text" } } },
      ],
    });
    expect(fields(result)).toEqual([
      "prompt[0].image.data",
      "prompt[0].image.mime_type",
      "prompt[1].resource_link.uri",
      "prompt[1].resource_link.name",
      "prompt[1].resource_link.size_bytes",
      "prompt[2].embedded_resource.uri",
      "prompt[2].embedded_resource.mime_type",
      "prompt[2].embedded_resource.content",
      "prompt[3].omitted",
    ]);
  });

  test("holds at most 1 MiB of history, with known roles", () => {
    const history = (bytes: number) => [{ role: Role.USER, content: [text(many(bytes))] }];
    expect(fields(runTurn({ history: history(limit.HISTORY_BYTES - 64) }))).toEqual([]);
    expect(fields(runTurn({ history: history(limit.HISTORY_BYTES) }))).toEqual(["history"]);
    expect(fields(runTurn({ history: [{ role: Role.UNSPECIFIED, content: [text("")] }] }))).toEqual([
      "history[0].role",
      "history[0].content[0].text.text",
    ]);
    expect(value(runTurn({ history: history(1) })).history).toEqual([
      { role: "user", content: [{ type: "text", text: "x" }], toolCallIds: [] },
    ]);
  });

  test("holds at most 16 labels of 63 and 256 characters", () => {
    expect(fields(runTurn({ labels: entries(LABELS, "v") }))).toEqual([]);
    expect(fields(runTurn({ labels: entries(LABELS + 1, "v") }))).toEqual(["labels"]);
    expect(fields(runTurn({ labels: { [many(63)]: "\u{1f600}".repeat(256) } }))).toEqual([]);
    expect(fields(runTurn({ labels: { [many(64)]: "v" } }))).toHaveLength(1);
    expect(fields(runTurn({ labels: { "": "v", k: many(257) } }))).toEqual(['labels[""]', 'labels["k"]']);
  });

  test("keeps a label called __proto__ as a label", () => {
    const labels = JSON.parse('{"__proto__":"v"}');
    expect(Object.entries(value(runTurn({ labels })).labels)).toEqual([["__proto__", "v"]]);
  });

  test("has a request_id of printable ASCII, at most 256 characters", () => {
    expect(fields(runTurn({ requestId: many(limit.KEY_CHARACTERS) }))).toEqual([]);
    expect(fields(runTurn({ requestId: many(limit.KEY_CHARACTERS + 1) }))).toEqual(["request_id"]);
    expect(fields(runTurn({ requestId: "é" }))).toEqual(["request_id"]);
    expect(fields(runTurn({ requestId: "a\nb" }))).toEqual(["request_id"]);
  });

  test("has an agent's name of at most 64 characters", () => {
    expect(fields(runTurn({ agent: many(limit.AGENT_NAME_CHARACTERS) }))).toEqual([]);
    expect(fields(runTurn({ agent: many(limit.AGENT_NAME_CHARACTERS + 1) }))).toEqual(["agent"]);
    expect(fields(runTurn({ agent: "a b" }))).toEqual(["agent"]);
  });

  test.each([
    ["turnLimit", "limits.turn_limit", limit.TURN_LIMIT_MAX_MS],
    ["idleTtl", "limits.idle_ttl", limit.IDLE_TTL_MAX_MS],
    ["approvalTtl", "limits.approval_ttl", limit.APPROVAL_TTL_MAX_MS],
  ] as const)("%s may be the server's maximum and no more", (name, field, maxMs) => {
    const seconds = BigInt(maxMs / 1_000);
    expect(fields(runTurn({ limits: { [name]: { seconds, nanos: 0 } } }))).toEqual([]);
    expect(fields(runTurn({ limits: { [name]: { seconds, nanos: 1_000_000 } } }))).toEqual([field]);
    expect(fields(runTurn({ limits: { [name]: { seconds: 2n ** 62n, nanos: 0 } } }))).toEqual([field]);
    expect(fields(runTurn({ limits: { [name]: { seconds: 1n, nanos: -5 } } }))).toEqual([field]);
  });

  test("may set a time to live to 0, and not the turn limit", () => {
    const zero = { seconds: 0n, nanos: 0 };
    expect(value(runTurn({ limits: { idleTtl: zero, approvalTtl: zero } })).limits).toEqual({
      ...DEFAULTS,
      idleTtlMs: 0,
      approvalTtlMs: 0,
    });
    expect(fields(runTurn({ limits: { turnLimit: zero } }))).toEqual(["limits.turn_limit"]);
  });

  test("may choose what a server has built, and nothing else", () => {
    const asked: RunTurnInit = {
      ifBusy: IfBusy.INTERRUPT,
      onDisconnect: OnDisconnect.CANCEL,
      history: [{ role: Role.USER, content: [] }],
      secrets: { K: { value: "v" } },
      config: { permissionRules: [{ effect: PermissionEffect.ALLOW, toolKind: "read" }] },
    };
    expect(value(runTurn(asked))).toMatchObject({ ifBusy: "interrupt", onDisconnect: "cancel" });
    expect(fields(runTurn(asked, { ...RULES, capabilities: new Set() }))).toEqual([
      "history",
      "secrets",
      "if_busy",
      "on_disconnect",
      "config.permission_rules",
    ]);
  });
});
