import { create, toBinary } from "@bufbuild/protobuf";
import {
  RunnerServiceWatchSessionResponseSchema,
  RunTurnResponseSchema,
  type TurnEvent,
  TurnEventSchema,
} from "@holdfast/proto";
import { expect, it } from "vitest";
import { frameHead, frameOf } from "./head.ts";

const message = (fields: Partial<TurnEvent>) => create(TurnEventSchema, { turnId: "turn_1", ...fields } as TurnEvent);

it("reads number, turn and case of an event without decoding it", () => {
  const event = message({ seq: 5_000_000_000n, execution: 3, event: { case: "raw", value: { json: "{}" } as never } });
  expect(frameHead(frameOf(event))).toEqual({ seq: 5_000_000_000, turnId: "turn_1", event: "raw" });
});

it("reads a live event, which has no number", () => {
  const event = message({ event: { case: "parked", value: { gateIds: ["g"] } as never } });
  expect(frameHead(frameOf(event))).toMatchObject({ seq: 0, event: "parked" });
});

it("knows no case of a newer contract, and no frame in other bytes", () => {
  expect(frameHead(frameOf(message({ seq: 7n })))).toEqual({ seq: 7, turnId: "turn_1", event: null });
  expect(frameHead(new Uint8Array())).toBeNull();
  expect(frameHead(new Uint8Array([0xff, 0xff, 0xff]))).toBeNull();
  expect(frameHead(new Uint8Array([0x0a, 0x7f, 0x08]))).toBeNull();
});

it("gives the bytes that every stream of events has", () => {
  const event = message({ seq: 1n, event: { case: "ended", value: { stopReason: "end_turn" } as never } });
  for (const schema of [RunTurnResponseSchema, RunnerServiceWatchSessionResponseSchema]) {
    expect(toBinary(schema, create(schema, { event }))).toEqual(frameOf(event));
  }
});
