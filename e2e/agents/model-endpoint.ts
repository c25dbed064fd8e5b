// The scripted model behind a real agent in a test: an HTTP server on loopback that speaks Anthropic's Messages format
// and answers by model-script.ts. It stands in for a model, not for any part of Holdfast.
//
//   agent ── POST /v1/messages ──> readRequest ──> scriptedReply ──> JSON, or server-sent events
//                                       └─> exchanges, for a test's assertions
//
// It keeps nothing that decides an answer: every reply follows from the conversation in the request (S1).

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type MessagesRequest, messageBody, messageEvents, type ReplyPart, textsOf } from "./messages.ts";
import { type Reading, readRequest, scriptedReply } from "./model-script.ts";

/** Above this a request is refused with 413; an agent's request is some 200 KiB, most of it tool descriptions. */
export const REQUEST_MAX_BYTES = 16 * 1024 * 1024;

/** How many exchanges are kept; the oldest go first. */
export const EXCHANGES_KEPT_MAX = 1_000;

/** One request to the model and what was said. */
export interface Exchange {
  readonly model: string;
  readonly streamed: boolean;
  /** How the script understood the request; an empty prompt is a call of the agent's own (S2). */
  readonly reading: Reading;
  /** Every text of the conversation in the request, oldest first: what the model is told of earlier turns. */
  readonly texts: readonly string[];
  readonly reply: readonly ReplyPart[];
}

/** A running endpoint. */
export interface ModelEndpoint {
  /** `http://127.0.0.1:PORT`, for the agent's ANTHROPIC_BASE_URL. */
  readonly url: string;
  /** What was asked and said, oldest first, at most EXCHANGES_KEPT_MAX. */
  readonly exchanges: readonly Exchange[];
  /** Requests for anything else, as `METHOD path`; each was answered 404. */
  readonly strays: readonly string[];
  /** Stops listening and ends open connections. */
  close(): Promise<void>;
}

/** Starts an endpoint on a free loopback port. */
export async function startModelEndpoint(): Promise<ModelEndpoint> {
  const exchanges: Exchange[] = [];
  const strays: string[] = [];
  const keep = (exchange: Exchange): void => {
    exchanges.push(exchange);
    if (exchanges.length > EXCHANGES_KEPT_MAX) exchanges.shift();
  };
  const server = createServer((request, response) => {
    serve(request, response, keep, strays).catch((error: unknown) => {
      refuse(response, 500, "api_error", error instanceof Error ? error.message : String(error));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    exchanges,
    strays,
    close: () =>
      new Promise<void>((resolve, reject) => {
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  keep: (exchange: Exchange) => void,
  strays: string[],
): Promise<void> {
  const path = new URL(request.url ?? "/", "http://loopback").pathname;
  const asked = `${request.method} ${path}`;
  const body = await readBody(request);
  if (body === undefined) return refuse(response, 413, "request_too_large", `more than ${REQUEST_MAX_BYTES} bytes`);
  if (asked === "POST /v1/messages/count_tokens") return sendJson(response, 200, { input_tokens: 1 });
  if (asked !== "POST /v1/messages") {
    strays.push(asked);
    return refuse(response, 404, "not_found_error", `the scripted model does not serve ${asked}`);
  }
  const parsed = parseRequest(body);
  if (parsed === undefined) return refuse(response, 400, "invalid_request_error", "not a Messages request");
  answer(parsed, response, keep);
}

function answer(request: MessagesRequest, response: ServerResponse, keep: (exchange: Exchange) => void): void {
  const reading = readRequest(request);
  const reply = scriptedReply(reading, () => `toolu_${randomUUID().replaceAll("-", "")}`);
  const streamed = request.stream === true;
  keep({ model: request.model, streamed, reading, texts: textsOf(request), reply });
  const id = `msg_${randomUUID().replaceAll("-", "")}`;
  if (!streamed) {
    sendJson(response, 200, messageBody(id, request.model, reply));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  response.end(messageEvents(id, request.model, reply));
}

/** The whole body as text, or undefined when it is too large (it is then read to its end and dropped). */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes <= REQUEST_MAX_BYTES) chunks.push(chunk);
  }
  return bytes <= REQUEST_MAX_BYTES ? Buffer.concat(chunks).toString("utf8") : undefined;
}

function parseRequest(body: string): MessagesRequest | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { model, messages } = value as Partial<MessagesRequest>;
  return typeof model === "string" && Array.isArray(messages) ? (value as MessagesRequest) : undefined;
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function refuse(response: ServerResponse, status: number, type: string, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  sendJson(response, status, { type: "error", error: { type, message } });
}
