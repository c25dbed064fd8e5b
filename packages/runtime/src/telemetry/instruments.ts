// Every instrument, in one table: name, kind, unit, labels, and the values its labels can have. The meter's instruments,
// the names they are exported under and the reference table are all made from it.

import { COLD_REASONS, EVICTION_REASONS, FINAL_DISPOSITIONS, OUTCOMES, REFUSAL_REASONS } from "@holdfast/pool";
import {
  ANSWER_PATHS,
  CHECKOUT_CAUSES,
  DELIVERY_RESULTS,
  GATE_OUTCOMES,
  LOOKUP_RESULTS,
  NO_REASON,
  NO_TIER,
  SLOT_STATES,
} from "./labels.ts";

export type Labels = Readonly<Record<string, string>>;

export interface Instrument {
  readonly name: `holdfast.${string}`;
  readonly kind: "counter" | "histogram" | "gauge";
  /** In UCUM; in braces where it only says what is counted. */
  readonly unit: string;
  readonly labels: readonly string[];
  readonly description: string;
  /** A counter's label sets, each there from the start with 0; the agent's label is added where it has one. */
  readonly values?: readonly Labels[];
  /** A histogram's bucket bounds. */
  readonly bounds?: readonly number[];
}

/** A warm hit takes milliseconds, a cold start seconds, an agent's start limit a minute. */
const READY_BOUNDS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** People answer in seconds, or after a night. */
const WAIT_BOUNDS_S = [1, 5, 15, 60, 300, 900, 3_600, 4 * 3_600, 12 * 3_600, 86_400, 7 * 86_400];
const STORE_BOUNDS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

const CHECKOUT_RESULTS = [
  { outcome: "warm", tier: "warm" },
  { outcome: "cold", tier: "load" },
  { outcome: "cold", tier: "replay" },
  { outcome: "cold", tier: "new" },
  { outcome: "refused", tier: NO_TIER },
];
/** A conflict has two reasons of its own; a refusal can have any other. */
const CONFLICT_REASONS = ["GATE_ANSWERED_DIFFERENTLY", "IDEMPOTENCY_KEY_REUSED"];

