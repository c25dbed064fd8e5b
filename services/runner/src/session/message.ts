// The message an agent is writing. Its pieces are live; at a boundary (another kind of update, the end of the prompt, or
// the size limit) the whole becomes one durable event.
import { create } from "@bufbuild/protobuf";
import { type ContentBlock, type Message, MessageSchema, TextBlockSchema, type TurnEvent } from "@holdfast/proto";

/** A longer message becomes several durable events. */
export const MESSAGE_BYTES = 256 * 1024;

export type Spoken = Extract<TurnEvent["event"], { case: "message" | "thought" }>;

export class MessageInProgress {
  private kind: Spoken["case"] = "message";
  private blocks: ContentBlock[] = [];
  private bytes = 0;

  /** Takes a piece; gives back what it completes. */
  add(kind: Spoken["case"], block: ContentBlock): Spoken | null {
    const size = sizeOf(block);
    const complete = kind !== this.kind || this.bytes + size > MESSAGE_BYTES ? this.take() : null;
    this.kind = kind;
    this.bytes += size;
    const last = this.blocks.at(-1)?.block;
    if (block.block.case === "text" && last?.case === "text") last.value.text += block.block.value.text;
    else this.blocks.push(copy(block));
    return complete;
  }

  /** What has been said since the last boundary, or null. */
  take(): Spoken | null {
    if (this.blocks.length === 0) return null;
    const value = this.whole();
    this.blocks = [];
    this.bytes = 0;
    return { case: this.kind, value };
  }

  /** For a snapshot: a message in progress, not a thought. */
  peek(): Message | null {
    return this.blocks.length === 0 || this.kind === "thought" ? null : this.whole();
  }

  private whole(): Message {
    return create(MessageSchema, { content: this.blocks });
  }
}

/** Text is added to later, so the piece that the live readers got is not the one kept. */
function copy(block: ContentBlock): ContentBlock {
  if (block.block.case !== "text") return block;
  const value = create(TextBlockSchema, { text: block.block.value.text });
  return { ...block, block: { case: "text", value } };
}

function sizeOf({ block }: ContentBlock): number {
  switch (block.case) {
    case "text":
      return block.value.text.length;
    case "image":
      return block.value.data.length;
    case "embeddedResource":
      return block.value.content.value?.length ?? 0;
    default:
      return 0;
  }
}
