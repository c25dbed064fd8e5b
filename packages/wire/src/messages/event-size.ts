// Keeps an event within EVENT_BYTES, measured as it stands in the log.
//
// Z1  An attachment (picture or embedded resource) above ATTACHMENT_BYTES is never in an event: digest, name and size are.
// Z2  If the event is still too large, its largest parts go the same way, one after the other, until it fits.
// Z3  Whatever was left out shows: an OmittedBlock, a JSON text {"omitted": …}, or `truncated`.
// Z4  The event passed in is not changed.
import { createHash } from "node:crypto";
import { clone, create } from "@bufbuild/protobuf";
import { canonicalJson, EVENT_BYTES } from "@holdfast/pool";
import {
  type ContentBlock,
  type FileDiff,
  OmittedBlockSchema,
  RawSchema,
  type TurnEvent,
  TurnEventSchema,
} from "@holdfast/proto";
import { bodyBytes, bodyText } from "./event-body.ts";

export const ATTACHMENT_BYTES = 64 * 1024;
/** An update that the contract does not model. */
export const RAW_BYTES = 64 * 1024;
/** Left for the number, which an event gets later, and for what a gate's event holds besides its call. */
const EVENT_SPARE_BYTES = 32 * 1024;
/** Left for the number alone. */
const NUMBER_SPARE_BYTES = 64;

/** A part of an event that can be left out. */
type Part = { readonly bytes: number; readonly omit: () => void };

/** The same event, or a smaller copy of it that fits. */
export function fitEvent(event: TurnEvent): TurnEvent {
  const spareBytes = event.event.case === "gateOpened" ? NUMBER_SPARE_BYTES : EVENT_SPARE_BYTES;
  const limitBytes = EVENT_BYTES - spareBytes;
  if (attachments(event).length === 0 && !rawTooLarge(event) && bodyBytes(event) <= limitBytes) return event;
  const fitted = clone(TurnEventSchema, event);
  if (fitted.event.case === "raw" && rawTooLarge(fitted))
    fitted.event.value.json = omittedJson(fitted.event.value.json);
  for (const part of attachments(fitted)) part.omit();
  const left = parts(fitted).sort((a, b) => b.bytes - a.bytes);
  for (let over = bodyBytes(fitted) - limitBytes; over > 0; over = bodyBytes(fitted) - limitBytes) {
    if (left.length === 0) return replacedEvent(fitted);
    // A part takes at least its own bytes in the body: so many gone are enough, and a body is not built for each of them.
    for (let gone = 0; gone < over && left.length > 0; ) {
      const part = left.shift();
      part?.omit();
      gone += part?.bytes ?? 0;
    }
  }
  return fitted;
}

/** Nothing in it can be left out by itself (a plan of a million steps, say): what is left is its size and digest. */
function replacedEvent(event: TurnEvent): TurnEvent {
  event.event = { case: "raw", value: create(RawSchema, { json: omittedJson(bodyText(event)) }) };
  return event;
}

function rawTooLarge({ event }: TurnEvent): boolean {
  return event.case === "raw" && Buffer.byteLength(event.value.json, "utf8") > RAW_BYTES;
}

/** Z1. */
function attachments(event: TurnEvent): Part[] {
  return blockParts(event, ({ block }) => block.case === "image" || block.case === "embeddedResource").filter(
    ({ bytes }) => bytes > ATTACHMENT_BYTES,
  );
}

/** Z2: everything in the event that has a size of its own. */
function parts(event: TurnEvent): Part[] {
  const found = blockParts(event, ({ block }) => block.case !== "omitted");
  const call = calledIn(event);
  if (call === null) return found;
  const mark = (omit: () => void) => () => {
    omit();
    call.truncated = true;
  };
  if ("rawOutputJson" in call) {
    const output = mark(() => {
      call.rawOutputJson = omittedJson(call.rawOutputJson);
    });
    found.push({ bytes: call.rawOutputJson.length, omit: output });
  }
  const input = mark(() => {
    call.rawInputJson = omittedJson(call.rawInputJson);
  });
  found.push({ bytes: call.rawInputJson.length, omit: input });
  for (const diff of call.diff)
    found.push({ bytes: diff.oldText.length + diff.newText.length, omit: mark(() => omitDiff(diff)) });
  return found;
}

function calledIn({ event }: TurnEvent) {
  if (event.case === "toolCall" || event.case === "toolCallUpdate") return event.value;
  return event.case === "gateOpened" ? (event.value.gate?.toolCall ?? null) : null;
}

function blockParts({ event }: TurnEvent, chosen: (block: ContentBlock) => boolean): Part[] {
  switch (event.case) {
    case "prompt":
    case "message":
    case "thought":
    case "toolCall":
    case "toolCallUpdate": {
      const holder = event.value;
      const omitFrom = (block: ContentBlock) => () => {
        omitBlock(block);
        holder.truncated = true;
      };
      return holder.content.filter(chosen).map((block) => blockPart(block, omitFrom(block)));
    }
    case "messageDelta":
    case "thoughtDelta": {
      const block = event.value.content;
      return block === undefined || !chosen(block) ? [] : [blockPart(block, () => omitBlock(block))];
    }
    default:
      return [];
  }
}

function blockPart(block: ContentBlock, omit: () => void): Part {
  return { bytes: blockContent(block).byteLength, omit };
}

function omitBlock(from: ContentBlock): void {
  const { block } = from;
  const content = blockContent(from);
  const named = block.case === "text" || block.case === "omitted" || block.value === undefined ? null : block.value;
  const value = {
    kind: block.case === "text" ? "text" : block.case === "image" ? "image" : "resource",
    name: block.case === "resourceLink" ? block.value.name : (named?.uri ?? ""),
    mimeType: named?.mimeType ?? "",
    sizeBytes: BigInt(content.byteLength),
    digest: digest(content),
  };
  from.block = { case: "omitted", value: create(OmittedBlockSchema, value) };
}

function blockContent({ block }: ContentBlock): Uint8Array {
  switch (block.case) {
    case "text":
      return Buffer.from(block.value.text, "utf8");
    case "image":
      return block.value.data;
    case "embeddedResource": {
      const { content } = block.value;
      return content.case === "blob" ? content.value : Buffer.from(content.value ?? "", "utf8");
    }
    case "resourceLink":
      return Buffer.from(block.value.uri + block.value.name + block.value.title + block.value.description, "utf8");
    case "omitted":
    case undefined:
      return new Uint8Array();
  }
}

function omitDiff(diff: FileDiff): void {
  diff.oldText = omittedJson(diff.oldText);
  diff.newText = omittedJson(diff.newText);
}

function omittedJson(text: string): string {
  if (text === "") return "";
  const content = Buffer.from(text, "utf8");
  return canonicalJson({ omitted: { digest: digest(content), size_bytes: content.byteLength } });
}

function digest(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
