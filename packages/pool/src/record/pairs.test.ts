// Every gate state met by every command: what stands of gate g1 afterwards. A name in capitals is the refusal, `=` means
// that nothing is to be written. Rows are the scenes of test-scenes.ts.
import { describe, expect, it } from "vitest";
import type { RecordCommand, Writer } from "./command.ts";
import {
  APPROVAL_EXPIRY_MS,
  aGate,
  aLoss,
  anAdmission,
  anAnswer,
  aSettlement,
  aStop,
  GATEWAY,
  gateState,
  HEIR,
  type Ledger,
  named,
  OWNER,
} from "./test-record.ts";
import * as scenes from "./test-scenes.ts";

const SCENES: Record<string, () => Ledger> = scenes;

/** The owner of the scene, or the runner that was it once, at the last epoch it knew. */
function owner(ledger: Ledger): Writer {
  const { owner: held, epoch } = ledger.record;
  return held === null ? { kind: "owner", incarnation: OWNER.incarnation, epoch: epoch - 1 } : ledger.owner;
}

/** The process of the scene asks for the very call of g1 once more. */
const again = (ledger: Ledger) =>
  aGate("g9", { digest: "digest of g1", instance: ledger.record.process?.instance ?? "p9" });

const COMMANDS: Record<string, (ledger: Ledger) => [Writer, RecordCommand]> = {
  allow: () => [GATEWAY, anAnswer("g1", { answerId: "later" })],
  reject: () => [GATEWAY, anAnswer("g1", { choice: { verdict: "reject" } })],
  unoffered: () => [GATEWAY, anAnswer("g1", { choice: { optionId: "nonsense" } })],
  misread: () => [GATEWAY, anAnswer("g1", { digest: "of another call", choice: { optionId: "nonsense" } })],
  stop: () => [GATEWAY, aStop({ commandId: "cancel-2" })],
  asked: (ledger) => [owner(ledger), again(ledger)],
  asked_new: (ledger) => [owner(ledger), { ...again(ledger), instance: "p9" }],
  admit: (ledger) => [owner(ledger), anAdmission(ledger, "g1", "gate_open")],
  attempt: () => [GATEWAY, { type: "attempt", commandId: "command-g1" }],
  returned: () => [GATEWAY, { type: "return_attempt", commandId: "command-g1" }],
  hand_back: (ledger) => [owner(ledger), { type: "hand_back", gateId: "g1" }],
  report: (ledger) => [owner(ledger), { type: "report_answer", gateId: "g1" }],
  withdraw: (ledger) => [owner(ledger), { type: "withdraw_gate", gateId: "g1" }],
  expire: (ledger) => {
    ledger.now += APPROVAL_EXPIRY_MS;
    return [ledger.record.owner === null ? GATEWAY : ledger.owner, { type: "expire_gates" }];
  },
  settle: (ledger) => [owner(ledger), aSettlement()],
  lose: (ledger) => [owner(ledger), aLoss()],
  replace: (ledger) => [owner(ledger), aLoss({ release: false })],
  evict: (ledger) => [owner(ledger), { type: "mark_cold", reason: "memory" }],
  dead: (ledger) => [GATEWAY, { type: "settle_ownerless", dead: ledger.record.owner ?? HEIR }],
};

const ANSWERS = `
            allow           reject                    unoffered                 misread
parked      queued          queued                    OPTION_NOT_OFFERED        DIGEST_MISMATCH
parkedCold  queued          queued                    OPTION_NOT_OFFERED        DIGEST_MISMATCH
queued      =               GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY
queuedCold  =               GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY
sending     =               GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY
starting    =               GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY
stored      =               GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY
applied     =               GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY
delivered   =               GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY
uncertain   =               GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY
mooted      =               GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY GATE_ANSWERED_DIFFERENTLY
cancelled   GATE_CANCELLED  GATE_CANCELLED            GATE_CANCELLED            GATE_CANCELLED
withdrawn   GATE_CANCELLED  GATE_CANCELLED            GATE_CANCELLED            GATE_CANCELLED
superseded  GATE_SUPERSEDED GATE_SUPERSEDED           GATE_SUPERSEDED           GATE_SUPERSEDED
expired     GATE_EXPIRED    GATE_EXPIRED              GATE_EXPIRED              GATE_EXPIRED
running     GATE_UNKNOWN    GATE_UNKNOWN              GATE_UNKNOWN              GATE_UNKNOWN
`;

