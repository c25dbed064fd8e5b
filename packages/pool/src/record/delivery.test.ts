import { describe, expect, it } from "vitest";
import { DELIVERY_ATTEMPTS } from "../limits.ts";
import type { Decision } from "./command.ts";
import {
  aGate,
  aLoss,
  anAdmission,
  anAnswer,
  aPrompt,
  aReady,
  aSettlement,
  aStop,
  claimant,
  GATEWAY,
  gateState,
  HEIR,
  type Ledger,
  settled,
} from "./test-record.ts";
import { applied, parked, queued, queuedCold, running, sending, starting, stored, uncertain } from "./test-scenes.ts";

const reasonOf = (decision: Decision<unknown>) => (decision.kind === "refused" ? decision.refusal.reason : null);
const attempt = (ledger: Ledger) => ledger.must(GATEWAY, { type: "attempt", commandId: "command-g1" });
const giveBack = (ledger: Ledger) => ledger.must(GATEWAY, { type: "return_attempt", commandId: "command-g1" });

/** Nobody could be reached until the attempts for g1's answer were spent. */
function spent(...gateIds: string[]): Ledger {
  const ledger = queued(...gateIds);
  for (let attempts = 0; attempts < DELIVERY_ATTEMPTS; attempts += 1) attempt(ledger);
  return ledger;
}

describe("a delivery is counted before it is sent (D8)", () => {
  it("three times in one epoch, the committing swap being the first; then the command is recoverable, and said to be (49)", () => {
    const ledger = queued();
    expect(attempt(ledger)).toEqual({ kind: "send", execution: 2 });
    expect(attempt(ledger)).toEqual({ kind: "send", execution: 2 });
    expect(ledger.answer("g1")).toMatchObject({ attempts: DELIVERY_ATTEMPTS, recoverable: null });
    expect(attempt(ledger)).toEqual({ kind: "spent" });
    expect(ledger.answer("g1")).toMatchObject({ recoverable: "attempts_spent", disposition: { kind: "queued" } });
    expect(attempt(ledger)).toEqual({ kind: "spent" });
    expect(ledger.events("recoverable")).toHaveLength(1);
  });

  it("and does not count when it proved that nothing ran", () => {
    const ledger = queued();
    for (let refusal = 0; refusal < 10; refusal += 1) {
      expect(attempt(ledger).kind).toBe("send");
      giveBack(ledger);
    }
    expect(ledger.answer("g1")).toMatchObject({ attempts: 1, recoverable: null });
  });

  it("anew in another epoch", () => {
    const ledger = queued();
    attempt(ledger);
    attempt(ledger);
    settled(ledger);
    expect(ledger.answer("g1").attempts).toBe(0);
    expect(attempt(ledger)).toEqual({ kind: "send", execution: 2 });
  });

  it("and a new owner has all its attempts, whoever tried before it claimed", () => {
    const ledger = queuedCold();
    attempt(ledger);
    attempt(ledger);
    ledger.must(claimant(ledger, HEIR), { type: "claim" });
    expect(ledger.answer("g1").attempts).toBe(0);
  });

  it("and no more once the answer is on its way or settled", () => {
    for (const ledger of [sending(), stored(), applied(), uncertain()]) {
      expect(attempt(ledger)).toEqual({ kind: "settled" });
    }
  });
});

