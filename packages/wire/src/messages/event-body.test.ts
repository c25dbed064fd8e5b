import { readFileSync } from "node:fs";
import { create, equals } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { EVENT_BYTES } from "@holdfast/pool";
import { Outcome, Tier, ToolCallStatus, type TurnEvent, TurnEventSchema } from "@holdfast/proto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { arbitraryMessage } from "../validate/arbitrary-message.ts";
import { decodeEvent, EventUnreadable, encodeEvent } from "./event-body.ts";

const AT = timestampFromMs(1_800_000_000_123);
const place = (seq: bigint) => ({ seq, turnId: "turn_1", execution: 2, time: AT });

/** One event of several kinds; a change of any byte in the golden file is a change of the stored format. */
const GOLDEN: readonly TurnEvent[] = [
  create(TurnEventSchema, {
    ...place(1n),
    event: {
      case: "prompt",
      value: { content: [{ block: { case: "text", value: { text: 'say "é"\n' } } }], principal: "p" },
    },
  }),
  create(TurnEventSchema, { ...place(2n), event: { case: "started", value: { tier: Tier.NEW, runner: "r-0" } } }),
  create(TurnEventSchema, {
    ...place(3n),
    event: {
      case: "toolCall",
      value: {
        id: "call-1",
        title: "run",
        kind: "execute",
        status: ToolCallStatus.PENDING,
        rawInputJson: '{"b":1,"a":[2]}',
      },
    },
  }),
  create(TurnEventSchema, {
    ...place(4n),
    event: { case: "gateOpened", value: { gate: { gateId: "gate_1", labels: { z: "1", a: "2" }, openedAt: AT } } },
  }),
  create(TurnEventSchema, {
    ...place(9_007_199_254_740_993n),
    event: { case: "ended", value: { outcome: Outcome.COMPLETED, stopReason: "end_turn", moot: ["ans_1"] } },
  }),
];

describe("a body in the log", () => {
  test("has the bytes of the golden file, and the golden file still decodes", () => {
    const lines = readFileSync(new URL("./event-body.golden.jsonl", import.meta.url), "utf8")
      .trimEnd()
      .split("\n");
    expect(GOLDEN.map(encodeEvent)).toEqual(lines);
    for (const [index, line] of lines.entries()) {
      expect(equals(TurnEventSchema, decodeEvent(line), GOLDEN[index] as TurnEvent)).toBe(true);
    }
  });

  test("is the same text whatever order the event was built in", () => {
    const gate = (labels: Record<string, string>) =>
      encodeEvent(create(TurnEventSchema, { event: { case: "gateOpened", value: { gate: { labels } } } }));
    expect(gate({ a: "1", b: "2" })).toBe(gate({ b: "2", a: "1" }));
  });

  test("gives back every event it was made from", () => {
    fc.assert(
      fc.property(arbitraryMessage(TurnEventSchema), (event) => {
        // Times outside the range that JSON can tell are never made by us.
        fc.pre(!JSON.stringify(event, (_key, each) => (typeof each === "bigint" ? "n" : each)).includes('"nanos"'));
        expect(equals(TurnEventSchema, decodeEvent(encodeEvent(event)), event)).toBe(true);
      }),
    );
  });

  test("of a newer format, of another kind, or damaged is an error that says so", () => {
    expect(() => decodeEvent('{"event":{},"format":2}')).toThrow(EventUnreadable);
    expect(() => decodeEvent('{"event":{"seq":"x"},"format":1}')).toThrow(EventUnreadable);
    expect(() => decodeEvent('{"format":1}')).toThrow(EventUnreadable);
    expect(() => decodeEvent("{")).toThrow(EventUnreadable);
    expect(() => decodeEvent("[]")).toThrow(EventUnreadable);
    fc.assert(
      fc.property(fc.string(), (body) => {
        expect(() => decodeEvent(body)).toThrow(EventUnreadable);
      }),
    );
  });

  test("with a field of a later contract decodes without it", () => {
    expect(decodeEvent('{"event":{"seq":"7","later":{"x":1}},"format":1}').seq).toBe(7n);
  });

  test("above 768 KiB is refused: whoever made the event has to fit it first", () => {
    const raw = (length: number) =>
      create(TurnEventSchema, { event: { case: "raw", value: { json: "x".repeat(length) } } });
    const overhead = encodeEvent(raw(1)).length - 1;
    expect(encodeEvent(raw(EVENT_BYTES - overhead))).toHaveLength(EVENT_BYTES);
    expect(() => encodeEvent(raw(EVENT_BYTES - overhead + 1))).toThrow(RangeError);
  });
});
