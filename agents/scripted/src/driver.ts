// Drives the real agent for the tests of this folder: starts the process, is its ACP client, and keeps what came, so that a
// test waits for what it expects instead of for a time. What is no JSON-RPC object is kept as junk; the rest goes to the SDK.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import {
  type ClientConnection,
  client,
  type InitializeResponse,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { vi } from "vitest";

const MAIN = new URL("./main.ts", import.meta.url).pathname;
/** Larger than any line a test asks for. */
const MAX_MESSAGE_BYTES = 256 * 1_024 * 1_024;
/** What is kept of a line that is no message. */
const JUNK_MAX_CHARACTERS = 80;

export type OpenGate = {
  request: RequestPermissionRequest;
  withdrawn: boolean;
  choose(optionId: string): void;
  cancel(): void;
};

type Start = { flags?: string[]; env?: Record<string, string>; directory?: string };

export class Driver {
  readonly directory: string;
  readonly child: ChildProcess;
  readonly updates: { session: string; update: SessionUpdate }[] = [];
  readonly gates: OpenGate[] = [];
  readonly questions: string[] = [];
  readonly junk: string[] = [];
  /** As it was printed; the SDK forgets a message that comes right before the end of the output. */
  lastLine = "";
  stderr = "";
  /** Answers `ask`; without it the client offers no questions. */
  answerQuestion: string | undefined;
  #waiting: (() => void)[] = [];
  readonly #connection: ClientConnection;

  constructor({ flags = [], env = {}, directory = mkdtempSync(join(tmpdir(), "scripted-")) }: Start = {}) {
    this.directory = directory;
    this.child = spawn(process.execPath, [MAIN, ...flags], { env: { ...process.env, ...env }, stdio: "pipe" });
    const { stdin, stdout, stderr } = this.child;
    if (!stdin || !stdout || !stderr) throw new Error("the agent was started without pipes");
    stdin.on("error", () => this.#changed());
    stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr = (this.stderr + text).slice(-4_096);
    });
    this.child.once("exit", () => this.#changed());
    const output = Writable.toWeb(stdin) as WritableStream<Uint8Array>;
    this.#connection = this.#asClient().connect(
      ndJsonStream(output, this.#messagesOf(stdout), { maxMessageBytes: MAX_MESSAGE_BYTES }),
    );
  }

  get agent() {
    return this.#connection.agent;
  }

  initialize(): Promise<InitializeResponse> {
    const elicitation = this.answerQuestion === undefined ? {} : { elicitation: { form: {} } };
    return this.agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: elicitation,
    });
  }

  async newSession(): Promise<string> {
    await this.initialize();
    const response = await this.agent.request(methods.agent.session.new, { cwd: this.directory, mcpServers: [] });
    return response.sessionId;
  }

  prompt(sessionId: string, ...lines: string[]): Promise<PromptResponse> {
    const prompt = [{ type: "text", text: lines.join("\n") } as const];
    return this.agent.request(methods.agent.session.prompt, { sessionId, prompt });
  }

  cancel(sessionId: string): Promise<void> {
    return this.agent.notify(methods.agent.session.cancel, { sessionId });
  }

  /** The texts of the agent's messages so far. */
  get said(): string[] {
    return this.updates.flatMap(({ update }) =>
      update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? [update.content.text] : [],
    );
  }

  /** The statuses of one tool call so far, oldest first. */
  statuses(toolCallId: string): string[] {
    return this.updates.flatMap(({ update }) =>
      (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update") &&
      update.toolCallId === toolCallId
        ? [String(update.status)]
        : [],
    );
  }

  /** Waits until the nth gate of this process is there, counted from zero. */
  async gate(index: number): Promise<OpenGate> {
    await this.until(() => this.gates.length > index);
    const gate = this.gates[index];
    if (!gate) throw new Error(`no gate ${index}`);
    return gate;
  }

  /** Waits until something that arrived makes it true; the test's own timeout is the bound. */
  async until(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  async exitCode(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, "exit");
    return this.child.exitCode;
  }

  async end(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill("SIGKILL");
      await once(this.child, "exit");
    }
    this.#connection.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** From here on the agent's stdout is not read any more. */
  stopReading(): void {
    this.child.stdout?.pause();
  }

  goOnReading(): void {
    this.child.stdout?.resume();
  }

  #changed(): void {
    for (const look of this.#waiting.splice(0)) look();
  }

  #asClient() {
    return client({ name: "driver" })
      .onRequest(methods.client.session.requestPermission, ({ params, signal }) => this.#openGate(params, signal))
      .onRequest(methods.client.elicitation.create, ({ params }) => {
        this.questions.push(params.message);
        return { action: "accept", content: { answer: this.answerQuestion ?? "" } };
      })
      .onNotification(methods.client.session.update, ({ params }) => {
        this.updates.push({ session: params.sessionId, update: params.update });
        this.#changed();
      });
  }

  #openGate(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    return new Promise((resolve) => {
      const gate: OpenGate = {
        request,
        withdrawn: false,
        choose: (optionId) => resolve({ outcome: { outcome: "selected", optionId } }),
        cancel: () => resolve({ outcome: { outcome: "cancelled" } }),
      };
      signal.addEventListener("abort", () => {
        gate.withdrawn = true;
        this.#changed();
      });
      this.gates.push(gate);
      this.#changed();
    });
  }

  #messagesOf(stdout: NodeJS.ReadableStream): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder();
    const lines = createInterface({ input: stdout, crlfDelay: Number.POSITIVE_INFINITY });
    let wanted = true;
    return new ReadableStream({
      start: (controller) => {
        lines.on("line", (line) => {
          this.lastLine = line;
          if (!isMessage(line)) this.junk.push(line.slice(0, JUNK_MAX_CHARACTERS));
          else if (wanted) controller.enqueue(encoder.encode(`${line}\n`));
          this.#changed();
        });
        lines.once("close", () => {
          if (wanted) controller.close();
        });
      },
      cancel: () => {
        wanted = false;
      },
    });
  }
}

/** Whether a process exists and is not only waiting to be reaped. */
export function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ESRCH")) return false;
    throw error;
  }
}

/** The process id a command wrote into that file of the session's directory; waits until it is there. */
export function writtenPid(directory: string, file: string): Promise<number> {
  return vi.waitFor(() => {
    const text = readFileSync(join(directory, file), "utf8");
    if (!text.endsWith("\n")) throw new Error(`nothing in ${file} yet`);
    return Number(text);
  });
}

function isMessage(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && "jsonrpc" in value;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
