// One live process of a session, and what its lane knows about it. Dropped as a whole when the process goes.

import { UnfinishedCalls } from "@holdfast/ledger";
import type { GateOption } from "@holdfast/pool";
import type { ToolCall } from "@holdfast/proto";
import type { Agent } from "../acp/agent.ts";
import { MessageInProgress } from "./message.ts";

/** A gate this process holds open: which of its questions it is. */
export type OpenQuestion = {
  readonly askId: string;
  readonly toolCallId: string;
  readonly options: readonly GateOption[];
};

export class Live {
  readonly agent: Agent;
  /** By gate id. */
  readonly questions = new Map<string, OpenQuestion>();
  /** Tool calls as merged from their announcement and updates, by tool-call id; of the turn that runs. */
  readonly calls = new Map<string, ToolCall>();
  /** Tool calls whose gate's answer was written and not reported on: tool-call id to gate id. */
  readonly written = new Map<string, string>();
  readonly unfinished = new UnfinishedCalls();
  readonly message = new MessageInProgress();
  /** Whether anything of the running prompt was shown (A18). */
  shown = false;
  prompting = false;

  constructor(agent: Agent) {
    this.agent = agent;
  }

  /** A new prompt: nothing of the last one is left. */
  beginPrompt(): void {
    this.questions.clear();
    this.calls.clear();
    this.written.clear();
    this.unfinished.clear();
    this.shown = false;
    this.prompting = true;
  }
}