const STOPS_AND_CALLS = `
            stop            asked        asked_new    admit           attempt returned
parked      cancelled       pending      superseded   EXECUTION_ENDED =       =
parkedCold  cancelled       STALE_EPOCH  STALE_EPOCH  STALE_EPOCH     =       =
queued      moot:cancelled  queued       queued       sending         queued  queued
queuedCold  moot:cancelled  STALE_EPOCH  STALE_EPOCH  STALE_EPOCH     queued  =
sending     sending         sending      sending      =               =       =
starting    moot:cancelled  sending      sending      =               =       =
stored      moot:cancelled  sending      sending      =               =       =
applied     applied         applied      applied      =               =       =
delivered   EXECUTION_ENDED =            =            =               =       =
uncertain   EXECUTION_ENDED STALE_EPOCH  STALE_EPOCH  STALE_EPOCH     =       =
mooted      =               =            =            =               =       =
cancelled   =               =            =            EXECUTION_ENDED =       =
withdrawn   withdrawn       withdrawn    withdrawn    EXECUTION_ENDED =       =
superseded  superseded      superseded   superseded   EXECUTION_ENDED =       =
expired     EXECUTION_ENDED STALE_EPOCH  STALE_EPOCH  STALE_EPOCH     =       =
`;

const REPORTS = `
            hand_back    report       withdraw       expire
parked      =            =            withdrawn      expired
parkedCold  STALE_EPOCH  STALE_EPOCH  STALE_EPOCH    expired
queued      =            =            moot:withdrawn =
queuedCold  STALE_EPOCH  STALE_EPOCH  STALE_EPOCH    =
sending     queued       applied      delivered      =
starting    =            =            =              =
stored      =            =            =              =
applied     =            =            =              =
delivered   =            =            =              =
uncertain   STALE_EPOCH  STALE_EPOCH  STALE_EPOCH    =
mooted      =            =            =              =
cancelled   =            =            =              =
withdrawn   =            =            =              =
superseded  =            =            =              superseded
expired     STALE_EPOCH  STALE_EPOCH  STALE_EPOCH    =
`;

const ENDINGS = `
            settle            lose           replace        evict       dead
parked      turn_ended        pending        pending        pending     pending
parkedCold  STALE_EPOCH       STALE_EPOCH    STALE_EPOCH    STALE_EPOCH =
queued      moot:turn_ended   queued         queued         =           queued
queuedCold  STALE_EPOCH       STALE_EPOCH    STALE_EPOCH    STALE_EPOCH =
sending     delivered         uncertain      uncertain      =           uncertain
starting    moot:not_reissued queued         queued         =           queued
stored      moot:not_reissued queued         queued         =           queued
applied     applied           applied        applied        =           applied
delivered   =                 delivered      delivered      delivered   delivered
uncertain   STALE_EPOCH       STALE_EPOCH    STALE_EPOCH    STALE_EPOCH =
mooted      moot:cancelled    moot:cancelled moot:cancelled =           moot:cancelled
cancelled   cancelled         cancelled      cancelled      =           cancelled
withdrawn   withdrawn         withdrawn      withdrawn      =           withdrawn
superseded  superseded        superseded     superseded     superseded  superseded
expired     STALE_EPOCH       STALE_EPOCH    STALE_EPOCH    STALE_EPOCH =
`;

function cells(table: string): [scene: string, command: string, outcome: string][] {
  const [head = "", ...rows] = table.trim().split("\n");
  const commands = head.trim().split(/\s+/);
  return rows.flatMap((row) => {
    const [scene = "", ...outcomes] = row.trim().split(/\s+/);
    return commands.map((command, at): [string, string, string] => [scene, command, outcomes[at] ?? "missing"]);
  });
}

describe("every gate state meets every command", () => {
  it.each([ANSWERS, STOPS_AND_CALLS, REPORTS, ENDINGS].flatMap(cells))("%s, %s: %s", (scene, command, outcome) => {
    const ledger = named(SCENES, scene)();
    const before = ledger.record;
    const [by, given] = named(COMMANDS, command)(ledger);
    const decision = ledger.give(by, given);
    if (decision.kind === "refused") expect(decision.refusal.reason).toBe(outcome);
    else if (decision.kind === "same") expect("=").toBe(outcome);
    else expect(gateState(decision.record, "g1")).toBe(outcome);
    if (decision.kind !== "write") expect(ledger.record).toBe(before);
  });
});
