// The head of a frame: what a gateway has to know of an event that it hands on undecoded.
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { type TurnEvent, TurnEventSchema, WatchSessionResponseSchema } from "@holdfast/proto";
import type { Frame } from "../rpc/call.ts";

export type EventCase = Exclude<TurnEvent["event"]["case"], undefined>;

export type FrameHead = {
  /** 0 for a live event. */
  readonly seq: number;
  readonly turnId: string;
  /** Null for a case of a newer contract. */
  readonly event: EventCase | null;
};

const EVENT_FIELD = 1;
const SEQ_FIELD = TurnEventSchema.field.seq.number;
const TURN_FIELD = TurnEventSchema.field.turnId.number;
const CASES: ReadonlyMap<number, EventCase> = new Map(
  TurnEventSchema.fields
    .filter((field) => field.oneof !== undefined)
    .map((field) => [field.number, field.localName as EventCase]),
);

/** Null when the bytes are no frame. */
export function frameHead(frame: Frame): FrameHead | null {
  try {
    return readHead(new BinaryReader(frame));
  } catch (error) {
    // The reader's word for bytes that are no message.
    if (error instanceof Error) return null;
    throw error;
  }
}

function readHead(reader: BinaryReader): FrameHead | null {
  while (reader.pos < reader.len) {
    const [field, wire] = reader.tag();
    if (field === EVENT_FIELD && wire === WireType.LengthDelimited) return readEvent(reader);
    reader.skip(wire, field);
  }
  return null;
}

function readEvent(reader: BinaryReader): FrameHead {
  const length = reader.uint32();
  const end = reader.pos + length;
  let seq = 0;
  let turnId = "";
  let event: EventCase | null = null;
  while (reader.pos < end) {
    const [field, wire] = reader.tag();
    if (field === SEQ_FIELD) seq = Number(reader.int64());
    else if (field === TURN_FIELD) turnId = reader.string();
    else {
      event = CASES.get(field) ?? event;
      reader.skip(wire, field);
    }
  }
  return { seq, turnId, event };
}

export function frameOf(event: TurnEvent): Frame {
  return toBinary(WatchSessionResponseSchema, create(WatchSessionResponseSchema, { event }));
}
