// A caller of the public API, in the words of the tests: runs turns, waits for what it is told, answers.

import { inspect } from "node:util";
import type { Refusal } from "@holdfast/pool";
import {
  type Gate,
  GateState,
  type Session,
  type SessionService,
  SessionState,
  type TurnEvent,
  Verdict,
} from "@holdfast/proto";
import { type CallOptions, fromServiceError, type RpcMethods } from "@holdfast/wire";

type Api = RpcMethods<typeof SessionService>;
type RunTurnInit = Parameters<Api["runTurn"]>[0];
type RespondInit = Parameters<Api["respondApproval"]>[0];
type Metadata = NonNullable<CallOptions["metadata"]>;
type Told = Exclude<TurnEvent["event"], { case: undefined }>;
type EventCase = Told["case"];
type ValueOf<C extends EventCase> = Extract<Told, { case: C }>["value"];

/** Generous: guards against hanging, measures nothing. */
export const CALL_BOUND_MS = 60_000;
const WATCH_BOUND_MS = 120_000;

export class Caller {
  readonly api: Api;
  private readonly metadata: Metadata | undefined;

  constructor(api: Api, metadata: Metadata | undefined) {
    this.api = api;
    this.metadata = metadata;
  }

  options(boundMs = CALL_BOUND_MS): CallOptions {
    return { deadlineMs: Date.now() + boundMs, ...(this.metadata === undefined ? {} : { metadata: this.metadata }) };
  }

  /** Runs a turn to the end of its stream: its last event is `parked` or `ended`. */
  async turn(sessionId: string, text: string, more: RunTurnInit = {}): Promise<TurnSeen> {
    const events: TurnEvent[] = [];
    for await (const event of this.stream(sessionId, text, more)) events.push(event);
    return new TurnSeen(events);
  }

  /** The stream itself, for a caller that leaves early. */
  async *stream(
    sessionId: string,
    text: string,
    more: RunTurnInit = {},
    signal?: AbortSignal,
  ): AsyncGenerator<TurnEvent> {
    const request = {
      sessionId,
      agent: "scripted",
      prompt: [{ block: { case: "text" as const, value: { text } } }],
      ...more,
    };
    const options = signal === undefined ? this.options() : { ...this.options(), signal };
    for await (const { event } of this.api.runTurn(request, options)) if (event !== undefined) yield event;
  }

  /** The refusal of a turn that must not begin. */
  refusedTurn(sessionId: string, text: string, more: RunTurnInit = {}): Promise<Refusal> {
    return refusalOf(this.turn(sessionId, text, more));
  }

  answer(sessionId: string, gateId: string, more: RespondInit = {}) {
    const decision = more.decision ?? { case: "verdict" as const, value: Verdict.ALLOW };
    return this.api.respondApproval({ sessionId, gateId, ...more, decision }, this.options());
  }

  allow(sessionId: string, gateId: string) {
    return this.answer(sessionId, gateId);
  }

  reject(sessionId: string, gateId: string, note = "") {
    return this.answer(sessionId, gateId, { decision: { case: "verdict", value: Verdict.REJECT }, note });
  }

  stop(sessionId: string, more: Parameters<Api["cancelTurn"]>[0] = {}) {
    return this.api.cancelTurn({ sessionId, ...more }, this.options());
  }

  async session(sessionId: string): Promise<Session> {
    const { session } = await this.api.getSession({ sessionId }, this.options());
    if (session === undefined) throw new Error(`no session in the reply for ${sessionId}`);
    return session;
  }

  /** The gate on which the session has parked, other than those: waited for, since no stream tells of a second park. */
  async parkedOn(sessionId: string, ...others: readonly string[]): Promise<string> {
    const fresh = ({ gates }: Session) =>
      gates.find(({ gateId, state }) => state === GateState.PENDING && !others.includes(gateId))?.gateId;
    const parked = await eventually(
      `${sessionId} parked on another gate`,
      () => this.session(sessionId),
      (session) => session.state === SessionState.PARKED && fresh(session) !== undefined,
    );
    return fresh(parked) ?? "";
  }