export const INSTRUMENTS = {
  checkouts: {
    name: "holdfast.session.checkouts",
    kind: "counter",
    unit: "{checkout}",
    labels: ["cause", "outcome", "tier", "agent"],
    description: "Processes asked for, by what came of it",
    values: CHECKOUT_CAUSES.flatMap((cause) => CHECKOUT_RESULTS.map((result) => ({ cause, ...result }))),
  },
  coldFalls: {
    name: "holdfast.session.cold_falls",
    kind: "counter",
    unit: "{fall}",
    labels: ["reason", "agent"],
    description: "Times the live process was not usable",
    values: each("reason", COLD_REASONS),
  },
  evictions: {
    name: "holdfast.session.evictions",
    kind: "counter",
    unit: "{eviction}",
    labels: ["reason", "agent"],
    description: "Live processes ended by the pool",
    values: each("reason", EVICTION_REASONS),
  },
  readyDuration: {
    name: "holdfast.session.ready.duration",
    kind: "histogram",
    unit: "s",
    labels: ["outcome", "tier", "agent"],
    description: "Time from the request until the process can be written to",
    bounds: READY_BOUNDS_S,
  },
  poolSessions: {
    name: "holdfast.pool.sessions",
    kind: "gauge",
    unit: "{session}",
    labels: ["state"],
    description: "Slots of the pool",
    values: each("state", SLOT_STATES),
  },
  poolCapacity: {
    name: "holdfast.pool.capacity",
    kind: "gauge",
    unit: "{session}",
    labels: [],
    description: "Slots the pool may have",
  },
  poolMemory: {
    name: "holdfast.pool.memory",
    kind: "gauge",
    unit: "By",
    labels: [],
    description: "Memory of all agents' process trees",
  },
  gatesOpened: {
    name: "holdfast.gates.opened",
    kind: "counter",
    unit: "{gate}",
    labels: ["agent"],
    description: "Gates opened",
    values: [{}],
  },
  gatesClosed: {
    name: "holdfast.gates.closed",
    kind: "counter",
    unit: "{gate}",
    labels: ["outcome"],
    description: "Gates closed",
    values: each("outcome", GATE_OUTCOMES),
  },
  gatesPending: {
    name: "holdfast.gates.pending",
    kind: "gauge",
    unit: "{gate}",
    labels: ["warm"],
    description: "Gates that wait for an answer, with or without their process",
    values: each("warm", ["true", "false"]),
  },
  gateWait: {
    name: "holdfast.gate.wait.duration",
    kind: "histogram",
    unit: "s",
    labels: ["outcome"],
    description: "Time from a gate's opening to its closing",
    bounds: WAIT_BOUNDS_S,
  },
  answers: {
    name: "holdfast.answers",
    kind: "counter",
    unit: "{answer}",
    labels: ["outcome", "reason"],
    description: "Answers received",
    values: [
      { outcome: "accepted", reason: NO_REASON },
      { outcome: "duplicate", reason: NO_REASON },
      ...REFUSAL_REASONS.map((reason) => ({
        outcome: CONFLICT_REASONS.includes(reason) ? "conflict" : "refused",
        reason,
      })),
    ],
  },
  answersSettled: {
    name: "holdfast.answers.settled",
    kind: "counter",
    unit: "{answer}",
    labels: ["disposition", "path"],
    description: "Answers that reached their final disposition",
    values: FINAL_DISPOSITIONS.flatMap((disposition) => ANSWER_PATHS.map((path) => ({ disposition, path }))),
  },
  answerWrite: {
    name: "holdfast.answer.write.duration",
    kind: "histogram",
    unit: "s",
    labels: ["path"],
    description: "Time from an answer's commit until it was written to the agent",
    bounds: READY_BOUNDS_S,
  },
  deliveries: {
    name: "holdfast.commands.deliveries",
    kind: "counter",
    unit: "{attempt}",
    labels: ["result"],
    description: "Attempts to bring a command to its owner",
    values: each("result", DELIVERY_RESULTS),
  },
  ownerLookups: {
    name: "holdfast.owner.lookups",
    kind: "counter",
    unit: "{lookup}",
    labels: ["result"],
    description: "Looks for the owner of a session",
    values: each("result", LOOKUP_RESULTS),
  },
  storeDuration: {
    name: "holdfast.store.operation.duration",
    kind: "histogram",
    unit: "s",
    labels: ["operation", "result"],
    description: "Time of one operation of the store",
    bounds: STORE_BOUNDS_S,
  },
  turns: {
    name: "holdfast.turns",
    kind: "counter",
    unit: "{turn}",
    labels: ["outcome", "agent"],
    description: "Turns that ended",
    values: each("outcome", OUTCOMES),
  },
} as const satisfies Readonly<Record<string, Instrument>>;

/** What a collector adds to a name for its unit. */
const UNIT_SUFFIXES: Readonly<Record<string, string>> = { s: "_seconds", By: "_bytes" };

/**
 * The name an instrument is exported under, everywhere: with its unit, as a collector would write it. The scrape port
 * would leave the unit out, and one set of queries has to fit both.
 */
export function exportedName({ name, unit }: Pick<Instrument, "name" | "unit">): string {
  return `${name}${UNIT_SUFFIXES[unit] ?? ""}`;
}

/** The name Prometheus sees, by either way: dots are underscores, and a counter ends in _total. */
export function prometheusName(instrument: Instrument): string {
  return `${exportedName(instrument).replaceAll(".", "_")}${instrument.kind === "counter" ? "_total" : ""}`;
}

/** The reference table in Markdown, for the documentation and the test that compares the two. */
export function instrumentsTable(): string {
  const rows = Object.values<Instrument>(INSTRUMENTS).map(
    (each) =>
      `| ${each.name} | ${prometheusName(each)} | ${each.kind} | ${each.unit} | ${each.labels.join(", ")} | ${each.description} |`,
  );
  return ["| instrument | in Prometheus | kind | unit | labels | tells |", "|---|---|---|---|---|---|", ...rows].join(
    "\n",
  );
}

function each(label: string, values: readonly string[]): readonly Labels[] {
  return values.map((value) => ({ [label]: value }));
}
