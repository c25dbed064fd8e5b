// The message an agent is writing. Its pieces are live; at a boundary (another kind of update, the end of the prompt, or
// the size limit) the whole becomes one durable event.
//
// M1  What the durable events of a message hold together is what its pieces held: nothing is cut, however large a piece is.
// M2  One event's content has at most MESSAGE_BYTES, unless it is one attachment.
import { create, toJson } from "@bufbuild/protobuf";
import {
  type ContentBlock,
  ContentBlockSchema,
  type Message,
  MessageSchema,
  TextBlockSchema,
  type TurnEvent,
} from "@holdfast/proto";

/** A longer message becomes several durable events. As JSON, which is how the log keeps it. */
export const MESSAGE_BYTES = 256 * 1024;
/** No character of a text takes more bytes in JSON. */
const CHARACTER_MOST_BYTES = 6;
const PIECE_CHARACTERS = Math.floor(MESSAGE_BYTES / CHARACTER_MOST_BYTES) - 1;

export type Spoken = Extract<TurnEvent["event"], { case: "message" | "thought" }>;

export class MessageInProgress {
  private kind: Spoken["case"] = "message";
  private blocks: ContentBlock[] = [];
  private bytes = 0;

  /** Takes a piece; gives back what it completes. */
  add(kind: Spoken["case"], block: ContentBlock): readonly Spoken[] {
    const complete = kind === this.kind ? [] : [this.take()];
    this.kind = kind;
    for (const piece of split(block)) {
      const size = blockBytes(piece);
      if (this.bytes + size > MESSAGE_BYTES) complete.push(this.take());
      this.bytes += size;
      this.append(piece);
    }
    return complete.filter((spoken) => spoken !== null);
  }

  /** What has been said since the last boundary, or null. */
  take(): Spoken | null {
    if (this.blocks.length === 0) return null;
    const value = create(MessageSchema, { content: this.blocks });
    this.blocks = [];
    this.bytes = 0;
    return { case: this.kind, value };
  }

  /** For a snapshot: a message in progress, not a thought. It stays as it is when more is said. */
  peek(): Message | null {
    if (this.blocks.length === 0 || this.kind === "thought") return null;
    return create(MessageSchema, { content: this.blocks.map(copy) });
  }

  private append(piece: ContentBlock): void {
    const last = this.blocks.at(-1)?.block;
    if (piece.block.case === "text" && last?.case === "text") last.value.text += piece.block.value.text;
    else this.blocks.push(copy(piece));
  }
}

/** Size of a piece as the log would keep it. */
export function blockBytes(block: ContentBlock): number {
  const kept = block.block.case === "text" ? block.block.value.text : toJson(ContentBlockSchema, block);
  return Buffer.byteLength(JSON.stringify(kept), "utf8");
}

/** Text is added to later, so the piece that the live readers got is not the one kept. */
function copy(block: ContentBlock): ContentBlock {
  return block.block.case === "text" ? textBlock(block.block.value.text) : block;
}

/** A text larger than an event may be becomes several, between two characters. */
function split(block: ContentBlock): readonly ContentBlock[] {
  if (block.block.case !== "text" || blockBytes(block) <= MESSAGE_BYTES) return [block];
  const { text } = block.block.value;
  const pieces: ContentBlock[] = [];
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = start + PIECE_CHARACTERS;
    if (isHighSurrogate(text.charCodeAt(end - 1))) end -= 1;
    pieces.push(textBlock(text.slice(start, end)));
  }
  return pieces;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function textBlock(text: string): ContentBlock {
  return create(ContentBlockSchema, { block: { case: "text", value: create(TextBlockSchema, { text }) } });
}