  /** The inbox's gates of one session. */
  async inbox(sessionId: string): Promise<readonly Gate[]> {
    const { gates } = await this.api.listApprovals({ filter: { sessionId } }, this.options());
    return gates;
  }

  /** Events from a cursor until one satisfies; the snapshot is the first. Fails loudly after a bound. */
  async watchUntil(sessionId: string, afterSeq: number, until: (event: TurnEvent) => boolean): Promise<TurnSeen> {
    const seen: TurnEvent[] = [];
    try {
      for await (const { event } of this.api.watchSession(
        { sessionId, afterSeq: BigInt(afterSeq) },
        this.options(WATCH_BOUND_MS),
      )) {
        if (event === undefined) continue;
        seen.push(event);
        if (until(event)) return new TurnSeen(seen);
      }
    } catch (error) {
      throw new Error(`watch of ${sessionId} saw only ${seen.map(({ event }) => event.case).join(" ")}`, {
        cause: error,
      });
    }
    throw new Error(`the watch of ${sessionId} ended by itself`);
  }

  /** The end of a turn, watched from the session's first event. */
  ended(sessionId: string, turnId: string): Promise<TurnSeen> {
    return this.watchUntil(sessionId, 0, (event) => event.turnId === turnId && event.event.case === "ended");
  }
}

/** What a stream told, by kind. */
export class TurnSeen {
  readonly events: readonly TurnEvent[];

  constructor(events: readonly TurnEvent[]) {
    this.events = events;
  }

  of<C extends EventCase>(kind: C): readonly ValueOf<C>[] {
    return this.events.flatMap(({ event }) => (event.case === kind ? [event.value as ValueOf<C>] : []));
  }

  one<C extends EventCase>(kind: C): ValueOf<C> {
    const [value, ...others] = this.of(kind);
    if (value === undefined || others.length > 0) {
      throw new Error(`${others.length + (value === undefined ? 0 : 1)} of ${kind} among ${this.kinds.join(" ")}`);
    }
    return value;
  }

  get kinds(): readonly (EventCase | undefined)[] {
    return this.events.map(({ event }) => event.case);
  }

  get last(): EventCase | undefined {
    return this.kinds.at(-1);
  }

  get turnId(): string {
    return this.events.at(-1)?.turnId ?? "";
  }

  /** Ids of the gates that opened, in order. */
  get gateIds(): readonly string[] {
    return this.of("gateOpened").map(({ gate }) => gate?.gateId ?? "");
  }

  get gateId(): string {
    const [id, ...others] = this.gateIds;
    if (id === undefined || others.length > 0)
      throw new Error(`gates: ${this.gateIds.length} among ${this.kinds.join(" ")}`);
    return id;
  }

  /** Everything the agent said in durable messages. */
  get text(): string {
    return this.of("message")
      .flatMap(({ content }) => content)
      .map(({ block }) => (block.case === "text" ? block.value.text : ""))
      .join("\n");
  }
}

/** The refusal that a call ends with. Throws when it succeeds, or fails without one. */
export async function refusalOf(call: Promise<unknown>): Promise<Refusal> {
  try {
    await call;
  } catch (error) {
    const refusal = fromServiceError(error);
    if (refusal === null) throw error;
    return refusal;
  }
  throw new Error("the call was not refused");
}

/** Looks until it holds; the bound guards against hanging. For what no event tells. */
export async function eventually<T>(
  what: string,
  look: () => T | Promise<T>,
  holds: (value: T) => boolean = Boolean,
): Promise<T> {
  const endsAt = Date.now() + CALL_BOUND_MS;
  for (;;) {
    const value = await look();
    if (holds(value)) return value;
    if (Date.now() >= endsAt) throw new Error(`never: ${what}; last seen ${inspect(value, { depth: 4 })}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
