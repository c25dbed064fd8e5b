// An event as the log stores it: canonical JSON {"event": <proto3 JSON>, "format": 1}, readable by an operator, the same text
// for the same event. Golden bytes are kept in event-body.golden.jsonl.
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { canonicalJson, EVENT_BYTES } from "@holdfast/pool";
import { type TurnEvent, TurnEventSchema } from "@holdfast/proto";

/** The newest format this code writes. A body with a higher number is an error that touches nothing. */
export const EVENT_FORMAT = 1;

/** A body that is damaged or was written by a newer version. */
export class EventUnreadable extends Error {
  override readonly name = "EventUnreadable";
}

/** Throws RangeError above EVENT_BYTES: makers of events keep them within it (fitEvent). */
export function encodeEvent(event: TurnEvent): string {
  const body = bodyText(event);
  const bytes = Buffer.byteLength(body, "utf8");
  if (bytes > EVENT_BYTES) throw new RangeError(`an event of ${bytes} bytes; at most ${EVENT_BYTES} can be logged`);
  return body;
}

/** Throws EventUnreadable. Fields of a later contract are ignored. */
export function decodeEvent(body: string): TurnEvent {
  const parsed = parse(body);
  if (parsed.format !== EVENT_FORMAT) {
    throw new EventUnreadable(
      `an event of format ${JSON.stringify(parsed.format)}; this version reads ${EVENT_FORMAT}`,
    );
  }
  try {
    return fromJson(TurnEventSchema, parsed.event as JsonValue, { ignoreUnknownFields: true });
  } catch (cause) {
    throw new EventUnreadable("the event in the body is not one of the contract", { cause });
  }
}

/** Size of an event in the log, in bytes. */
export function bodyBytes(event: TurnEvent): number {
  return Buffer.byteLength(bodyText(event), "utf8");
}

/** The body without the check of its size. */
export function bodyText(event: TurnEvent): string {
  return canonicalJson({ event: toJson(TurnEventSchema, event), format: EVENT_FORMAT });
}

function parse(body: string): { readonly format?: unknown; readonly event?: unknown } {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === "object" && parsed !== null && "event" in parsed) return parsed;
  } catch (cause) {
    throw new EventUnreadable("the body is not JSON", { cause });
  }
  throw new EventUnreadable("the body holds no event");
}
