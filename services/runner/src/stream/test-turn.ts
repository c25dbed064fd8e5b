// For tests: one session's record and feed, as its lane would have them, and a stream that follows its turn.
import { create } from "@bufbuild/protobuf";
import type { Held } from "@holdfast/ledger";
import type { ExecutionState, Gate, SessionRecord } from "@holdfast/pool";
import type { TurnEvent } from "@holdfast/proto";
import { ContinuedSchema, EndedSchema, GateAnsweredSchema, GateClosedSchema, GateOpenedSchema } from "@holdfast/proto";
import { ManualClock } from "@holdfast/runtime";
import { type Followed, followTurn } from "./follow.ts";
import { type EventCase, FedLog } from "./test-feed.ts";

const STARTED = { case: "started", value: {} } as unknown as EventCase;
const PROMPT = { case: "prompt", value: {} } as unknown as EventCase;

/** What follow looks at of a gate. */
type Pending = Pick<Gate, "gateId" | "callSeq" | "state">;

export class TurnInHand implements Followed {
  readonly clock = new ManualClock();
  readonly world = { clock: this.clock };
  readonly log = new FedLog();
  readonly feed = this.log.feed;
  held: Held | null = null;
  private gates: readonly Pending[] = [];

  constructor() {
    this.record("running");
    this.log.durable(PROMPT);
    this.log.durable(STARTED);
  }

  /** The call is in the log, then the gate in the record, then it is told. */
  openGate(gateId: string, toldToo = true): void {
    const callSeq = this.log.durable();
    this.gates = [...this.gates, { gateId, callSeq, state: { kind: "pending" } }];
    this.record("parked");
    if (toldToo) this.tellOpened(gateId);
  }

  tellOpened(gateId: string): void {
    this.log.durable({ case: "gateOpened", value: create(GateOpenedSchema, { gate: { gateId } }) });
  }

  /** An answer is on its way: the execution is not parked until it is admitted. */
  answer(gateId: string): void {
    this.gates = this.gates.filter((gate) => gate.gateId !== gateId);
    this.record("queued");
    this.log.durable({ case: "gateAnswered", value: create(GateAnsweredSchema, { gateId }) });
  }

  admit(): void {
    this.record(this.gates.length > 0 ? "parked" : "running");
    this.log.durable({ case: "continued", value: create(ContinuedSchema, {}) });
  }

  /** The answer turned out to be moot: the record parks again, and no event says so. */
  moot(): void {
    this.record(this.gates.length > 0 ? "parked" : "running");
  }

  closeGate(gateId: string): void {
    this.gates = this.gates.filter((gate) => gate.gateId !== gateId);
    this.record(this.gates.length > 0 ? "parked" : "running");
    this.log.durable({ case: "gateClosed", value: create(GateClosedSchema, { gateId }) });
  }

  end(): void {
    this.gates = [];
    this.record("ended");
    this.log.durable({ case: "ended", value: create(EndedSchema, {}) });
  }

  follow(fields: { untilParked?: boolean; afterSeq?: number } = {}): Stream {
    const gone = new AbortController();
    const wanted = { turnId: "t1", afterSeq: 0, untilParked: true, signal: gone.signal, ...fields };
    return new Stream(followTurn(this, wanted), gone);
  }

  /** What follow looks at of a record. */
  private record(state: ExecutionState): void {
    const turn = { turnId: "t1" };
    const execution = { number: 1, turnId: "t1", parent: null, state, parkedAt: null };
    const record = { turn, execution, gates: this.gates } as unknown as SessionRecord;
    this.held = { revision: 1, record };
  }
}

/** A client that reads at once whatever comes. */
export class Stream {
  readonly got: TurnEvent[] = [];
  readonly gone: AbortController;
  readonly over: Promise<void>;
  isOver = false;

  constructor(events: AsyncIterable<TurnEvent>, gone: AbortController) {
    this.gone = gone;
    this.over = this.read(events);
  }

  get cases(): readonly (string | undefined)[] {
    return this.got.map(({ event }) => event.case);
  }

  get last(): EventCase | undefined {
    return this.got.at(-1)?.event;
  }

  private async read(events: AsyncIterable<TurnEvent>): Promise<void> {
    try {
      for await (const event of events) this.got.push(event);
    } finally {
      this.isOver = true;
    }
  }
}
