import { create } from "@bufbuild/protobuf";
import { EVENT_BYTES } from "@holdfast/pool";
import { type TurnEvent, TurnEventSchema } from "@holdfast/proto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { arbitraryMessage } from "../validate/arbitrary-message.ts";
import { bodyBytes, encodeEvent } from "./event-body.ts";
import { ATTACHMENT_BYTES, fitEvent, RAW_BYTES } from "./event-size.ts";

type Init = Exclude<Parameters<typeof create<typeof TurnEventSchema>>[1], undefined>;
const event = (init: Init["event"]): TurnEvent => create(TurnEventSchema, { turnId: "t", event: init });
const text = (bytes: number) => ({ block: { case: "text", value: { text: "x".repeat(bytes) } } }) as const;
const image = (bytes: number) =>
  ({ block: { case: "image", value: { data: new Uint8Array(bytes), mimeType: "image/png", uri: "file:a" } } }) as const;

function content(fitted: TurnEvent): readonly string[] {
  if (fitted.event.case !== "prompt" && fitted.event.case !== "message") throw new Error("has no content");
  return fitted.event.value.content.map(({ block }) => block.case ?? "");
}

describe("an event", () => {
  test("that fits is left as it is", () => {
    const small = event({ case: "prompt", value: { content: [text(10), image(ATTACHMENT_BYTES)] } });
    expect(fitEvent(small)).toBe(small);
  });

  test("keeps of an attachment above 64 KiB its digest, name and size, and says that something is missing", () => {
    const large = event({ case: "prompt", value: { content: [text(10), image(ATTACHMENT_BYTES + 1)] } });
    const fitted = fitEvent(large);
    expect(content(fitted)).toEqual(["text", "omitted"]);
    const { value } = fitted.event as Extract<TurnEvent["event"], { case: "prompt" }>;
    expect(value.truncated).toBe(true);
    expect(value.content[1]?.block.value).toMatchObject({
      kind: "image",
      name: "file:a",
      mimeType: "image/png",
      sizeBytes: BigInt(ATTACHMENT_BYTES + 1),
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(content(large)).toEqual(["text", "image"]);
  });

  test("that is too large loses its largest blocks, and no more of them than it must", () => {
    const fitted = fitEvent(
      event({ case: "message", value: { content: [text(1_000), text(600_000), text(500_000)] } }),
    );
    expect(content(fitted)).toEqual(["text", "omitted", "text"]);
    expect(bodyBytes(fitted)).toBeLessThanOrEqual(EVENT_BYTES);
  });

  test("of a tool call keeps its arguments when its output is what is too large", () => {
    const output = JSON.stringify("x".repeat(2 * EVENT_BYTES));
    const { value } = fitEvent(
      event({ case: "toolCallUpdate", value: { id: "c", rawInputJson: "{}", rawOutputJson: output } }),
    ).event as Extract<TurnEvent["event"], { case: "toolCallUpdate" }>;
    expect(value).toMatchObject({ id: "c", rawInputJson: "{}", truncated: true });
    expect(JSON.parse(value.rawOutputJson)).toEqual({
      omitted: { digest: expect.stringMatching(/^[0-9a-f]{64}$/), size_bytes: output.length },
    });
  });

  test("of a tool call whose arguments are cut is marked, so that it never becomes a gate", () => {
    const { value } = fitEvent(
      event({ case: "toolCall", value: { id: "c", rawInputJson: `"${"x".repeat(EVENT_BYTES)}"` } }),
    ).event as Extract<TurnEvent["event"], { case: "toolCall" }>;
    expect(value.truncated).toBe(true);
  });

  test("that is raw is kept up to 64 KiB", () => {
    const json = (bytes: number) => {
      const fitted = fitEvent(event({ case: "raw", value: { json: "x".repeat(bytes) } }));
      return (fitted.event as Extract<TurnEvent["event"], { case: "raw" }>).value.json.length;
    };
    expect(json(RAW_BYTES)).toBe(RAW_BYTES);
    expect(json(RAW_BYTES + 1)).toBeLessThan(200);
  });

  test("of 10 MB in ten thousand small parts fits quickly", () => {
    const many = Array.from({ length: 10_000 }, () => text(1_000));
    expect(bodyBytes(fitEvent(event({ case: "message", value: { content: many } })))).toBeLessThanOrEqual(EVENT_BYTES);
  });

  test("in which nothing can be left out by itself is told by size and digest alone", () => {
    const entries = Array.from({ length: 20_000 }, () => ({ content: "x".repeat(100) }));
    const fitted = fitEvent(event({ case: "plan", value: { entries } }));
    expect(fitted).toMatchObject({ turnId: "t", event: { case: "raw" } });
  });

  test("of any content can be logged once it is fitted", () => {
    const big = fc.constantFrom(text(800_000), text(300_000), image(70_000), text(5));
    const made = fc.oneof(
      fc.array(big, { maxLength: 6 }).map((blocks) => event({ case: "prompt", value: { content: blocks } })),
      arbitraryMessage(TurnEventSchema).map((each) => ({ ...each, time: undefined })),
    );
    fc.assert(
      fc.property(made, (each) => {
        fc.pre(!JSON.stringify(each, (_key, value) => (typeof value === "bigint" ? "n" : value)).includes('"nanos"'));
        expect(encodeEvent(fitEvent(each)).length).toBeLessThanOrEqual(EVENT_BYTES);
      }),
      { numRuns: 20 },
    );
  });
});
