import { ToolCallStatus } from "@holdfast/proto";
import { describe, expect, it } from "vitest";
import { exactToolCall } from "./tool-call.ts";
import { RAW_BYTES, toContentEvent } from "./updates.ts";

function event(update: { readonly sessionUpdate: string } & Record<string, unknown>) {
  return toContentEvent(update);
}

const text = { type: "text", text: "hello" };

describe("A session update", () => {
  it.each([
    ["agent_message_chunk", "messageDelta"],
    ["agent_thought_chunk", "thoughtDelta"],
  ])("%s is a %s", (sessionUpdate, name) => {
    expect(event({ sessionUpdate, content: text })).toMatchObject({
      case: name,
      value: { content: { block: { case: "text", value: { text: "hello" } } } },
    });
  });

  it("keeps pictures, links and resources, and of sound what it was", () => {
    const blocks = [
      { type: "image", data: "AAEC", mimeType: "image/png" },
      { type: "resource_link", uri: "file:///a", name: "a", size: 3 },
      { type: "resource", resource: { uri: "file:///b", text: "b" } },
      { type: "audio", data: "AAEC", mimeType: "audio/wav" },
    ];
    const events = blocks.map((content) => event({ sessionUpdate: "agent_message_chunk", content }));
    expect(events).toMatchObject([
      { value: { content: { block: { case: "image", value: { data: new Uint8Array([0, 1, 2]) } } } } },
      { value: { content: { block: { case: "resourceLink", value: { name: "a", sizeBytes: 3n } } } } },
      { value: { content: { block: { case: "embeddedResource", value: { content: { case: "text", value: "b" } } } } } },
      { value: { content: { block: { case: "omitted", value: { kind: "audio", sizeBytes: 3n } } } } },
    ]);
  });

  it("tool_call is the call with its arguments, its diff and its places", () => {
    expect(
      event({
        sessionUpdate: "tool_call",
        toolCallId: "c",
        title: "Edit a",
        kind: "edit",
        status: "pending",
        rawInput: { path: "a" },
        content: [
          { type: "diff", path: "a", oldText: null, newText: "new" },
          { type: "content", content: text },
          { type: "terminal", terminalId: "t" },
        ],
        locations: [{ path: "a", line: 3 }, { path: 7 }],
      }),
    ).toMatchObject({
      case: "toolCall",
      value: {
        id: "c",
        title: "Edit a",
        kind: "edit",
        status: ToolCallStatus.PENDING,
        rawInputJson: '{"path":"a"}',
        rawOutputJson: "",
        diff: [{ path: "a", oldText: "", newText: "new" }],
        content: [{ block: { case: "text" } }, { block: { case: "omitted", value: { kind: "terminal", name: "t" } } }],
        locations: [{ path: "a", line: 3 }],
        truncated: false,
      },
    });
  });

  it("tool_call_update says only what changed", () => {
    expect(
      event({ sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed", rawOutput: 0 }),
    ).toMatchObject({
      case: "toolCallUpdate",
      value: { id: "c", title: "", status: ToolCallStatus.COMPLETED, rawInputJson: "", rawOutputJson: "0" },
    });
  });

  it("with content that cannot be read is told with a mark in its place", () => {
    const update = { sessionUpdate: "tool_call_update", toolCallId: "c", content: [{ type: "hologram" }] };
    expect(event(update)).toMatchObject({
      value: { truncated: true, content: [{ block: { case: "omitted", value: { kind: "unreadable" } } }] },
    });
  });

  it("plan and usage_update are what the agent plans and uses", () => {
    const entries = [{ content: "look", priority: "high", status: "pending" }];
    expect(event({ sessionUpdate: "plan", entries })).toMatchObject({ case: "plan", value: { entries } });
    expect(event({ sessionUpdate: "usage_update", used: 12, size: 100 })).toMatchObject({
      case: "usage",
      value: { totalTokens: 12n },
    });
  });

  it.each([
    { sessionUpdate: "user_message_chunk", content: text },
    { sessionUpdate: "available_commands_update", availableCommands: [] },
    { sessionUpdate: "unheard_of", value: 1 },
    { sessionUpdate: "agent_message_chunk", content: { type: "hologram" } },
    { sessionUpdate: "plan", entries: "none" },
  ])("$sessionUpdate without a case of its own, or unreadable, is told as it came", (update) => {
    expect(event(update)).toMatchObject({ case: "raw", value: { json: JSON.stringify(update) } });
  });

  it("that has no case is left out above its limit", () => {
    const empty = Buffer.byteLength(JSON.stringify({ sessionUpdate: "odd", text: "" }));
    const of = (bytes: number) => event({ sessionUpdate: "odd", text: "x".repeat(bytes - empty) });
    expect(of(RAW_BYTES)).toMatchObject({ case: "raw" });
    expect(of(RAW_BYTES + 1)).toBe(null);
  });
});

describe("A gate's call", () => {
  it("is read whole or not at all", () => {
    const said = { toolCallId: "c", rawInput: undefined, rawOutput: undefined };
    const good = { type: "diff", path: "a", newText: "b" };
    expect(exactToolCall({ ...said, content: [good] } as never)).toMatchObject({ diff: [{ path: "a" }] });
    expect(exactToolCall({ ...said, content: [good, { type: "hologram" }] } as never)).toBe(null);
  });
});
