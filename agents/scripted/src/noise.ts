// `noise KIND`: what a host may get to read from an agent that is careless, broken or hostile. Each kind is one bad thing
// and nothing else; when it is over, perform.ts says so in a proper message, which shows that the connection still works.

import { methods, RequestError } from "@agentclientprotocol/sdk";
import { run } from "./calls.ts";
import { OPTIONS } from "./gate.ts";
import type { NoiseKind } from "./language.ts";
import type { Stage } from "./stage.ts";
import { Turn } from "./turn.ts";
import { message } from "./voice.ts";

/** Size of `noise oversized` without a number. */
const OVERSIZED_DEFAULT_MIB = 100;
const MIB = 1_024 * 1_024;
const PIECE_BYTES = 64 * 1_024;
/** Between the two halves of a split line: long enough that a reader gets them one by one. */
const SPLIT_PAUSE_MS = 50;
/** Exit code after `noise no-newline`: its line can only be the last one. */
const NO_NEWLINE_EXIT_CODE = 0;

export function makeNoise(stage: Stage, kind: NoiseKind, sizeMib: number = OVERSIZED_DEFAULT_MIB): Promise<void> {
  return kinds[kind](stage, sizeMib);
}

const kinds: Record<NoiseKind, (stage: Stage, sizeMib: number) => Promise<void>> = {
  text: ({ outlet }) => outlet.write(["Warning: this line is no JSON at all\n"]),
  blank: ({ outlet }) => outlet.write(["\n", "   \n", "\r\n"]),
  "bad-utf8": ({ outlet }) => outlet.write([Uint8Array.from([0xff, 0xfe, 0xc3, 0x28, 0x00, 0x0a])]),
  "partial-line": ({ outlet }) => outlet.write(['{"jsonrpc":"2.0","method":"session/upd\n']),
  "split-line": splitLine,
  glued,
  "no-newline": noNewline,
  "non-object": ({ outlet }) => outlet.write(["42\n", '"text"\n', "null\n", "true\n", "[1,2]\n", "{}\n"]),
  oversized,
  "unknown-request": unknownRequest,
  "unknown-notification": ({ client }) => client.notify("scripted/unheard_of", { any: "thing" }),
  "unknown-update": (stage) => stage.outlet.write([update(stage, { sessionUpdate: "scripted_unheard_of", value: 1 })]),
  "unknown-response": ({ outlet }) => outlet.write([`${json({ id: 987_654_321, result: {} })}\n`]),
  "foreign-session": ({ client }) =>
    client.notify(methods.client.session.update, { sessionId: "nobody", update: message("for a session nobody has") }),
  "malformed-gate": malformedGate,
  "reused-tool-call": reusedToolCall,
  "stray-update": strayUpdate,
  "stray-gate": strayGate,
  "prompt-error": () => Promise.reject(new RequestError(-32603, "the script asked for this error")),
};

/** A proper message that arrives in two pieces. */
function splitLine(stage: Stage): Promise<void> {
  const line = update(stage, message("in two pieces"));
  const middle = Math.floor(line.length / 2);
  async function* pieces() {
    yield line.slice(0, middle);
    await new Promise((resolve) => setTimeout(resolve, SPLIT_PAUSE_MS));
    yield line.slice(middle);
  }
  return stage.outlet.write(pieces());
}

/** A progress display that ends no line, so that the message after it cannot be read. */
async function glued({ outlet, voice }: Stage): Promise<void> {
  await outlet.write(["downloading 50 % "]);
  await voice.say("lost: glued to something else");
}

/** A last message whose line is ended by the end of the output. */
async function noNewline(stage: Stage): Promise<void> {
  await stage.outlet.write([update(stage, message("the last line has no end")).trimEnd()]);
  process.exit(NO_NEWLINE_EXIT_CODE);
}

/** One proper message of that size, written in pieces so that it costs the agent nothing. */
function oversized(stage: Stage, sizeMib: number): Promise<void> {
  const [head = "", tail = ""] = update(stage, message("FILL")).split("FILL");
  const piece = "x".repeat(PIECE_BYTES);
  function* pieces() {
    yield head;
    for (let left = (sizeMib * MIB) / PIECE_BYTES; left > 0 && !stage.turn.signal.aborted; left -= 1) yield piece;
    yield tail;
  }
  return stage.outlet.write(pieces());
}

async function unknownRequest({ client, voice }: Stage): Promise<void> {
  await voice.say(await answerTo(client.request("scripted/unheard_of", { any: "thing" })));
}

/** A gate without its tool call, which no client may show. */
async function malformedGate({ client, session, voice }: Stage): Promise<void> {
  const request = { sessionId: session.id, options: OPTIONS };
  await voice.say(await answerTo(client.request<unknown>(`${methods.client.session.requestPermission}`, request)));
}

async function answerTo(request: Promise<unknown>): Promise<string> {
  try {
    return `answered ${JSON.stringify(await request)}`;
  } catch (error) {
    if (error instanceof RequestError) return `answered ${error.code}`;
    throw error;
  }
}

/** Two calls with one id: the second begins when the first is completed. */
async function reusedToolCall({ session, voice }: Stage): Promise<void> {
  const toolCallId = session.nextToolCallId();
  for (const title of ["first with this id", "second with this id"]) {
    await voice.send({ sessionUpdate: "tool_call", toolCallId, title, kind: "other", status: "pending" });
    await voice.send({ sessionUpdate: "tool_call_update", toolCallId, status: "completed" });
  }
}

/** A message after the prompt was answered. */
async function strayUpdate({ turn, voice }: Stage): Promise<void> {
  turn.afterwards(() => voice.sendUnrecorded(message("after the end of the turn")));
}

/** A gate after the prompt was answered. Whoever allows it finds it in the ledger. */
async function strayGate(stage: Stage): Promise<void> {
  stage.turn.afterwards(() => run({ ...stage, turn: new Turn() }, "echo stray"));
}

function update(stage: Stage, content: object): string {
  const params = { sessionId: stage.session.id, update: content };
  return `${json({ method: methods.client.session.update, params })}\n`;
}

function json(body: object): string {
  return JSON.stringify({ jsonrpc: "2.0", ...body });
}
