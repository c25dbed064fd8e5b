// One live process of a session, and what its lane knows about it. Dropped as a whole when the process goes.

import { UnfinishedCalls } from "@holdfast/ledger";
import type { GateOption } from "@holdfast/pool";
import { type ToolCall, ToolCallStatus } from "@holdfast/proto";
import type { Agent } from "../acp/agent.ts";
import { MessageInProgress } from "./message.ts";

/** Tool calls that one prompt may have open at once. */
export const OPEN_CALLS = 1_024;

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
  /** Open tool calls as merged from their announcement and updates, by tool-call id; an id may come again when one is over. */
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

  /** What is known of a call, for its updates and its gate; false when that would be more than OPEN_CALLS. */
  remember(call: ToolCall): boolean {
    if (call.status === ToolCallStatus.COMPLETED || call.status === ToolCallStatus.FAILED) {
      this.calls.delete(call.id);
      return true;
    }
    // What a gate shows is the call, not what it has brought so far.
    this.calls.set(call.id, { ...call, content: [], rawOutputJson: "" });
    return this.calls.size <= OPEN_CALLS;
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