describe("a spent command (49)", () => {
  it("is delivered first by the next prompt, which then runs and not before", () => {
    const ledger = spent();
    const opened = ledger.must(ledger.owner, aPrompt("t2", { requestId: "r2", warm: true }));
    expect(opened).toEqual({ kind: "reopened", turnId: "t1", execution: 3 });
    expect(ledger.record).toMatchObject({
      turn: { turnId: "t1" },
      execution: { number: 3, parent: 2, state: "queued" },
    });
    expect(ledger.record.next).toEqual({ turnId: "t2", requestId: "r2" });
    expect(ledger.answer("g1")).toMatchObject({ recoverable: null, attempts: 0, execution: 3 });
    expect(reasonOf(ledger.give(ledger.owner, aPrompt("t3")))).toBe("TURN_IN_PROGRESS");
    ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_open"));
    ledger.must(ledger.owner, aSettlement());
    expect(reasonOf(ledger.give(ledger.owner, aPrompt("t3")))).toBe("TURN_IN_PROGRESS");
    expect(ledger.must(ledger.owner, aPrompt("t2", { requestId: "r2", warm: true })).kind).toBe("opened");
  });

  it("is reopened by a prompt whose runner claims the session in the same swap", () => {
    const ledger = settled(spent());
    expect(ledger.must(claimant(ledger, HEIR), aPrompt("t2"))).toEqual({
      kind: "reopened",
      turnId: "t1",
      execution: 3,
    });
    expect(ledger.record.owner).toEqual(HEIR);
  });

  it("holds no place for that prompt once its turn parks again: it has not run, and others may", () => {
    const ledger = spent();
    ledger.must(ledger.owner, aPrompt("t2", { warm: true }));
    ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_open"));
    ledger.must(ledger.owner, aGate("g2"));
    expect(ledger.record).toMatchObject({ execution: { state: "parked" }, next: null });
    ledger.must(GATEWAY, aStop());
    ledger.must(ledger.owner, aSettlement());
    expect(ledger.must(ledger.owner, aPrompt("t3", { warm: true })).kind).toBe("opened");
  });

  it("is reopened by a retry of its answer, in a fresh execution", () => {
    const ledger = spent();
    const retried = ledger.must(GATEWAY, anAnswer("g1", { answerId: "other" }));
    expect(retried).toMatchObject({ answerId: "answer-g1", duplicate: true, recoverable: null, execution: 3 });
    expect(attempt(ledger)).toEqual({ kind: "send", execution: 3 });
  });

  it("loses its mark by success, however that comes about", () => {
    const byItself = spent();
    byItself.must(byItself.owner, anAdmission(byItself, "g1", "gate_open"));
    expect(byItself.answer("g1").recoverable).toBeNull();

    const withAnother = settled(spent("g1", "g2"));
    withAnother.must(GATEWAY, anAnswer("g2"));
    withAnother.must(claimant(withAnother, HEIR), { type: "claim" });
    withAnother.must(withAnother.owner, anAdmission(withAnother, "g2", "process_gone"));
    expect(withAnother.answer("g1")).toMatchObject({ recoverable: null, disposition: { kind: "stored" } });
    expect(withAnother.give(GATEWAY, anAnswer("g1"))).toMatchObject({ kind: "same" });
  });
});

