// What the runner knows of a live agent, in the contract's words; everything ACP stays behind this.
//
// B1  One agent process per session.
// B2  The listener lives as long as the process; what comes outside a prompt is still told, and marked so.
// B3  Whatever the process prints, the runner lives: noise is dropped, an oversized line is told as `dropped`.
// B4  The next message is read only when `room` resolves: a slow store never grows memory.
import type { GateOption, Tier } from "@holdfast/pool";
import type { ContentBlock, ToolCall, TurnEvent } from "@holdfast/proto";
import type { Log } from "@holdfast/runtime";

/** One thing to write to disk before the agent starts: a settings file it wants. */
export type AgentFile = { readonly path: string; readonly content: string };

/** Everything a start needs. `env` is complete: nothing of the runner's own environment is added (B7). */
export type AgentStart = {
  readonly instance: string;
  /** The runner's mark on this host: whoever starts after it under this name ends what it left (process/marker.ts). */
  readonly owner: string;
  readonly agentName: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The session's own directory: working directory of the process and of its ACP session. */
  readonly directory: string;
  readonly mcpServers: readonly AgentMcpServer[];
  readonly model: string;
  readonly mode: string;
  /** Added to the agent's own, as `_meta.systemPrompt.append` of its new session: ACP has no field for it. "" for none. */
  readonly systemPrompt: string;
  /** Values that the agent was given and nobody may see: taken out of all that it prints and that is told. */
  readonly secrets: readonly string[];
  readonly log: Log;
  /** The agent's own session to bring back, null to begin a new one. */
  readonly load: string | null;
  /** Aborts the start at whatever step it is (A1). */
  readonly signal: AbortSignal;
  readonly listener: AgentListener;
  /** Resolves when the session can take another message. */
  readonly room: () => Promise<void>;
};

/** An MCP server with its secrets put in. Never stored, never logged. */
export type AgentMcpServer =
  | {
      readonly name: string;
      readonly transport: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    }
  | {
      readonly name: string;
      readonly transport: "http" | "sse";
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    };

/** `message` says which step failed and how; `stderr` is the redacted tail. Nothing of the start is left behind. */
export type StartOutcome =
  | { readonly kind: "ready"; readonly agent: Agent }
  | { readonly kind: "failed"; readonly message: string; readonly stderr: string };

/** What a content update becomes in the event stream. Ids and numbers are put in by the session. */
export type ContentEvent = Extract<
  TurnEvent["event"],
  { case: "messageDelta" | "thoughtDelta" | "toolCall" | "toolCallUpdate" | "plan" | "usage" | "raw" }
>;

/** An agent asks for a permission. `askId` is ours and unique for ever: ACP's ids restart with the process (B6). */
export type PermissionAsk = {
  readonly askId: string;
  /** As far as this request shows it; the session merges it with what it knows of the call. */
  readonly toolCall: ToolCall;
  /** The agent's own name of the tool, "" when the request gives none: part of what a digest covers (C6). */
  readonly toolName: string;
  readonly options: readonly GateOption[];
};

export type PromptResult =
  | { readonly kind: "stopped"; readonly stopReason: string }
  | { readonly kind: "failed"; readonly message: string };

export type AgentExit = { readonly code: number | null; readonly signal: string | null; readonly stderr: string };

/** Called synchronously, in the order in which the agent said it. Must not throw. */
export interface AgentListener {
  update(event: ContentEvent): void;
  asks(ask: PermissionAsk): void;
  /** The agent took a question back (`$/cancel_request`). */
  withdraws(askId: string): void;
  settled(result: PromptResult): void;
  /** The process is gone by itself; not told after `end` was called. */
  exited(exit: AgentExit): void;
  /** A line above the limit was left out (B3). */
  dropped(bytes: number): void;
}

/** ACP's answer to a permission request. */
export type AskOutcome = { readonly kind: "selected"; readonly optionId: string } | { readonly kind: "cancelled" };

export interface Agent {
  readonly instance: string;
  readonly pid: number;
  /** The agent's own session id. */
  readonly sessionId: string;
  /** load: its own session was brought back; new: it starts without memory. */
  readonly tier: Extract<Tier, "load" | "new">;
  readonly canLoad: boolean;
  readonly offers: { readonly models: readonly string[]; readonly modes: readonly string[] };
  /** Writes a prompt. Its result comes through `settled`. One at a time. */
  prompt(blocks: readonly ContentBlock[]): void;
  /** Writes session/cancel. */
  cancel(): void;
  /** Writes the answer, synchronously; false when the question is no longer open or the pipe is gone: then nothing was written. */
  answer(askId: string, outcome: AskOutcome): boolean;
  /** Changes model or mode of the live session; false when the agent refuses. */
  change(change: { readonly model: string | null; readonly mode: string | null }): Promise<boolean>;
  /** Bytes of memory of the whole process tree; 0 when it cannot be told. */
  memoryBytes(): number;
  /** SIGKILL for the whole process tree, in this very step (E4). end() still has to be called. */
  kill(): void;
  /** Ends the process tree (A16) in bounded time. Idempotent; resolves when nothing of it is left. */
  end(): Promise<void>;
}
