// What is told of one session: spans, counters and log lines, in one place, so that the lane's code stays free of them.
// What the record says is told from the record: `recorded` compares it before and after each swap.
//
//   invoke_agent          one for each execution: from its prompt, or from the answer that continues it
//     execute_tool        one for each tool call
//     session.park        from the first open gate until nothing is waited for
//   session.checkout      finding a process; session.continue: an answer on its way to the agent
//   session.evict         a trace of its own, linked to the last execution
import type { ColdReason, EvictionReason, Gate, SessionKey, SessionRecord, Tier, Tombstone } from "@holdfast/pool";
import { type ToolCall, ToolCallStatus } from "@holdfast/proto";
import type { Clock, Log, OpenSpan, Telemetry } from "@holdfast/runtime";

export type CheckoutOutcome =
  | { readonly kind: "warm" }
  | { readonly kind: "cold"; readonly reason: ColdReason }
  | { readonly kind: "refused"; readonly reason: string }
  /** Not decided yet: the same checkout asks again. */
  | { readonly kind: "waits" };

export type ObserverWorld = { readonly telemetry: Telemetry; readonly log: Log; readonly clock: Clock };

type Cause = "prompt" | "answer";

export class SessionObserver {
  private readonly telemetry: Telemetry;
  private readonly log: Log;
  private readonly clock: Clock;
  private readonly session: { readonly project: string; readonly session: string };
  private agent = "";
  private execution: OpenSpan<"invoke_agent"> | null = null;
  private lastExecution = "";
  private park: OpenSpan<"holdfast.session.park"> | null = null;
  /** By tool-call id, of this execution; null: it is over. */
  private readonly tools = new Map<string, OpenSpan<"execute_tool"> | null>();
  private checkedOutAt = 0;

  constructor({ telemetry, log, clock }: ObserverWorld, key: SessionKey) {
    this.telemetry = telemetry;
    this.clock = clock;
    this.session = { project: key.project, session: key.sessionId };
    this.log = log.with(this.session);
  }

  /** One checkout; its span ends with what came of it. */
  checkout<T extends { readonly seen: CheckoutOutcome }>(
    agent: string,
    cause: Cause,
    run: () => Promise<T>,
  ): Promise<T> {
    this.agent = agent;
    this.checkedOutAt = this.clock.monotonicMs();
    return this.telemetry.span("holdfast.session.checkout", { ...this.session, agent, cause }, async (span) => {
      const result = await run();
      const { seen } = result;
      if (seen.kind === "waits") return result;
      const coldReason = seen.kind === "cold" ? seen.reason : null;
      span.set({ outcome: seen.kind, coldReason, ...(seen.kind === "warm" ? { tier: "warm" } : {}) });
      if (seen.kind === "cold") this.log.info("cold_fall", { reason: seen.reason, agent });
      else if (seen.kind === "warm") {
        this.log.info("warm_hit", { agent });
        this.telemetry.metrics.checkout({ cause, outcome: "warm", tier: "warm", agent });
        this.telemetry.metrics.sessionReady(this.sinceCheckout(), { outcome: "warm", tier: "warm", agent });
      } else this.telemetry.metrics.checkout({ cause, outcome: "refused", tier: null, agent });
      if (seen.kind === "cold") this.telemetry.metrics.coldFall(seen.reason, agent);
      return result;
    });
  }

  /** A cold start is done. */
  ready(cause: Cause, tier: Tier, coldReason: ColdReason, pid: number): void {
    const { agent } = this;
    this.telemetry.metrics.checkout({ cause, outcome: "cold", tier, agent });
    this.telemetry.metrics.sessionReady(this.sinceCheckout(), { outcome: "cold", tier, agent });
    this.log.info("agent.ready", { tier, reason: coldReason, agent, pid });
  }

  private sinceCheckout(): number {
    return this.clock.monotonicMs() - this.checkedOutAt;
  }

  /** An execution begins here, as a part of the call we are in. Gives its traceparent, for the agent's environment. */
  beginExecution(turn: string, execution: number, parent?: string): string {
    this.endExecution("");
    const links = this.lastExecution === "" ? [] : [this.lastExecution];
    const { agent } = this;
    this.execution = this.telemetry.start(
      "invoke_agent",
      { ...this.session, agent, turn, execution },
      { links, ...(parent === undefined ? {} : { parent }) },
    );
    this.lastExecution = this.execution.traceparent;
    return this.execution.traceparent;
  }

  private endExecution(stopReason: string): void {
    this.endPark();
    for (const span of this.tools.values()) span?.end();
    this.tools.clear();
    if (stopReason !== "") this.execution?.set({ stopReason });
    this.execution?.end();
    this.execution = null;
  }