describe("an admission (D9)", () => {
  it("sets the answer to sending before a byte goes to the agent, and tells what continues", () => {
    const ledger = queued();
    expect(ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_open"))).toEqual({
      kind: "write",
      gateId: "g1",
      optionId: "allow-once",
      verdict: "allow",
    });
    expect(ledger.answer("g1")).toMatchObject({ disposition: { kind: "sending" }, admitted: { nonce: "n1" } });
    expect(ledger.record.execution?.state).toBe("running");
    expect(ledger.events("continued").map(({ tell }) => tell)).toEqual([
      { type: "continued", commandId: "command-g1", tier: "warm" },
    ]);
  });

  it("of a gate that is gone from a process that lives makes the answer moot, and the process works on", () => {
    const ledger = queued();
    const admitted = ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_gone"));
    expect(admitted).toEqual({ kind: "moot", disposition: { kind: "moot", why: "withdrawn" } });
    expect(ledger.record.execution?.state).toBe("running");
  });

  it("of a gate whose process is gone stores it, and with it every other answer to that process", () => {
    const ledger = queuedCold("g1", "g2", "g3");
    ledger.must(GATEWAY, anAnswer("g2"));
    ledger.must(claimant(ledger, HEIR), { type: "claim" });
    expect(ledger.must(ledger.owner, anAdmission(ledger, "g1", "process_gone"))).toEqual({
      kind: "cold",
      gateId: "g1",
    });
    expect([gateState(ledger.record, "g1"), gateState(ledger.record, "g2")]).toEqual(["stored", "stored"]);
    expect(ledger.record.execution?.state).toBe("parked");
  });

  it("never stores the answer to a gate that is open in the process that lives", () => {
    const ledger = stored("g1", "g2");
    ledger.must(ledger.owner, aGate("g3", { instance: "p2" }));
    ledger.must(GATEWAY, anAnswer("g3"));
    ledger.must(GATEWAY, anAnswer("g2"));
    ledger.must(ledger.owner, anAdmission(ledger, "g2", "process_gone"));
    expect([gateState(ledger.record, "g2"), gateState(ledger.record, "g3")]).toEqual(["stored", "queued"]);
    expect(ledger.must(ledger.owner, anAdmission(ledger, "g3", "gate_open")).kind).toBe("write");
  });

  it("that needs no start tells what continues itself, also when the answer is stored (D14)", () => {
    const ledger = stored("g1", "g2");
    ledger.must(ledger.owner, aGate("g3", { instance: "p2" }));
    ledger.must(GATEWAY, anAnswer("g2"));
    const before = ledger.events("continued").length;
    ledger.must(ledger.owner, anAdmission(ledger, "g2", "process_gone"));
    expect(ledger.events("continued").slice(before)).toMatchObject([
      { execution: ledger.record.execution?.number, tell: { commandId: "command-g2", tier: "warm" } },
    ]);
  });

  it("delivered again returns what became of the first, also on another runner, and nothing runs twice (50)", () => {
    const ledger = sending();
    const before = ledger.record;
    expect(ledger.give(ledger.owner, anAdmission(ledger, "g1", "gate_open"))).toMatchObject({
      kind: "same",
      result: { kind: "already", disposition: { kind: "sending" } },
    });
    expect(ledger.record).toBe(before);
    const dead = settled(sending("g1", "g2"));
    dead.must(claimant(dead, HEIR), { type: "claim" });
    expect(dead.must(dead.owner, anAdmission(dead, "g1", "process_gone"))).toEqual({
      kind: "already",
      disposition: { kind: "uncertain" },
    });
  });

  it("of a command that the record does not hold, or of another execution, is refused and changes nothing", () => {
    const ledger = queued();
    const before = ledger.record;
    const unknown = anAdmission(ledger, "g1", "gate_open", { commandId: "nobody's" });
    const stale = anAdmission(ledger, "g1", "gate_open", { execution: 1 });
    expect(reasonOf(ledger.give(ledger.owner, unknown))).toBe("EXECUTION_ENDED");
    expect(reasonOf(ledger.give(ledger.owner, stale))).toBe("EXECUTION_ENDED");
    expect(ledger.record).toBe(before);
  });

  it("after a Stop finds the answer moot: a late allow never reaches an agent (39)", () => {
    const ledger = queued();
    ledger.must(GATEWAY, aStop());
    expect(ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_open"))).toEqual({
      kind: "already",
      disposition: { kind: "moot", why: "cancelled" },
    });
  });
});

