import { readdirSync, readFileSync } from "node:fs";
import { bytesOf, type SessionRecord } from "@holdfast/pool";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { firstRecord, fullRecord, KEY } from "../contract/sample.ts";
import { decodeRecord, encodeRecord } from "./codec.ts";

const GOLDEN = new URL("./golden/", import.meta.url);
const golden = (name: string) => readFileSync(new URL(name, GOLDEN), "utf8");
const whole = encodeRecord(fullRecord(KEY));

/** The full record's document with other fields; undefined leaves one out. */
function changed(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ...fullRecord(KEY), ...fields });
}

describe("the stored form of format 1", () => {
  it("is byte for byte what it always was", () => {
    expect(encodeRecord(firstRecord(KEY, "op-1"))).toBe(golden("record-1-first.json"));
    expect(encodeRecord(fullRecord(KEY))).toBe(golden("record-1-full.json"));
  });

  it.each(readdirSync(GOLDEN))("still decodes: %s", (name) => {
    const decoded = decodeRecord(golden(name), KEY);
    if (decoded.kind === "unreadable") throw new Error(decoded.why);
    expect(encodeRecord(decoded.record)).toBe(golden(name));
  });

  it("has the size that a record's rules reckon with", () => {
    expect(bytesOf(fullRecord(KEY))).toBe(Buffer.byteLength(whole));
  });

  it("does not depend on the order in which fields were set", () => {
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed);
      if (typeof value !== "object" || value === null) return value;
      const entries = Object.entries(value).reverse();
      return Object.fromEntries(entries.map(([name, field]) => [name, reversed(field)]));
    };
    expect(encodeRecord(reversed(fullRecord(KEY)) as SessionRecord)).toBe(whole);
  });

  it("comes back as it was, whatever texts a record holds", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: "binary" }), fc.string({ unit: "binary" })), (labels) => {
        const record = { ...firstRecord(KEY, "op-1"), labels };
        expect(decodeRecord(encodeRecord(record), KEY)).toEqual({ kind: "read", record });
      }),
    );
  });

  it("keeps what a newer release added, at every level", () => {
    const { turn, gates } = fullRecord(KEY);
    const text = changed({
      sharedWith: ["bob"],
      turn: { ...turn, mood: "calm" },
      gates: gates.map((gate) => ({ ...gate, seen: true })),
    });
    const decoded = decodeRecord(text, KEY);
    expect(decoded.kind === "read" && JSON.parse(encodeRecord(decoded.record))).toEqual(JSON.parse(text));
  });
});

describe("a document that is not a record", () => {
  const refused: readonly (readonly [name: string, text: unknown, why: string])[] = [
    ["of a newer format", '{"format":7,"everything":"else"}', "format 7 is newer than 1"],
    ["without a format", changed({ format: undefined }), "format is not a number from 1"],
    ["with a format that is no number", changed({ format: "1" }), "format is not a number"],
    ["of format 0", changed({ format: 0 }), "format is not a number from 1"],
    ["without a field", changed({ outbox: undefined }), "outbox: "],
    ["with a field of another type", changed({ epoch: "3" }), "epoch: "],
    ["with a fraction for a number", changed({ epoch: 1.5 }), "epoch: "],
    ["with a reason nobody knows", changed({ coldReason: "bored" }), "coldReason: "],
    [
      "with damage deep inside",
      changed({ outbox: [{ ...fullRecord(KEY).outbox[3], tell: { type: "x" } }] }),
      "outbox[0].tell.type",
    ],
    [
      "with an MCP value of no kind",
      whole.replace('"literal":"ro"', '"liberal":"ro"'),
      "expected a literal or a secretName",
    ],
    ["that is a list", `[${whole}]`, "not a JSON object"],
    ["that is empty", "", "not a JSON object"],
    ["that is no text", null, "not text"],
  ];
  it.each(refused)("is refused by what is wrong with it: one %s", (_name, text, why) => {
    expect(decodeRecord(text, KEY)).toEqual({ kind: "unreadable", why: expect.stringContaining(why) });
  });

  it("is refused under another session's key", () => {
    const decoded = decodeRecord(whole, { ...KEY, project: "zenith" });
    expect(decoded).toEqual({ kind: "unreadable", why: "it says it is session build-7 of project acme" });
  });

  it("is refused wherever it was cut short", () => {
    fc.assert(
      fc.property(fc.nat({ max: whole.length - 1 }), (length) => {
        expect(decodeRecord(whole.slice(0, length), KEY).kind).toBe("unreadable");
      }),
    );
  });

  it("is refused without a word of what it holds", () => {
    const secret = "hunter2";
    for (const text of [
      `{"format":1,"epoch":"${secret}"}`,
      `{"format":1 ${secret}`,
      changed({ labels: { a: [secret] } }),
    ]) {
      expect(JSON.stringify(decodeRecord(text, KEY))).not.toContain(secret);
    }
  });
});

describe("a record that breaks its type", () => {
  it("is not encoded: nobody could read it", () => {
    const broken = { ...fullRecord(KEY), epoch: Number.NaN };
    expect(() => encodeRecord(broken)).toThrow("record acme/build-7 cannot be written: epoch: ");
  });
});