  /** A call that is over may be spoken of again, and an id may come back for another call: one span for each. */
  tool({ id, kind, status }: ToolCall): void {
    if (this.execution === null) return;
    const isOver = status === ToolCallStatus.COMPLETED || status === ToolCallStatus.FAILED;
    const known = this.tools.get(id);
    if (known === null && isOver) return;
    const attributes = { ...this.session, tool: kind || "other", toolCall: id };
    const span = known ?? this.telemetry.start("execute_tool", attributes, { parent: this.execution.traceparent });
    this.tools.set(id, isOver ? null : span);
    if (!isOver) return;
    span.set({ status: status === ToolCallStatus.COMPLETED ? "completed" : "failed" });
    span.end();
  }

  /** An answer is admitted: its way to the agent, as a part of the trace of whoever answered. */
  continued<T>(gate: string, command: string, traceparent: string, run: () => T): T {
    const links = this.lastExecution === "" ? [] : [this.lastExecution];
    const attributes = { ...this.session, agent: this.agent, gate, command, tier: "warm" as const };
    return this.telemetry.span("holdfast.session.continue", attributes, run, {
      links,
      ...(traceparent === "" ? {} : { parent: traceparent }),
    });
  }

  answerWritten(gate: string, answeredAt: number): void {
    this.telemetry.metrics.answerWritten(Math.max(0, this.clock.now() - answeredAt), "warm");
    this.log.info("continue", { gate, tier: "warm" });
  }

  evicted(reason: EvictionReason): void {
    const attributes = { ...this.session, agent: this.agent, reason };
    this.telemetry.linkedRootSpan("holdfast.session.evict", attributes, this.lastExecution, () => undefined);
    this.telemetry.metrics.eviction(reason, this.agent);
    this.log.info("evict", { reason, agent: this.agent });
  }

  gateRefused(reason: string): void {
    this.log.warn("gate.refused", { reason, agent: this.agent });
  }

  /** The session is not this runner's any more: what is still open of it ends here, as far as we can tell. */
  left(): void {
    this.endExecution("");
  }

  /** What a swap changed, ours or another's that we learned of. */
  recorded(before: SessionRecord | null, after: SessionRecord): void {
    for (const gate of after.gates) if (!before?.gates.some(({ gateId }) => gateId === gate.gateId)) this.opened(gate);
    const known = new Set(before?.tombstones.map(({ gateId }) => gateId));
    for (const tombstone of after.tombstones) if (!known.has(tombstone.gateId)) this.closed(tombstone);
    const parked = after.execution?.state === "parked";
    if (parked && before?.execution?.state !== "parked") this.beginPark(after);
    if (!parked) this.endPark();
    const ending = after.turn?.ending;
    if (ending && (before === null || before.turn?.turnId !== after.turn?.turnId || before.turn?.ending === null)) {
      const { outcome, stopReason } = ending;
      this.log.info("turn.ended", { outcome, reason: stopReason, turn: after.turn?.turnId ?? "" });
      this.telemetry.metrics.turn(outcome, this.agent);
      this.endExecution(stopReason);
    }
  }

  private opened({ gateId, turnId }: Gate): void {
    this.telemetry.metrics.gateOpened(this.agent);
    this.log.info("gate.opened", { gate: gateId, turn: turnId });
  }

  private closed({ gateId, state, openedAt, closedAt }: Tombstone): void {
    const waited = Math.max(0, closedAt - openedAt);
    if (state.kind === "closed") {
      this.telemetry.metrics.gateClosed(state.why === "expired" ? "expired" : "cancelled", waited);
      this.log.info("gate.closed", { gate: gateId, reason: state.why });
      return;
    }
    const { verdict, disposition, at, answerId } = state.answer;
    this.telemetry.metrics.gateClosed(verdict === "allow" ? "allowed" : "rejected", Math.max(0, at - openedAt));
    const { kind } = disposition;
    if (kind === "queued" || kind === "stored" || kind === "sending") return;
    this.telemetry.metrics.answerSettled(kind, "warm");
    this.log.info(kind === "uncertain" ? "uncertain" : "gate.closed", {
      gate: gateId,
      answer: answerId,
      disposition: kind,
    });
  }

  private beginPark({ gates, turn }: SessionRecord): void {
    if (this.park !== null) return;
    const options = this.execution === null ? {} : { parent: this.execution.traceparent };
    const pending = gates.filter(({ state }) => state.kind === "pending").length;
    this.park = this.telemetry.start(
      "holdfast.session.park",
      { ...this.session, agent: this.agent, gates: pending },
      options,
    );
    this.log.info("park", { turn: turn?.turnId ?? "", count: pending });
  }

  private endPark(): void {
    this.park?.end();
    this.park = null;
  }
}
