import { create } from "@bufbuild/protobuf";
import { EVENT_BYTES } from "@holdfast/pool";
import { type ContentBlock, ContentBlockSchema } from "@holdfast/proto";
import { contentEvent, encodeEvent } from "@holdfast/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { blockBytes, MESSAGE_BYTES, MessageInProgress, type Spoken } from "./message.ts";

function text(value: string): ContentBlock {
  return create(ContentBlockSchema, { block: { case: "text", value: { text: value } } });
}

function link(uri: string): ContentBlock {
  return create(ContentBlockSchema, { block: { case: "resourceLink", value: { uri, name: uri } } });
}

function textIn(spoken: readonly (Spoken | null)[]): string {
  return spoken
    .flatMap((one) => one?.value.content ?? [])
    .map(({ block }) => (block.case === "text" ? block.value.text : ""))
    .join("");
}

describe("a message in progress", () => {
  test("joins the texts of its pieces, and keeps other blocks between them", () => {
    const message = new MessageInProgress();
    for (const block of [text("Hel"), text("lo "), link("file:a"), text("you")]) message.add("message", block);
    const whole = message.take();
    expect(whole?.case).toBe("message");
    expect(whole?.value.content.map(({ block }) => block.case)).toEqual(["text", "resourceLink", "text"]);
    expect(textIn([whole])).toBe("Hello you");
    expect(message.take()).toBeNull();
  });

  test("is complete when a thought begins, and the thought when a message does", () => {
    const message = new MessageInProgress();
    expect(message.add("thought", text("hm"))).toEqual([]);
    expect(message.add("message", text("yes")).map((spoken) => [spoken.case, textIn([spoken])])).toEqual([
      ["thought", "hm"],
    ]);
    expect(message.add("thought", text("so")).map((spoken) => [spoken.case, textIn([spoken])])).toEqual([
      ["message", "yes"],
    ]);
  });

  test("does not change the piece that was shown live", () => {
    const message = new MessageInProgress();
    const piece = text("Hel");
    message.add("message", piece);
    message.add("message", text("lo"));
    expect(piece.block.value).toMatchObject({ text: "Hel" });
  });

  test("can be looked at, and what was seen stays as it was when more is said", () => {
    const message = new MessageInProgress();
    expect(message.peek()).toBeNull();
    message.add("message", text("Hel"));
    const seen = message.peek();
    message.add("message", text("lo"));
    expect(seen?.content[0]?.block.value).toMatchObject({ text: "Hel" });
    expect(message.peek()?.content[0]?.block.value).toMatchObject({ text: "Hello" });
    message.add("thought", text("hm"));
    expect(message.peek()).toBeNull();
  });
});

describe("a long message", () => {
  test("becomes several events of at most MESSAGE_BYTES", () => {
    const message = new MessageInProgress();
    const piece = "x".repeat(MESSAGE_BYTES / 4);
    const spoken = Array.from({ length: 8 }, () => message.add("message", text(piece))).flat();
    const all = [...spoken, message.take()];
    expect(all.length).toBeGreaterThan(2);
    expect(textIn(all)).toBe(piece.repeat(8));
  });

  test("of many small blocks without a text is bounded, too", () => {
    const message = new MessageInProgress();
    const spoken = Array.from({ length: 10_000 }, (_, index) => message.add("message", link(`file:${index}`))).flat();
    expect(spoken.length).toBeGreaterThan(0);
  });

  test("in one piece, of whatever characters, is kept whole in events that the log takes (M1)", () => {
    const character = fc.constantFrom("x", "\u0001", "\n", '"', "ü", "語", "\u{1f9f7}");
    fc.assert(
      fc.property(fc.array(character, { minLength: 1, maxLength: 5 }), fc.nat(3), (characters, offset) => {
        const whole = "y".repeat(offset) + characters.join("").repeat(Math.ceil(150_000 / characters.length));
        const message = new MessageInProgress();
        const all = [...message.add("message", text(whole)), message.take()];
        expect(textIn(all)).toBe(whole);
        for (const spoken of all) {
          if (spoken === null) continue;
          expect(spoken.value.content.reduce((sum, block) => sum + blockBytes(block), 0)).toBeLessThanOrEqual(
            MESSAGE_BYTES,
          );
          const event = contentEvent({ turnId: "t1", execution: 1, at: 0 }, spoken);
          expect(event.event.value).toMatchObject({ truncated: false });
          expect(Buffer.byteLength(encodeEvent(event))).toBeLessThan(EVENT_BYTES);
        }
      }),
      { numRuns: 6 },
    );
  });
});
