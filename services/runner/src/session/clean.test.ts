import { create } from "@bufbuild/protobuf";
import { ContentBlockSchema, MessageSchema, ToolCallSchema } from "@holdfast/proto";
import { describe, expect, it } from "vitest";
import { cleaned } from "./clean.ts";

describe("what an agent says, without its secrets", () => {
  it("12: a known value is taken out of every text, however deep, also as JSON holds it", () => {
    const secret = 'k"1';
    const text = create(ContentBlockSchema, { block: { case: "text", value: { text: `it is ${secret}` } } });
    const message = cleaned(create(MessageSchema, { content: [text] }), [secret]);
    expect(message.content[0]?.block.value).toMatchObject({ text: "it is [redacted]" });
    const call = create(ToolCallSchema, { id: "c", rawInputJson: JSON.stringify({ key: secret }) });
    expect(cleaned(call, [secret])).toMatchObject({ id: "c", rawInputJson: '{"key":"[redacted]"}' });
  });

  it("says everything else as it was, what looks like a secret and bytes among it", () => {
    const image = create(ContentBlockSchema, {
      block: { case: "image", value: { data: new Uint8Array([1, 2]), mimeType: "image/png" } },
    });
    expect(cleaned(image, ["other"])).toEqual(image);
    expect(cleaned({ text: "password: hunter2" }, ["other"])).toEqual({ text: "password: hunter2" });
    expect(cleaned(image, [])).toBe(image);
  });
});
