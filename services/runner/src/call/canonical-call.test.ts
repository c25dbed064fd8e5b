import { create } from "@bufbuild/protobuf";
import { GATE_ARGUMENT_BYTES } from "@holdfast/pool";
import { type ToolCall, ToolCallSchema, ToolCallStatus } from "@holdfast/proto";
import { describe, expect, it } from "vitest";
import { canonicalCall } from "./canonical-call.ts";

type Init = Partial<Pick<ToolCall, "id" | "title" | "kind" | "status" | "rawInputJson">> & {
  readonly diff?: readonly { readonly path: string; readonly newText: string }[];
};

function call({ diff = [], ...init }: Init = {}): ToolCall {
  return create(ToolCallSchema, { kind: "execute", rawInputJson: '{"command":"ls"}', ...init, diff: [...diff] });
}

function text(init: Init, agent = "scripted", directory = "/w", toolName = ""): string {
  return canonicalCall(agent, directory, call(init), toolName).text;
}

describe("A canonical call", () => {
  it("is the same whatever it is called, shown as, or however its keys are ordered", () => {
    const one = text({ id: "a", title: "List", status: ToolCallStatus.PENDING, rawInputJson: '{"a":1,"b":[2]}' });
    const other = text({ id: "b", title: "Other", rawInputJson: '{ "b": [2], "a": 1.0 }' });
    expect(one).toBe(other);
  });

  it.each<[string, () => string]>([
    ["agent", () => text({}, "other")],
    ["directory", () => text({}, "scripted", "/x")],
    ["tool name", () => text({}, "scripted", "/w", "delete_file")],
    ["kind", () => text({ kind: "edit" })],
    ["input", () => text({ rawInputJson: '{"command":"ls "}' })],
    ["diff", () => text({ diff: [{ path: "a", newText: "b" }] })],
  ])("is another one for another %s", (_, other) => {
    expect(other()).not.toBe(text({}));
  });

  it("tells two edits with one title apart", () => {
    const edit = (newText: string) => text({ title: "Edit a", rawInputJson: "", diff: [{ path: "a", newText }] });
    expect(edit("x")).not.toBe(edit("y"));
  });

  it("tells numbers apart that a double cannot", () => {
    expect(text({ rawInputJson: '{"id":9007199254740993}' })).not.toBe(
      text({ rawInputJson: '{"id":9007199254740992}' }),
    );
    expect(text({ rawInputJson: '{"n":1e400}' })).not.toBe(text({ rawInputJson: '{"n":2e400}' }));
  });

  it("cannot be forged by arguments that look like the way long numbers are kept", () => {
    const kept = text({ rawInputJson: '{"id":9007199254740993}' });
    expect(text({ rawInputJson: JSON.stringify({ asWritten: '{"id":9007199254740993}' }) })).not.toBe(kept);
  });

  it("is bindable with arguments or a diff only", () => {
    const bindable = (init: Init) => canonicalCall("a", "/w", call(init)).bindable;
    expect(bindable({})).toBe(true);
    expect(bindable({ rawInputJson: "" })).toBe(false);
    expect(bindable({ rawInputJson: "{}" })).toBe(false);
    expect(bindable({ rawInputJson: "", diff: [{ path: "a", newText: "b" }] })).toBe(true);
  });

  it("is measured in bytes of UTF-8", () => {
    const { bytes, text: canonical } = canonicalCall(
      "a",
      "/w",
      call({ rawInputJson: JSON.stringify({ text: "é".repeat(GATE_ARGUMENT_BYTES / 2) }) }),
    );
    expect(bytes).toBe(Buffer.byteLength(canonical));
    expect(bytes).toBeGreaterThan(GATE_ARGUMENT_BYTES);
  });

  it("does not mind depth", () => {
    const deep = `${"[".repeat(100_000)}1${"]".repeat(100_000)}`;
    expect(canonicalCall("a", "/w", call({ rawInputJson: deep })).bindable).toBe(true);
  });
});
