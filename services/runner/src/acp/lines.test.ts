import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ACP_LINE_BYTES, type Line, LineCutter } from "./lines.ts";

function cut(chunks: Iterable<Buffer>): readonly Line[] {
  const cutter = new LineCutter();
  const lines: Line[] = [];
  for (const chunk of chunks) lines.push(...cutter.push(chunk));
  const last = cutter.flush();
  return last === null ? lines : [...lines, last];
}

function texts(lines: readonly Line[]): readonly (string | null | number)[] {
  return lines.map((line) => (line.kind === "line" ? line.text : line.bytes));
}

describe("Lines", () => {
  it("are the same however their bytes arrive", () => {
    const text = fc.array(
      fc.string({ unit: "grapheme" }).map((line) => line.replaceAll("\n", "")),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(text, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (lines, sizes) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
        const pieces: Buffer[] = [];
        for (let at = 0, step = 0; at < bytes.length; step++) {
          const size = sizes[step % sizes.length] ?? 1;
          pieces.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect(texts(cut(pieces))).toEqual(lines.map((line) => line.trim()));
      }),
    );
  });

  it("end with the bytes, when the last one has no end", () => {
    expect(texts(cut([Buffer.from("one\r\ntwo")]))).toEqual(["one", "two"]);
  });

  it("that are no UTF-8 have no text", () => {
    expect(texts(cut([Buffer.of(0xff, 0xfe, 0x0a), Buffer.from("next\n")]))).toEqual([null, "next"]);
  });

  it("of exactly the limit are whole, and one byte more is left out and counted", () => {
    const limit = Buffer.alloc(ACP_LINE_BYTES, "x");
    const newline = Buffer.from("\n");
    const lines = cut([limit, newline, limit, Buffer.from("y"), newline, Buffer.from("next\n")]);
    expect(lines.map((line) => (line.kind === "line" ? line.text?.length : line.bytes))).toEqual([
      ACP_LINE_BYTES,
      ACP_LINE_BYTES + 1,
      4,
    ]);
  });

  it("that are too long cost no more than the limit", () => {
    const piece = Buffer.alloc(64 * 1024, "x");
    function* endless() {
      for (let at = 0; at < 1600; at++) yield piece;
      yield Buffer.from("\nnext\n");
    }
    const before = process.memoryUsage().arrayBuffers;
    expect(texts(cut(endless()))).toEqual([1600 * piece.length, "next"]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(5 * ACP_LINE_BYTES);
  });
});
