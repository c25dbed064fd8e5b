import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Follow, IfBusy, RunTurnRequestSchema } from "@holdfast/proto";
import { describe, expect, test } from "vitest";
import { runTurnDigest } from "./request-digest.ts";

type Init = MessageInitShape<typeof RunTurnRequestSchema>;
const BASE: Init = { sessionId: "s", prompt: [{ block: { case: "text", value: { text: "say hello" } } }] };
const digest = (init: Init) => runTurnDigest(create(RunTurnRequestSchema, { ...BASE, ...init } as Init));

describe("the digest of a RunTurn request", () => {
  test("is the same for a retry, whatever it asks of its own stream and whatever its secrets' values are", () => {
    const first = digest({ secrets: { K: { value: "a" } }, labels: { a: "1", b: "2" } });
    const retry = digest({
      secrets: { K: { value: "b" } },
      labels: { b: "2", a: "1" },
      follow: Follow.UNTIL_ENDED,
      ifBusy: IfBusy.INTERRUPT,
      requestId: "r",
    });
    expect(retry).toBe(first);
    expect(first).toMatch(/^[0-9a-f]{64}$/);
  });

  test("is another one for another prompt, agent, config, limit, label or secret's name", () => {
    const others: Init[] = [
      { prompt: [{ block: { case: "text", value: { text: "say bye" } } }] },
      { agent: "a" },
      { config: { model: "m" } },
      { limits: { idleTtl: { seconds: 1n, nanos: 0 } } },
      { labels: { a: "1" } },
      { secrets: { K: { value: "" } } },
      { history: [{ role: 1 }] },
    ];
    const digests = [digest({}), ...others.map(digest)];
    expect(new Set(digests).size).toBe(digests.length);
  });
});
