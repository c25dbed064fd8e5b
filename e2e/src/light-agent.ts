// An ACP agent of a few lines and no dependency: it starts fast enough to be started a thousand times, and can be made to
// fail at each step of a start. What it can do beyond that the scripted agent does better.
//
//   node light-agent.ts [--at STEP:DEED] [--deaf]
//
//   --at STEP:DEED   at STEP (spawn, initialize, session/new) it does DEED instead: hang, exit, or refuse with an error;
//                    exit and refuse tell the values in its environment whose names begin with TELL_
//   --deaf           neither SIGTERM nor the end of stdin ends it
//
// A prompt's text says what to do: `ask` opens a gate and ends the turn when it is answered; `ask-die` exits as soon as the
// answer is there; `die` exits at once, `die-once` only the first time in its directory, `say-die` says a word first; `tell`
// says the values in two pieces; `refuse` answers the prompt with an error that tells them; `hold` does nothing until it is
// stopped; anything else ends the turn. MCP servers over stdio are started and never spoken to.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

type Message = { readonly id?: number; readonly method?: string; readonly params?: Params; readonly result?: unknown };
type Params = {
  readonly mcpServers?: readonly Server[];
  readonly prompt?: readonly { readonly text?: string }[];
};
type Server = {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
};

const EXIT_CODE = 3;
const REFUSED_CODE = -32603;
const SESSION = "light";
const GATE = 1;
const NO_ID = 0;
/** Where a telling is cut: within the last value. */
const TOLD_LATE_CHARACTERS = 12;
const OPTIONS = [
  { optionId: "allow-once", name: "Allow", kind: "allow_once" },
  { optionId: "reject-once", name: "Reject", kind: "reject_once" },
];

const METHODS: Readonly<Record<string, (id: number, params: Params) => void>> = {
  initialize: (id) => send({ id, result: { protocolVersion: 1, agentCapabilities: {} } }),
  "session/new": (id, { mcpServers = [] }) => {
    for (const server of mcpServers) startServer(server);
    send({ id, result: { sessionId: SESSION } });
  },
  "session/prompt": (id, params) => prompt(id, params.prompt?.[0]?.text ?? ""),
  "session/cancel": () => settle("cancelled"),
};

const PROMPTS: Readonly<Record<string, (id: number) => void>> = {
  ask: () => ask(),
  "ask-die": () => ask(),
  die: () => exit(),
  "die-once": () => dieOnce(),
  "say-die": () => {
    say("word");
    exit();
  },
  tell: () => {
    const text = told();
    say(text.slice(0, -TOLD_LATE_CHARACTERS));
    say(text.slice(-TOLD_LATE_CHARACTERS));
    settle("end_turn");
  },
  refuse: (id) => send({ id, error: { code: REFUSED_CODE, message: told() } }),
  hold: () => undefined,
};

const flags = process.argv.slice(2);
const isDeaf = flags.includes("--deaf");
const [step = "", deed = ""] = (flags[flags.indexOf("--at") + 1] ?? "").split(/:(?=[a-z]+$)/);
const servers: ChildProcess[] = [];
/** The prompt that is not answered yet. */
let prompted: { readonly id: number; readonly dies: boolean } | null = null;

if (isDeaf) {
  process.on("SIGTERM", () => undefined);
  setInterval(() => undefined, 1 << 30);
}
if (!fail("spawn", NO_ID)) listen();

function listen(): void {
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => receive(JSON.parse(line)));
  lines.on("close", () => {
    for (const server of servers) server.kill();
    if (!isDeaf) process.exit();
  });
}

function receive({ id = NO_ID, method, params = {} }: Message): void {
  if (method === undefined) answered();
  else if (!fail(method, id)) METHODS[method]?.(id, params);
}

function answered(): void {
  if (prompted?.dies) exit();
  settle("end_turn");
}

function prompt(id: number, text: string): void {
  prompted = { id, dies: text === "ask-die" };
  const deed = PROMPTS[text];
  if (deed === undefined) settle("end_turn");
  else deed(id);
}

/** Dies once in a directory: whoever is prompted there next does not. */
function dieOnce(): void {
  if (existsSync("died")) settle("end_turn");
  else {
    writeFileSync("died", "");
    exit();
  }
}

function ask(): void {
  const toolCall = { toolCallId: "call", title: "work", kind: "execute", rawInput: { command: "work" } };
  send({ id: GATE, method: "session/request_permission", params: { sessionId: SESSION, toolCall, options: OPTIONS } });
}

function settle(stopReason: string): void {
  if (prompted !== null) send({ id: prompted.id, result: { stopReason } });
  prompted = null;
}

/** Whether this step is the one to fail at. */
function fail(at: string, id: number): boolean {
  if (at !== step) return false;
  if (deed === "exit") exit();
  if (deed === "refuse") send({ id, error: { code: REFUSED_CODE, message: told() } });
  if (at === "spawn") setInterval(() => undefined, 1 << 30);
  return true;
}

function exit(): never {
  process.stderr.write(`light agent: gives up\n${told()}\n`);
  process.exit(EXIT_CODE);
}

function told(): string {
  return Object.entries(process.env)
    .filter(([name]) => name.startsWith("TELL_"))
    .map(([name, value]) => `${name} is ${value}`)
    .join("\n");
}

function startServer({ command = "", args = [], env = [] }: Server): void {
  const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  servers.push(
    spawn(command, [...args], { env: { ...process.env, ...variables }, stdio: ["pipe", "ignore", "ignore"] }),
  );
}

function say(text: string): void {
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  send({ method: "session/update", params: { sessionId: SESSION, update } });
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}
