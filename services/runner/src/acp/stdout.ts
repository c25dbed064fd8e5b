// An agent's stdout to messages (B3, B4). It is untrusted: whatever is no message is counted and left out, never answered.
//
// O1  Pulled: bytes are read only when the next message is wanted, and one is wanted only when the session has room.
// O2  One message in one turn of the event loop: whatever the SDK does with it, in however many steps, is done before it
//     sees the next one. So what the agent said is told in the order in which it was said, and no agent starves the others.
// O3  Session updates do not go through the SDK: it leaves out those it does not know, complains of them on the runner's own
//     stderr, and strips what it does not know of the others. They are told here, in their turn.
// O4  A response is a message only if its request is open: the SDK would complain of others on the runner's own stderr.

import type { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type AnyMessage, type AnyNotification, methods } from "@agentclientprotocol/sdk";
import { readJson } from "./json.ts";
import { type Line, LineCutter } from "./lines.ts";

/** What an agent may print besides messages. */
export type Noise =
  /** A line that is no UTF-8. */
  | "no_utf8"
  /** A line that is no JSON: text, half a message, two glued together. */
  | "no_json"
  /** JSON that is no message: a number, an array, an object of another kind. */
  | "no_message"
  /** A response that nobody waits for. */
  | "unknown_response"
  /** An update or a request that names another session. */
  | "foreign_session"
  /** A notification or update that cannot be read. */
  | "malformed"
  /** A notification outside the protocol. */
  | "unknown_notification"
  /** What came before the session was ready, a loaded session's replay included (B5). */
  | "early";

export type MessageSource = {
  readonly stdout: Readable;
  /** Resolves when the next message can be taken. */
  readonly room: () => Promise<void>;
  readonly isAwaited: (id: unknown) => boolean;
  /** The unchecked params of session/update. */
  readonly onUpdate: (params: unknown) => void;
  readonly onNoise: (kind: Noise) => void;
  readonly onDropped: (bytes: number) => void;
};

/** Ends when stdout ends; a broken pipe is an end as well. */
export function readMessages(source: MessageSource): ReadableStream<AnyMessage> {
  const lines = readLines(source.stdout);
  return new ReadableStream<AnyMessage>(
    {
      async pull(controller) {
        for (;;) {
          await nextTurn();
          await source.room();
          const message = await nextMessage(lines, source);
          if (message === null) return controller.close();
          if (!isUpdate(message)) return controller.enqueue(message);
          source.onUpdate(message.params);
        }
      },
    },
    { highWaterMark: 0 },
  );
}

/** Null at the end. */
async function nextMessage(lines: AsyncIterator<Line, void>, source: MessageSource): Promise<AnyMessage | null> {
  for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
    const message = readMessage(next.value, source);
    if (message !== null) return message;
  }
  return null;
}

function isUpdate(message: AnyMessage): message is AnyNotification {
  return "method" in message && message.method === methods.client.session.update && !("id" in message);
}

async function* readLines(stdout: Readable): AsyncGenerator<Line, void> {
  const cutter = new LineCutter();
  const chunks = stdout.iterator({ destroyOnReturn: true });
  for (let chunk = await nextChunk(chunks); chunk !== null; chunk = await nextChunk(chunks)) yield* cutter.push(chunk);
  const last = cutter.flush();
  if (last !== null) yield last;
}

/** Null at the end. A pipe that breaks, or that we destroyed, has ended: why the agent went is told by its exit. */
async function nextChunk(chunks: AsyncIterator<Buffer>): Promise<Buffer | null> {
  try {
    const next = await chunks.next();
    return next.done === true ? null : next.value;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return null;
  }
}

function readMessage(line: Line, { isAwaited, onNoise, onDropped }: MessageSource): AnyMessage | null {
  if (line.kind === "oversized") {
    onDropped(line.bytes);
    return null;
  }
  if (line.text === "") return null;
  const value = line.text === null ? undefined : readJson(line.text);
  const noise = noiseIn(line.text, value, isAwaited);
  if (noise === null) return value as AnyMessage;
  onNoise(noise);
  return null;
}

function noiseIn(text: string | null, value: unknown, isAwaited: (id: unknown) => boolean): Noise | null {
  if (text === null) return "no_utf8";
  if (value === undefined) return "no_json";
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "no_message";
  const { jsonrpc, id, method } = value as Readonly<Record<string, unknown>>;
  if (method === undefined) return isAwaited(id) ? null : "unknown_response";
  const isCall = jsonrpc === "2.0" && typeof method === "string" && (id === undefined || isId(id));
  return isCall ? null : "no_message";
}

/** A request with the id null cannot be answered. */
function isId(id: unknown): boolean {
  return typeof id === "string" || typeof id === "number";
}
