// Counting: one function for each thing that can happen, typed so that no label value can be made up.
//
//  M1  Every label set of a counter is there from the start with 0: a panel never says "no data" where the truth is none.
//  M2  No id is ever a label; an agent the catalogue does not name counts as `other`.

import type { ColdReason, EvictionReason, Outcome, RefusalReason, Tier } from "@holdfast/pool";
import type { Attributes, Counter, Histogram, Meter } from "@opentelemetry/api";
import { INSTRUMENTS, type Instrument } from "./instruments.ts";
import {
  type AnswerOutcome,
  type AnswerPath,
  type CheckoutCause,
  type CheckoutOutcome,
  type DeliveryResult,
  type GateOutcome,
  type LookupResult,
  NO_REASON,
  NO_TIER,
  OTHER_AGENT,
  type SettledDisposition,
  SLOT_STATES,
  type SlotState,
  type StoreOperation,
  type StoreResult,
} from "./labels.ts";

export interface PoolReading {
  readonly sessions: Readonly<Partial<Record<SlotState, number>>>;
  readonly capacity: number;
  readonly memoryBytes: number;
}

export interface GatesReading {
  readonly warm: number;
  readonly cold: number;
}

/** Durations are in milliseconds here, whatever they are exported in. `tier` is null where nothing was checked out. */
export interface Metrics {
  checkout(of: { cause: CheckoutCause; outcome: CheckoutOutcome; tier: Tier | null; agent: string }): void;
  coldFall(reason: ColdReason, agent: string): void;
  eviction(reason: EvictionReason, agent: string): void;
  sessionReady(ms: number, of: { outcome: CheckoutOutcome; tier: Tier | null; agent: string }): void;
  gateOpened(agent: string): void;
  /** `waitedMs` is the time since it opened. */
  gateClosed(outcome: GateOutcome, waitedMs: number): void;
  /** `reason` with conflict and refused. */
  answer(outcome: AnswerOutcome, reason?: RefusalReason): void;
  answerSettled(disposition: SettledDisposition, path: AnswerPath): void;
  answerWritten(ms: number, path: AnswerPath): void;
  delivery(result: DeliveryResult): void;
  ownerLookup(result: LookupResult): void;
  storeOperation(ms: number, operation: StoreOperation, result: StoreResult): void;
  turn(outcome: Outcome, agent: string): void;
  /** Read at each collection, from now on; a new incarnation puts its own pool in place of the old one. */
  watchPool(read: () => PoolReading): void;
  watchGates(read: () => GatesReading): void;
  /** Names the catalogue's agents; may be called again. */
  knowAgents(names: readonly string[]): void;
}

const MS_PER_SECOND = 1_000;

type CounterKey = {
  [Key in keyof typeof INSTRUMENTS]: (typeof INSTRUMENTS)[Key]["kind"] extends "counter" ? Key : never;
}[keyof typeof INSTRUMENTS];

