// The matrix gate state x process state x {allow, reject, prompt, stop, expiry}: what stands of gate g1 and of the newest
// execution afterwards, or the refusal. `dead` processes belong to an owner that died: whoever comes settles first (E10).
import { describe, expect, it } from "vitest";
import type { RecordCommand, Writer } from "./command.ts";
import {
  APPROVAL_EXPIRY_MS,
  anAnswer,
  aPrompt,
  aStop,
  claimant,
  GATEWAY,
  gateState,
  HEIR,
  type Ledger,
  named,
  settled,
} from "./test-record.ts";
import * as scenes from "./test-scenes.ts";

const SITUATIONS: Record<string, () => Ledger> = {
  "pending live": () => scenes.parked(),
  "pending cold": () => scenes.parkedCold(),
  "pending dead": () => settled(scenes.parked()),
  "queued live": () => scenes.queued(),
  "queued cold": () => scenes.queuedCold(),
  "queued dead": () => settled(scenes.queued()),
  "stored starting": () => scenes.starting(),
  "stored live": () => scenes.stored(),
  "stored dead": () => settled(scenes.stored()),
  "sending live": () => scenes.sending(),
  "sending dead": () => settled(scenes.sending()),
  "applied live": () => scenes.applied(),
  "applied dead": () => settled(scenes.applied()),
  "delivered idle": () => scenes.delivered(),
  "delivered dead": () => settled(scenes.delivered()),
  "uncertain cold": () => scenes.uncertain(),
  "moot stopping": () => scenes.mooted(),
  "moot dead": () => settled(scenes.mooted()),
  "cancelled stopping": () => scenes.cancelled(),
  "cancelled dead": () => settled(scenes.cancelled()),
  "withdrawn live": () => scenes.withdrawn(),
  "superseded live": () => scenes.superseded(),
  "expired cold": () => scenes.expired(),
};

const INPUTS: Record<string, (ledger: Ledger) => [Writer, RecordCommand]> = {
  allow: () => [GATEWAY, anAnswer("g1", { answerId: "second" })],
  reject: () => [GATEWAY, anAnswer("g1", { choice: { verdict: "reject" }, answerId: "second" })],
  prompt: (ledger) => [
    ledger.record.owner === null ? claimant(ledger, HEIR) : ledger.owner,
    aPrompt("t2", { warm: ledger.record.process !== null }),
  ],
  stop: () => [GATEWAY, aStop({ commandId: "cancel-2" })],
  expiry: (ledger) => {
    ledger.now += APPROVAL_EXPIRY_MS;
    return [ledger.record.owner === null ? GATEWAY : ledger.owner, { type: "expire_gates" }];
  },
};

const MATRIX = `
pending live       | queued queued             | queued queued             | GATES_PENDING      | cancelled stopping      | expired running
pending cold       | queued queued             | queued queued             | GATES_PENDING      | cancelled ended         | expired ended
pending dead       | queued queued             | queued queued             | GATES_PENDING      | cancelled ended         | expired ended
queued live        | queued queued             | GATE_ANSWERED_DIFFERENTLY | TURN_IN_PROGRESS   | moot:cancelled stopping | queued queued
queued cold        | queued queued             | GATE_ANSWERED_DIFFERENTLY | TURN_IN_PROGRESS   | moot:cancelled ended    | queued queued
queued dead        | queued queued             | GATE_ANSWERED_DIFFERENTLY | TURN_IN_PROGRESS   | moot:cancelled ended    | queued queued
stored starting    | stored running            | GATE_ANSWERED_DIFFERENTLY | TURN_IN_PROGRESS   | moot:cancelled stopping | stored running
stored live        | stored running            | GATE_ANSWERED_DIFFERENTLY | TURN_IN_PROGRESS   | moot:cancelled stopping | stored running
stored dead        | queued queued             | GATE_ANSWERED_DIFFERENTLY | TURN_IN_PROGRESS   | moot:cancelled ended    | queued queued
sending live       | sending running           | GATE_ANSWERED_DIFFERENTLY | TURN_IN_PROGRESS   | sending stopping        | sending running
sending dead       | uncertain lost            | GATE_ANSWERED_DIFFERENTLY | uncertain running  | EXECUTION_ENDED         | uncertain lost
applied live       | applied running           | GATE_ANSWERED_DIFFERENTLY | TURN_IN_PROGRESS   | applied stopping        | applied running
applied dead       | applied lost              | GATE_ANSWERED_DIFFERENTLY | applied running    | EXECUTION_ENDED         | applied lost
delivered idle     | delivered ended           | GATE_ANSWERED_DIFFERENTLY | delivered running  | EXECUTION_ENDED         | delivered ended
delivered dead     | delivered ended           | GATE_ANSWERED_DIFFERENTLY | delivered running  | EXECUTION_ENDED         | delivered ended
uncertain cold     | uncertain lost            | GATE_ANSWERED_DIFFERENTLY | uncertain running  | EXECUTION_ENDED         | uncertain lost
moot stopping      | moot:cancelled stopping   | GATE_ANSWERED_DIFFERENTLY | TURN_IN_PROGRESS   | moot:cancelled stopping | moot:cancelled stopping
moot dead          | moot:cancelled ended      | GATE_ANSWERED_DIFFERENTLY | moot:cancelled running | EXECUTION_ENDED     | moot:cancelled ended
cancelled stopping | GATE_CANCELLED            | GATE_CANCELLED            | TURN_IN_PROGRESS   | cancelled stopping      | cancelled stopping
cancelled dead     | GATE_CANCELLED            | GATE_CANCELLED            | cancelled running  | EXECUTION_ENDED         | cancelled ended
withdrawn live     | GATE_CANCELLED            | GATE_CANCELLED            | TURN_IN_PROGRESS   | withdrawn stopping      | withdrawn running
superseded live    | GATE_SUPERSEDED           | GATE_SUPERSEDED           | GATES_PENDING      | superseded stopping     | superseded running
expired cold       | GATE_EXPIRED              | GATE_EXPIRED              | expired running    | EXECUTION_ENDED         | expired ended
`;

const ROWS = MATRIX.trim()
  .split("\n")
  .flatMap((row) => {
    const [situation = "", ...outcomes] = row.split("|").map((cell) => cell.trim());
    return Object.keys(INPUTS).map((input, at): [string, string, string] => [situation, input, outcomes[at] ?? ""]);
  });

describe("gate state x process state x input", () => {
  it.each(ROWS)("%s, %s: %s", (situation, input, outcome) => {
    const ledger = named(SITUATIONS, situation)();
    const [by, given] = named(INPUTS, input)(ledger);
    const decision = ledger.give(by, given);
    const { record } = ledger;
    if (decision.kind === "refused") expect(decision.refusal.reason).toBe(outcome);
    else expect(`${gateState(record, "g1")} ${record.execution?.state}`).toBe(outcome);
  });

  it("covers every situation with every input", () => {
    expect(ROWS.length).toBe(Object.keys(SITUATIONS).length * Object.keys(INPUTS).length);
    expect(ROWS.every(([, , outcome]) => outcome !== "")).toBe(true);
  });
});
