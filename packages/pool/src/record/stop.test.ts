import { describe, expect, it } from "vitest";
import type { Decision, Stop } from "./command.ts";
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
import {
  cancelled,
  idle,
  parked,
  parkedCold,
  queued,
  queuedCold,
  running,
  sending,
  starting,
  stored,
} from "./test-scenes.ts";

const reasonOf = (decision: Decision<unknown>) => (decision.kind === "refused" ? decision.refusal.reason : null);
const stop = (ledger: Ledger, change: Partial<Stop> = {}) => ledger.give(GATEWAY, aStop(change));
const outcome = (ledger: Ledger) => ledger.record.turn?.ending?.outcome;
const admitCancel = (ledger: Ledger, live: boolean) =>
  ledger.give(ledger.owner, {
    type: "admit_cancel",
    commandId: "cancel-1",
    delivery: { incarnation: "boot-a", nonce: "n1" },
    live,
  });

describe("a Stop (D7)", () => {
  it("closes every open gate, moots every answer no agent has seen, and leaves what is being written (42, 39)", () => {
    const ledger = parked("g1", "g2", "g3");
    ledger.must(GATEWAY, anAnswer("g1"));
    ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_open"));
    ledger.must(GATEWAY, anAnswer("g2"));
    stop(ledger);
    expect(["g1", "g2", "g3"].map((gate) => gateState(ledger.record, gate))).toEqual([
      "sending",
      "moot:cancelled",
      "cancelled",
    ]);
    expect(ledger.record.execution?.state).toBe("stopping");
    expect(ledger.record.cancel).toMatchObject({ commandId: "cancel-1", execution: 3, reason: "stop", admitted: null });
    expect(outcome(ledger)).toBeUndefined();
  });

  it("moots a stored answer too", () => {
    const ledger = stored();
    stop(ledger);
    expect(gateState(ledger.record, "g1")).toBe("moot:cancelled");
  });

  it("ends the turn at once where nobody owns the session, from any gateway (87)", () => {
    for (const ledger of [parkedCold(), queuedCold(), parkedCold("g1", "g2")]) {
      expect(stop(ledger).kind).toBe("write");
      expect(ledger.record).toMatchObject({ cancel: null, gates: [], turn: { ending: { outcome: "cancelled" } } });
      expect(ledger.events("ended")).toHaveLength(1);
    }
  });

  it("without an open turn is refused, and so is one for a session that never ran", () => {
    expect(reasonOf(stop(idle()))).toBe("EXECUTION_ENDED");
  });

  it("and an answer that arrive together have one winner, and the loser is told (43)", () => {
    const answerFirst = parked();
    const pinned = { expectedExecution: answerFirst.record.execution?.number ?? 0 };
    answerFirst.must(GATEWAY, anAnswer("g1"));
    const before = answerFirst.record;
    expect(reasonOf(stop(answerFirst, pinned))).toBe("EXECUTION_ENDED");
    expect(answerFirst.record).toBe(before);

    const stopFirst = parked();
    expect(stop(stopFirst, pinned).kind).toBe("write");
    expect(reasonOf(stopFirst.give(GATEWAY, anAnswer("g1")))).toBe("GATE_CANCELLED");
    expect(gateState(stopFirst.record, "g1")).toBe("cancelled");
  });

  it("for an execution that ended touches neither its continuation nor the next prompt (44)", () => {
    const ledger = queued();
    expect(reasonOf(stop(ledger, { expectedExecution: 1 }))).toBe("EXECUTION_ENDED");
    ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_open"));
    ledger.must(ledger.owner, aSettlement());
    ledger.must(ledger.owner, aPrompt("t2", { warm: true }));
    const before = ledger.record;
    expect(reasonOf(stop(ledger, { expectedExecution: 2 }))).toBe("EXECUTION_ENDED");
    expect(reasonOf(stop(ledger, { expectedTurn: "t1" }))).toBe("EXECUTION_ENDED");
    expect(ledger.record).toBe(before);
  });

  it("twice is one Stop, and the second has the ids of the first (45)", () => {
    const ledger = cancelled();
    const before = ledger.record;
    const again = stop(ledger, { commandId: "cancel-2" });
    expect(again).toMatchObject({ kind: "same", result: { commandId: "cancel-1", execution: 1, duplicate: true } });
    expect(ledger.record).toBe(before);
  });

  it("of the same key is the same Stop, also after the turn ended; with other content it is refused (D5)", () => {
    const ledger = running();
    stop(ledger, { idempotencyKey: "k1" });
    stop(ledger, { idempotencyKey: "k2", commandId: "cancel-2" });
    ledger.must(ledger.owner, aSettlement());
    for (const idempotencyKey of ["k1", "k2"]) {
      expect(stop(ledger, { idempotencyKey, commandId: "cancel-3" })).toMatchObject({
        kind: "same",
        result: { commandId: "cancel-1", turnId: "t1", duplicate: true },
      });
      expect(reasonOf(stop(ledger, { idempotencyKey, contentDigest: "other" }))).toBe("IDEMPOTENCY_KEY_REUSED");
    }
  });

  it("while a gate's answer is being started cold stops that too, and a gate that comes then is not recorded (A10)", () => {
    const ledger = starting();
    stop(ledger);
    ledger.must(ledger.owner, aReady("p2", { commandId: "command-g1" }));
    const before = ledger.record;
    const asked = ledger.give(ledger.owner, aGate("g9", { instance: "p2", digest: "digest of g1" }));
    expect(asked).toMatchObject({ kind: "same", result: { kind: "not_asked" } });
    expect(ledger.record).toBe(before);
  });
});