export function createMetrics(meter: Meter, agents: readonly string[] = []): Metrics {
  const known = new Set<string>();
  const agentOf = (name: string): string => (known.has(name) ? name : OTHER_AGENT);
  const counters = createCounters(meter);
  const count = (key: CounterKey, labels: Attributes): void => counters[key].add(1, labels);
  const ready = histogram(meter, INSTRUMENTS.readyDuration);
  const gateWait = histogram(meter, INSTRUMENTS.gateWait);
  const answerWrite = histogram(meter, INSTRUMENTS.answerWrite);
  const store = histogram(meter, INSTRUMENTS.storeDuration);
  const knowAgents = (names: readonly string[]): void => {
    for (const agent of names) {
      if (!known.has(agent)) startAtZero(counters, agent);
      known.add(agent);
    }
  };
  startAtZero(counters, null);
  knowAgents([...agents, OTHER_AGENT]);
  return {
    checkout: ({ cause, outcome, tier, agent }) =>
      count("checkouts", { cause, outcome, tier: tier ?? NO_TIER, agent: agentOf(agent) }),
    coldFall: (reason, agent) => count("coldFalls", { reason, agent: agentOf(agent) }),
    eviction: (reason, agent) => count("evictions", { reason, agent: agentOf(agent) }),
    sessionReady: (ms, { outcome, tier, agent }) =>
      ready.record(ms / MS_PER_SECOND, { outcome, tier: tier ?? NO_TIER, agent: agentOf(agent) }),
    gateOpened: (agent) => count("gatesOpened", { agent: agentOf(agent) }),
    gateClosed(outcome, waitedMs) {
      count("gatesClosed", { outcome });
      gateWait.record(waitedMs / MS_PER_SECOND, { outcome });
    },
    answer: (outcome, reason) => count("answers", { outcome, reason: reason ?? NO_REASON }),
    answerSettled: (disposition, path) => count("answersSettled", { disposition, path }),
    answerWritten: (ms, path) => answerWrite.record(ms / MS_PER_SECOND, { path }),
    delivery: (result) => count("deliveries", { result }),
    ownerLookup: (result) => count("ownerLookups", { result }),
    storeOperation: (ms, operation, result) => store.record(ms / MS_PER_SECOND, { operation, result }),
    turn: (outcome, agent) => count("turns", { outcome, agent: agentOf(agent) }),
    watchPool: poolGauges(meter),
    watchGates: gateGauges(meter),
    knowAgents,
  };
}

function createCounters(meter: Meter): Record<CounterKey, Counter> {
  const counters: Record<string, Counter> = {};
  for (const [key, { name, kind, unit, description }] of Object.entries<Instrument>(INSTRUMENTS)) {
    if (kind === "counter") counters[key] = meter.createCounter(name, { unit, description });
  }
  return counters as Record<CounterKey, Counter>;
}

/** M1, for the counters of one agent, or for those that have none. */
function startAtZero(counters: Record<CounterKey, Counter>, agent: string | null): void {
  for (const [key, instrument] of Object.entries<Instrument>(INSTRUMENTS)) {
    if (instrument.kind !== "counter" || instrument.labels.includes("agent") !== (agent !== null)) continue;
    for (const labels of instrument.values ?? []) {
      counters[key as CounterKey].add(0, agent === null ? labels : { ...labels, agent });
    }
  }
}

function histogram(meter: Meter, { name, unit, description, bounds = [] }: Instrument): Histogram {
  return meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: [...bounds] } });
}

/** Without a reader there is no series: a gateway has no pool, and 0 would say that it has an empty one. */
function poolGauges(meter: Meter): Metrics["watchPool"] {
  let read: (() => PoolReading) | null = null;
  const sessions = gauge(meter, INSTRUMENTS.poolSessions);
  const capacity = gauge(meter, INSTRUMENTS.poolCapacity);
  const memory = gauge(meter, INSTRUMENTS.poolMemory);
  meter.addBatchObservableCallback(
    (observe) => {
      if (read === null) return;
      const reading = read();
      for (const state of SLOT_STATES) observe.observe(sessions, reading.sessions[state] ?? 0, { state });
      observe.observe(capacity, reading.capacity);
      observe.observe(memory, reading.memoryBytes);
    },
    [sessions, capacity, memory],
  );
  return (reader) => {
    read = reader;
  };
}

function gateGauges(meter: Meter): Metrics["watchGates"] {
  let read: (() => GatesReading) | null = null;
  const pending = gauge(meter, INSTRUMENTS.gatesPending);
  pending.addCallback((observe) => {
    if (read === null) return;
    const { warm, cold } = read();
    observe.observe(warm, { warm: "true" });
    observe.observe(cold, { warm: "false" });
  });
  return (reader) => {
    read = reader;
  };
}

function gauge(meter: Meter, { name, unit, description }: Instrument) {
  return meter.createObservableGauge(name, { unit, description });
}
