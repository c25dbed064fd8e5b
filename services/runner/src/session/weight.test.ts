import { create } from "@bufbuild/protobuf";
import { DeltaSchema, ToolCallSchema } from "@holdfast/proto";
import { expect, test } from "vitest";
import { weightOf } from "./weight.ts";

const LARGE = 1_000_000;

test("a message weighs its texts and attachments, however deep they are (B4)", () => {
  const text = create(DeltaSchema, { content: { block: { case: "text", value: { text: "x".repeat(LARGE) } } } });
  const data = new Uint8Array(LARGE);
  const picture = create(DeltaSchema, { content: { block: { case: "image", value: { data } } } });
  const diff = create(ToolCallSchema, {
    diff: [{ path: "a", oldText: "x".repeat(LARGE), newText: "y".repeat(LARGE) }],
  });
  expect(weightOf(text)).toBeGreaterThanOrEqual(LARGE);
  expect(weightOf(picture)).toBeGreaterThanOrEqual(LARGE);
  expect(weightOf(diff)).toBeGreaterThanOrEqual(2 * LARGE);
});

test("a message of many small parts weighs something for each of them", () => {
  const locations = Array.from({ length: 1_000 }, () => ({ path: "a" }));
  expect(weightOf(create(ToolCallSchema, { locations }))).toBeGreaterThan(1_000 * 256);
});

test("an empty message weighs little", () => {
  expect(weightOf(create(DeltaSchema, {}))).toBeLessThan(1_000);
});