describe("a turn with a committed Stop ends CANCELLED, once (78, D6)", () => {
  it("when the agent finishes normally before the cancel is delivered", () => {
    const ledger = sending();
    stop(ledger);
    expect(ledger.must(ledger.owner, aSettlement())).toMatchObject({ kind: "ended", outcome: "cancelled" });
    expect(gateState(ledger.record, "g1")).toBe("delivered");
    expect(admitCancel(ledger, true)).toMatchObject({ kind: "same", result: { kind: "already" } });
    expect(ledger.events("ended")).toHaveLength(1);
  });

  it("when its process fails, and what was being written is uncertain", () => {
    const ledger = sending();
    stop(ledger);
    ledger.must(ledger.owner, aLoss({ outcome: "failed" }));
    expect(outcome(ledger)).toBe("cancelled");
    expect(gateState(ledger.record, "g1")).toBe("uncertain");
    expect(ledger.events("ended")[0]?.tell).toMatchObject({ uncertain: ["answer-g1"], moot: [] });
  });

  it("when its owner dies", () => {
    const ledger = settled(cancelled());
    expect(outcome(ledger)).toBe("cancelled");
    expect(ledger.record).toMatchObject({ owner: null, cancel: null });
  });

  it("when there is no process left to settle it", () => {
    const ledger = cancelled();
    expect(admitCancel(ledger, false)).toMatchObject({ kind: "write", result: { kind: "ended" } });
    expect(outcome(ledger)).toBe("cancelled");
  });

  it("and not otherwise if it had ended before the Stop", () => {
    const ledger = idle();
    expect(reasonOf(stop(ledger))).toBe("EXECUTION_ENDED");
    expect(outcome(ledger)).toBe("completed");
  });
});

describe("a cancel command", () => {
  it("is admitted once, and delivered again it says so", () => {
    const ledger = cancelled();
    expect(admitCancel(ledger, true)).toMatchObject({ kind: "write", result: { kind: "cancel" } });
    expect(admitCancel(ledger, true)).toMatchObject({ kind: "same", result: { kind: "already" } });
    expect(ledger.record.cancel?.admitted).toEqual({ incarnation: "boot-a", nonce: "n1" });
  });

  it("of nobody is refused", () => {
    expect(reasonOf(admitCancel(running(), true))).toBe("EXECUTION_ENDED");
  });

  it("has no limit of attempts", () => {
    const ledger = cancelled();
    for (let attempt = 0; attempt < 20; attempt += 1) {
      expect(ledger.must(GATEWAY, { type: "attempt", commandId: "cancel-1" })).toEqual({ kind: "send", execution: 1 });
    }
  });
});