describe("a write that was not made", () => {
  it("hands the answer back, pinned to the execution that runs now, and it can be admitted again", () => {
    const ledger = sending("g1", "g2");
    ledger.must(GATEWAY, anAnswer("g2"));
    ledger.must(ledger.owner, { type: "hand_back", gateId: "g1" });
    expect(ledger.answer("g1")).toMatchObject({ disposition: { kind: "queued" }, admitted: null, execution: 3 });
    expect(ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_open")).kind).toBe("write");
  });

  it("under a Stop is moot: no byte of it reached the agent", () => {
    const ledger = sending();
    ledger.must(GATEWAY, aStop());
    ledger.must(ledger.owner, { type: "hand_back", gateId: "g1" });
    expect(gateState(ledger.record, "g1")).toBe("moot:cancelled");
  });
});

describe("a process that is lost (D13)", () => {
  it("leaves what was being written uncertain, and it is never queued, matched or reopened again", () => {
    const ledger = settled(sending("g1", "g2"));
    expect(gateState(ledger.record, "g1")).toBe("uncertain");
    expect(ledger.record).toMatchObject({ execution: { state: "parked" }, turn: { ending: null } });
    ledger.must(GATEWAY, anAnswer("g2"));
    ledger.must(claimant(ledger, HEIR), { type: "claim" });
    ledger.must(ledger.owner, anAdmission(ledger, "g2", "process_gone"));
    ledger.must(ledger.owner, aReady("p2", { commandId: "command-g2" }));
    const again = aGate("g9", { instance: "p2", digest: "digest of g1" });
    expect(ledger.must(ledger.owner, again)).toEqual({ kind: "opened" });
    expect(ledger.record.gates.find(({ gateId }) => gateId === "g9")?.mayRepeat).toBe("g1");
    expect(gateState(ledger.record, "g1")).toBe("uncertain");
  });

  it("puts back what was stored: no agent has seen it", () => {
    const ledger = settled(starting());
    expect(ledger.answer("g1")).toMatchObject({ disposition: { kind: "queued" }, attempts: 0, admitted: null });
    expect(ledger.record.execution?.state).toBe("queued");
  });

  it("ends a turn that waits for nothing LOST if an answer is uncertain, else as the loss says (A18, 51)", () => {
    const end = (ledger: Ledger, loss = aLoss()) => {
      ledger.must(ledger.owner, loss);
      return ledger.record.turn?.ending;
    };
    expect(end(sending())).toMatchObject({ outcome: "lost", stopReason: "tool_outcome_uncertain" });
    expect(end(applied())).toMatchObject({ outcome: "failed", stopReason: "agent_exited" });
    expect(end(applied(), aLoss({ reason: "drain", outcome: "cancelled", stopReason: "drain" }))).toMatchObject({
      outcome: "cancelled",
      stopReason: "drain",
    });
  });

  it("ends it LOST also if the answer became uncertain with an earlier process of the same turn", () => {
    const ledger = settled(sending("g1", "g2"));
    ledger.must(GATEWAY, anAnswer("g2"));
    ledger.must(claimant(ledger, HEIR), { type: "claim" });
    ledger.must(ledger.owner, anAdmission(ledger, "g2", "process_gone"));
    ledger.must(ledger.owner, aReady("p2", { commandId: "command-g2" }));
    ledger.must(ledger.owner, aGate("g3", { instance: "p2", digest: "digest of g2" }));
    ledger.must(ledger.owner, { type: "report_answer", gateId: "g2" });
    ledger.must(ledger.owner, aLoss());
    expect(ledger.record.turn?.ending).toMatchObject({ outcome: "lost", stopReason: "tool_outcome_uncertain" });
    expect(ledger.events("ended")[0]?.tell).toMatchObject({ uncertain: ["answer-g1"] });
  });

  it("and begun again at once keeps owner and turn, and is told of with its own reason (A18)", () => {
    const ledger = running();
    ledger.must(ledger.owner, aLoss({ reason: "prompt_failed", restarts: true }));
    expect(ledger.record).toMatchObject({ turn: { ending: null }, execution: { state: "running" }, process: null });
    ledger.must(ledger.owner, aReady("p2", { coldReason: "prompt_failed" }));
    expect(ledger.events("started").map(({ tell }) => tell)).toMatchObject([
      { coldReason: "first_turn" },
      { coldReason: "prompt_failed" },
    ]);
  });

  it("is not begun again while an answer is uncertain: the turn ends", () => {
    const ledger = sending();
    ledger.must(ledger.owner, aLoss({ restarts: true }));
    expect(ledger.record.turn?.ending?.outcome).toBe("lost");
    expect(ledger.record.owner).toBeNull();
  });

  it("where another start waits ends the turn all the same, and keeps the session owned (E1)", () => {
    const ledger = applied();
    ledger.must(ledger.owner, aLoss({ release: false }));
    expect(ledger.record).toMatchObject({ turn: { ending: { outcome: "failed" } }, owner: { runner: "runner-0" } });
  });

  it("reported late never demotes a turn that has ended (51)", () => {
    const ledger = parked();
    ledger.must(ledger.owner, aSettlement());
    const { ending } = ledger.record.turn ?? {};
    ledger.must(ledger.owner, aLoss());
    expect(ledger.record.turn?.ending).toEqual(ending);
    expect(ledger.events("ended")).toHaveLength(1);
  });
});
