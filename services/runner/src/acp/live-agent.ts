// An agent whose session is ready: prompts, cancels and answers go in, and its end is seen whichever way it comes.
//
//   exits by itself      ──▶ the rest of its tree is killed, what it said last is told (bounded), then `exited`
//   closes its stdout    ──▶ it cannot be heard any more: ended, then `exited`
//   end() or kill()      ──▶ nothing more is told

import { methods } from "@agentclientprotocol/sdk";
import { create } from "@bufbuild/protobuf";
import { type ContentBlock, UsageSchema } from "@holdfast/proto";
import { redact, systemClock } from "@holdfast/runtime";
import { toPlainBlock } from "@holdfast/wire";
import { isDoneWithin, type ProcessTree } from "../process/index.ts";
import type { Agent, AgentStart, AskOutcome, PromptResult } from "./agent.ts";
import type { AgentConnection } from "./connection.ts";
import { describeFailure } from "./failure.ts";
import type { Hearing } from "./hearing.ts";
import type { OpenedSession } from "./open-session.ts";
import { idsOf, type Selection, select } from "./selectors.ts";
import { promptResponseShape } from "./shapes.ts";
import { stderrTail } from "./stderr-tail.ts";

/** How long what a process said last is read after its exit: others may hold its pipes open. */
const EXIT_DRAIN_MS = 500;
/** How long a process that closed its stdout has to exit by itself. */
const SILENT_EXIT_MS = 1_000;
/** How long an agent has to change its mode or model. */
const CHANGE_MS = 10_000;

export type LiveParts = {
  readonly start: AgentStart;
  readonly tree: ProcessTree;
  readonly connection: AgentConnection;
  readonly hearing: Hearing;
  readonly opened: OpenedSession;
};

export class LiveAgent implements Agent {
  readonly instance: string;
  readonly pid: number;
  readonly sessionId: string;
  readonly tier: "load" | "new";
  readonly canLoad: boolean;
  readonly offers: { readonly models: readonly string[]; readonly modes: readonly string[] };
  readonly #parts: LiveParts;
  #isPrompting = false;
  #isEnding = false;

  constructor(parts: LiveParts) {
    const { start, tree, opened } = parts;
    this.instance = start.instance;
    this.pid = tree.pid;
    this.sessionId = opened.sessionId;
    this.tier = opened.tier;
    this.canLoad = opened.canLoad;
    this.offers = { models: idsOf(opened.selectors.model), modes: idsOf(opened.selectors.mode) };
    this.#parts = parts;
    this.#seeItGo().catch((error: unknown) => start.log.error("agent.exit", { error, ...this.#named }));
  }

  prompt(blocks: readonly ContentBlock[]): void {
    if (this.#isPrompting) throw new Error("one prompt at a time: the last one has not settled");
    this.#isPrompting = true;
    const { connection, hearing } = this.#parts;
    hearing.prompted();
    const params = { sessionId: this.sessionId, prompt: blocks.map(toPlainBlock) };
    connection.request(methods.agent.session.prompt, params).then(
      (response) => this.#settle(() => this.#readResponse(response)),
      (error: unknown) => this.#settle(() => this.#failed(describeFailure(error))),
    );
  }

  cancel(): void {
    this.#parts.connection.notify(methods.agent.session.cancel, { sessionId: this.sessionId });
  }

  answer(askId: string, outcome: AskOutcome): boolean {
    return this.#parts.connection.answer(askId, outcome);
  }

  async change(change: { readonly model: string | null; readonly mode: string | null }): Promise<boolean> {
    const { mode, model } = this.#parts.opened.selectors;
    const wanted = [
      ...(change.model === null ? [] : [select(model, this.sessionId, change.model)]),
      ...(change.mode === null ? [] : [select(mode, this.sessionId, change.mode)]),
    ];
    const selections = wanted.filter((selection) => selection !== null);
    if (selections.length < wanted.length) return false;
    for (const selection of selections) {
      if (!(await this.#isSelected(selection))) return false;
    }
    return true;
  }

  memoryBytes(): number {
    return this.#parts.tree.memoryBytes();
  }

  kill(): void {
    this.#parts.hearing.close();
    this.#parts.tree.kill();
  }

  async end(): Promise<void> {
    const { hearing, connection, tree, start } = this.#parts;
    this.#isEnding = true;
    hearing.close();
    connection.close();
    const { left } = await tree.end();
    hearing.noise.sumUp();
    if (left.length > 0) start.log.error("agent.exit", { reason: "left", count: left.length, ...this.#named });
  }

  get #named() {
    return { agent: this.#parts.start.agentName, instance: this.instance, pid: this.pid };
  }

  /** What a process that is going still had to say is told by its exit alone. */
  #settle(result: () => PromptResult): void {
    if (this.#parts.connection.isClosed) return;
    this.#isPrompting = false;
    this.#parts.hearing.settled(result());
  }

  #readResponse(response: unknown): PromptResult {
    const parsed = promptResponseShape.safeParse(response);
    if (!parsed.success) return this.#failed("the agent's answer to the prompt is malformed");
    const { stopReason, usage } = parsed.data;
    if (usage !== undefined) {
      const { inputTokens = 0, outputTokens = 0, totalTokens = 0 } = usage;
      const counted = {
        inputTokens: BigInt(inputTokens),
        outputTokens: BigInt(outputTokens),
        totalTokens: BigInt(totalTokens),
      };
      this.#parts.hearing.tells({ case: "usage", value: create(UsageSchema, counted) });
    }
    return { kind: "stopped", stopReason };
  }

  #failed(message: string): PromptResult {
    return { kind: "failed", message: redact(message, this.#parts.start.secrets) };
  }

  async #isSelected({ method, params }: Selection): Promise<boolean> {
    const { connection, start } = this.#parts;
    try {
      return await isDoneWithin(connection.request(method, params), CHANGE_MS, systemClock);
    } catch (error) {
      start.log.warn("agent.noise", { reason: "change_refused", path: method, ...this.#named, error });
      return false;
    }
  }

  async #seeItGo(): Promise<void> {
    const { tree, connection, hearing, start } = this.#parts;
    await Promise.race([tree.exited, connection.closed]);
    if (!(await isDoneWithin(tree.exited, SILENT_EXIT_MS, systemClock))) await tree.end();
    const { code, signal } = await tree.exited;
    // Whoever is left lost the only one through whom it could ask, and be stopped: what it does next nobody allowed (P5).
    if (!this.#isEnding) tree.kill();
    await isDoneWithin(Promise.all([connection.closed, tree.stderr.ended]), EXIT_DRAIN_MS, systemClock);
    start.log.info("agent.exit", { exit_code: code, signal, ...this.#named });
    hearing.exited({ code, signal, stderr: stderrTail(tree, start.secrets) });
    await this.end();
  }
}