describe("INTERRUPT: a Stop with a successor (A9)", () => {
  const interrupt = { why: "interrupt", next: { turnId: "t2", requestId: "r2" } } as const;

  it("is accepted while a gate is open, which closes as superseded, and the next turn runs on the same process (75)", () => {
    for (const ledger of [parked(), sending("g1", "g2"), running()]) {
      const pending = ledger.record.gates.filter(({ state }) => state.kind === "pending").map(({ gateId }) => gateId);
      expect(stop(ledger, interrupt).kind).toBe("write");
      expect(pending.map((gateId) => gateState(ledger.record, gateId))).toEqual(pending.map(() => "superseded"));
      ledger.must(ledger.owner, aSettlement());
      expect(ledger.must(ledger.owner, aPrompt("t2", { warm: true }))).toMatchObject({ kind: "opened" });
      expect(ledger.record).toMatchObject({ next: null, process: { instance: "p1" }, turn: { turnId: "t2" } });
    }
  });

  it("works at once on a cold session (75)", () => {
    const ledger = parkedCold();
    stop(ledger, interrupt);
    expect(gateState(ledger.record, "g1")).toBe("superseded");
    expect(ledger.must(claimant(ledger, HEIR), aPrompt("t2"))).toMatchObject({ kind: "opened", turnId: "t2" });
  });

  it("lets nothing else start in between", () => {
    const ledger = parkedCold();
    stop(ledger, interrupt);
    const before = ledger.record;
    expect(reasonOf(ledger.give(claimant(ledger, HEIR), aPrompt("t3")))).toBe("TURN_IN_PROGRESS");
    expect(ledger.record).toBe(before);
  });

  it("takes the place of its own request again when that is retried under the same request_id (D15)", () => {
    const ledger = settled(parked());
    stop(ledger, interrupt);
    const retried = aPrompt("minted again", { requestId: "r2" });
    expect(ledger.must(claimant(ledger, HEIR), retried)).toMatchObject({ kind: "opened", turnId: "minted again" });
    expect(ledger.record.next).toBeNull();
  });

  it("waits behind a Stop that is there already; a second one that interrupts is refused", () => {
    const ledger = cancelled();
    expect(stop(ledger, interrupt)).toMatchObject({
      kind: "write",
      result: { commandId: "cancel-1", duplicate: true },
    });
    expect(ledger.record.next).toEqual(interrupt.next);
    const rival = { ...interrupt, next: { turnId: "t3", requestId: null } };
    expect(reasonOf(stop(ledger, rival))).toBe("TURN_IN_PROGRESS");
  });
});

describe("a client that left (A11) and a session that is closed", () => {
  const leaving = (onDisconnect: "detach" | "cancel") => {
    const ledger = running();
    ledger.must(ledger.owner, aSettlement());
    ledger.must(ledger.owner, aPrompt("t2", { warm: true, onDisconnect }));
    return ledger;
  };

  it("stops the execution it streamed, where the turn was opened to be cancelled by that", () => {
    const ledger = leaving("cancel");
    expect(stop(ledger, { why: "disconnect", expectedExecution: 2 }).kind).toBe("write");
    expect(ledger.record.execution?.state).toBe("stopping");
  });

  it("changes nothing where the turn was opened to go on", () => {
    const ledger = leaving("detach");
    const before = ledger.record;
    expect(reasonOf(stop(ledger, { why: "disconnect", expectedExecution: 2 }))).toBe("EXECUTION_ENDED");
    expect(ledger.record).toBe(before);
  });

  it.each(["disconnect", "close"] as const)("%s never takes an open gate away: the park wins (35)", (why) => {
    const ledger = leaving("cancel");
    ledger.must(ledger.owner, aGate("g1", { turnId: "t2" }));
    const before = ledger.record;
    expect(reasonOf(stop(ledger, { why, expectedExecution: 2 }))).toBe("EXECUTION_ENDED");
    expect(ledger.record).toBe(before);
  });

  it("never stops the continuation of what it streamed", () => {
    const ledger = leaving("cancel");
    ledger.must(ledger.owner, aGate("g1", { turnId: "t2" }));
    ledger.must(GATEWAY, anAnswer("g1"));
    expect(reasonOf(stop(ledger, { why: "disconnect", expectedExecution: 2 }))).toBe("EXECUTION_ENDED");
  });

  it("after a Stop of its own changes nothing more (46)", () => {
    const ledger = leaving("cancel");
    stop(ledger);
    const before = ledger.record;
    expect(stop(ledger, { why: "disconnect", expectedExecution: 2 })).toMatchObject({ kind: "same" });
    expect(ledger.record).toBe(before);
  });
});
