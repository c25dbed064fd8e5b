// The part of Anthropic's Messages format that the scripted model endpoint speaks: what it reads of a request, what it
// answers, and how an answer is cut into server-sent events. Only what the agent needs is here; every other field of a
// request is ignored, so a newer agent that sends more is still understood.

/** One piece of a message's content. Pieces of other types (images, thinking) are passed over. */
export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "tool_result";
      readonly tool_use_id: string;
      readonly content?: string | readonly ContentPart[];
      readonly is_error?: boolean;
    }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: unknown };

/** One message of the conversation, oldest first in a request. A bare string is one text part. */
export interface Message {
  readonly role: string;
  readonly content: string | readonly ContentPart[];
}

/** What is read of `POST /v1/messages`. */
export interface MessagesRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: readonly Message[];
  readonly tools?: readonly { readonly name?: string }[];
}

/** A message's content as parts. */
export function partsOf(message: Message): readonly ContentPart[] {
  return typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
}

/** Every text that a request shows the model, oldest first, whoever wrote it. */
export function textsOf({ messages }: MessagesRequest): readonly string[] {
  return messages.flatMap((message) => partsOf(message).flatMap((part) => (part.type === "text" ? [part.text] : [])));
}

/** One piece of an answer, in the order in which the agent receives them. */
export type ReplyPart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "tool_use";
      readonly id: string;
      readonly name: string;
      readonly input: Readonly<Record<string, unknown>>;
    };

/** The agent measures its context by these; the numbers mean nothing here. */
const USAGE = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

/** The answer as one JSON body, for a request that did not ask for a stream. */
export function messageBody(id: string, model: string, parts: readonly ReplyPart[]): unknown {
  return {
    id,
    type: "message",
    role: "assistant",
    model,
    content: parts,
    stop_reason: stopReason(parts),
    stop_sequence: null,
    usage: USAGE,
  };
}

/** The answer as server-sent events: each part begins, comes in one delta and ends; then the message ends. */
export function messageEvents(id: string, model: string, parts: readonly ReplyPart[]): string {
  const start = { id, type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null };
  return [
    sseEvent({ type: "message_start", message: { ...start, usage: USAGE } }),
    ...parts.flatMap(partEvents),
    sseEvent({
      type: "message_delta",
      delta: { stop_reason: stopReason(parts), stop_sequence: null },
      usage: { output_tokens: USAGE.output_tokens },
    }),
    sseEvent({ type: "message_stop" }),
  ].join("");
}

function partEvents(part: ReplyPart, index: number): string[] {
  const begin = part.type === "text" ? { type: "text", text: "" } : { ...part, input: {} };
  const delta =
    part.type === "text"
      ? { type: "text_delta", text: part.text }
      : { type: "input_json_delta", partial_json: JSON.stringify(part.input) };
  return [
    sseEvent({ type: "content_block_start", index, content_block: begin }),
    sseEvent({ type: "content_block_delta", index, delta }),
    sseEvent({ type: "content_block_stop", index }),
  ];
}

function sseEvent(data: { readonly type: string } & Readonly<Record<string, unknown>>): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

function stopReason(parts: readonly ReplyPart[]): "tool_use" | "end_turn" {
  return parts.some((part) => part.type === "tool_use") ? "tool_use" : "end_turn";
}
