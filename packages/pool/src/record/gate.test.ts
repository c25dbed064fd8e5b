import { describe, expect, it } from "vitest";
import { OPEN_GATES_PER_SESSION } from "../limits.ts";
import {
  APPROVAL_EXPIRY_MS,
  aGate,
  aLoss,
  anAdmission,
  anAnswer,
  aReady,
  aSettlement,
  aStop,
  claimant,
  GATEWAY,
  gateState,
  HEIR,
  type Ledger,
  OPTIONS,
} from "./test-record.ts";
import {
  applied,
  idle,
  parked,
  parkedCold,
  queued,
  queuedCold,
  running,
  sending,
  stored,
  superseded,
} from "./test-scenes.ts";

const execution = (ledger: Ledger) => ledger.record.execution?.state;
const gateOf = (ledger: Ledger, gateId: string) => ledger.record.gates.find((gate) => gate.gateId === gateId);
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `g${index + 1}`);

describe("a gate opens", () => {
  it("with the process and the call it belongs to, and until when it is kept and answerable", () => {
    const ledger = parked();
    expect(gateOf(ledger, "g1")).toMatchObject({
      instance: "p1",
      callSeq: 7,
      warm: true,
      mayRepeat: null,
      openedAt: ledger.now,
      expiresAt: ledger.now + APPROVAL_EXPIRY_MS,
    });
    expect(ledger.events("gate_opened")).toHaveLength(1);
  });

  it("and parks its execution; approval_ttl runs from there, not from the next gate (D4)", () => {
    const ledger = parked();
    const { parkedAt } = ledger.record.execution ?? {};
    expect(parkedAt).toBe(ledger.now);
    ledger.now += 1_000;
    ledger.must(ledger.owner, aGate("g2"));
    expect(ledger.record.execution).toMatchObject({ state: "parked", parkedAt });
  });

  it("as one of two for two identical calls, each answered by itself (30)", () => {
    const ledger = running();
    for (const gateId of ["g1", "g2"]) {
      const preview = { toolCallId: "the same", title: "run", kind: "execute", rawInput: "{}", truncated: false };
      ledger.must(ledger.owner, aGate(gateId, { digest: "the same", preview }));
    }
    ledger.must(GATEWAY, anAnswer("g1"));
    expect([gateState(ledger.record, "g1"), gateState(ledger.record, "g2")]).toEqual(["queued", "pending"]);
    ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_open"));
    expect([gateState(ledger.record, "g1"), gateState(ledger.record, "g2")]).toEqual(["sending", "pending"]);
  });

  it("not outside a running turn, not for another turn, and not while it is being stopped (38, A10)", () => {
    const stopping = parked();
    stopping.must(GATEWAY, aStop());
    for (const [ledger, gate] of [
      [idle(), aGate("g9")],
      [running(), aGate("g9", { turnId: "t0" })],
      [stopping, aGate("g9")],
    ] as const) {
      expect(ledger.give(ledger.owner, gate)).toEqual({ kind: "same", result: { kind: "not_asked" } });
    }
  });

  it(`beside ${OPEN_GATES_PER_SESSION - 1} others and no more (A6)`, () => {
    const ledger = parked(...numbered(OPEN_GATES_PER_SESSION));
    const before = ledger.record;
    expect(ledger.must(ledger.owner, aGate("one more"))).toEqual({ kind: "too_many" });
    expect(ledger.record).toBe(before);
    ledger.must(GATEWAY, anAnswer("g1"));
    expect(ledger.must(ledger.owner, aGate("one more"))).toEqual({ kind: "opened" });
  });

  it("also when that many are open, if it takes the place of one of them (C10)", () => {
    const ledger = queuedCold(...numbered(OPEN_GATES_PER_SESSION + 1 - 1), "g0");
    ledger.must(claimant(ledger, HEIR), { type: "claim" });
    ledger.must(ledger.owner, anAdmission(ledger, "g1", "process_gone"));
    ledger.must(ledger.owner, aReady("p2", { commandId: "command-g1" }));
    ledger.must(ledger.owner, aGate("new", { instance: "p2" }));
    expect(ledger.record.gates.filter(({ state }) => state.kind === "pending")).toHaveLength(OPEN_GATES_PER_SESSION);
    const again = aGate("again", { instance: "p2", digest: "digest of g2" });
    expect(ledger.must(ledger.owner, again)).toEqual({ kind: "opened" });
    expect(gateState(ledger.record, "g2")).toBe("superseded");
  });
});

describe("an execution is parked while a gate is pending and no answer is queued (D4)", () => {
  it("so an answer that is queued, not one that is sent or stored, keeps it from parking", () => {
    const ledger = queued("g1", "g2");
    expect(execution(ledger)).toBe("queued");
    ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_open"));
    expect(execution(ledger)).toBe("parked");
    ledger.must(ledger.owner, { type: "report_answer", gateId: "g1" });
    expect(execution(ledger)).toBe("parked");
    expect(execution(stored("g1", "g2"))).toBe("parked");
    expect(execution(sending())).toBe("running");
  });

  it("and runs again when the last one is withdrawn, is parked again by the next", () => {
    const ledger = parked();
    ledger.must(ledger.owner, { type: "withdraw_gate", gateId: "g1" });
    expect(ledger.record.execution).toMatchObject({ state: "running", parkedAt: null });
    ledger.now += 5_000;
    ledger.must(ledger.owner, aGate("g2"));
    expect(ledger.record.execution).toMatchObject({ state: "parked", parkedAt: ledger.now });
  });

  it("for as long as one of its gates is pending, whichever else is taken back meanwhile", () => {
    const ledger = parked("g1", "g2");
    const { parkedAt } = ledger.record.execution ?? {};
    ledger.now += 5_000;
    ledger.must(ledger.owner, { type: "withdraw_gate", gateId: "g1" });
    expect(ledger.record.execution).toMatchObject({ state: "parked", parkedAt });
  });

  it("and by the moment its only queued answer is moot", () => {
    const ledger = queued("g1", "g2");
    ledger.must(ledger.owner, { type: "withdraw_gate", gateId: "g1" });
    expect(execution(ledger)).toBe("parked");
  });
});

describe("a question that is asked again by another process (C6, 72)", () => {
  it("has the stored answer applied to it once, and is a new gate the second time", () => {
    const ledger = stored();
    const again = (gateId: string) => aGate(gateId, { instance: "p2", digest: "digest of g1" });
    expect(ledger.must(ledger.owner, again("g2"))).toEqual({
      kind: "matched",
      gateId: "g1",
      optionId: "allow-once",
      verdict: "allow",
    });
    expect(gateState(ledger.record, "g1")).toBe("sending");
    expect(gateState(ledger.record, "g2")).toBe("unknown");
    expect(ledger.must(ledger.owner, again("g3"))).toEqual({ kind: "opened" });
    expect(gateState(ledger.record, "g3")).toBe("pending");
  });

  it("with other arguments is a new gate (72, 77)", () => {
    const ledger = stored();
    const drifted = aGate("g2", { instance: "p2", digest: "drifted" });
    expect(ledger.must(ledger.owner, drifted)).toEqual({ kind: "opened" });
    expect(gateState(ledger.record, "g1")).toBe("stored");
  });

  it("is always asked again when the call, then or now, has neither arguments nor diff (77)", () => {
    const now = stored();
    const unbound = aGate("g2", { instance: "p2", digest: "digest of g1", bindable: false });
    expect(now.must(now.owner, unbound)).toEqual({ kind: "opened" });

    const then = running();
    then.must(then.owner, aGate("g1", { bindable: false }));
    then.must(then.owner, aLoss());
    then.must(GATEWAY, anAnswer("g1"));
    then.must(claimant(then, HEIR), { type: "claim" });
    then.must(then.owner, anAdmission(then, "g1", "process_gone"));
    expect(then.must(then.owner, { ...unbound, bindable: true })).toEqual({ kind: "opened" });
  });

  it("takes the oldest of several stored answers first", () => {
    const ledger = running();
    for (const gateId of ["g1", "g2"]) ledger.must(ledger.owner, aGate(gateId, { digest: "the same" }));
    ledger.must(ledger.owner, aLoss());
    ledger.must(GATEWAY, anAnswer("g2", { choice: { verdict: "reject" } }));
    ledger.must(GATEWAY, anAnswer("g1"));
    ledger.must(claimant(ledger, HEIR), { type: "claim" });
    ledger.must(ledger.owner, anAdmission(ledger, "g1", "process_gone"));
    const again = (gateId: string) => ledger.must(ledger.owner, aGate(gateId, { instance: "p2", digest: "the same" }));
    expect([again("a"), again("b"), again("c")]).toMatchObject([
      { kind: "matched", gateId: "g2", verdict: "reject" },
      { kind: "matched", gateId: "g1", verdict: "allow" },
      { kind: "opened" },
    ]);
  });

  it.each([
    ["no longer offers it", OPTIONS.filter(({ optionId }) => optionId !== "allow-once")],
    ["means something else by it", [{ optionId: "allow-once", name: "Always", kind: "allow_always" as const }]],
  ])("is never answered with an option when it %s (A7, A8)", (_, options) => {
    const ledger = stored();
    const again = aGate("g2", { instance: "p2", digest: "digest of g1", options });
    expect(ledger.must(ledger.owner, again)).toEqual({ kind: "opened" });
    expect(gateState(ledger.record, "g1")).toBe("stored");
  });

  it("while it is undecided has one card: the old gate closes, superseded by the new (C10)", () => {
    const ledger = superseded();
    expect(gateState(ledger.record, "g2")).toBe("pending");
    const refused = ledger.give(GATEWAY, anAnswer("g1"));
    expect(refused).toMatchObject({ kind: "refused", refusal: { reason: "GATE_SUPERSEDED" } });
    expect(refused).toMatchObject({ refusal: { metadata: { superseded_by: "g2" } } });
  });

  it("by the same process is another call, not the same card (30)", () => {
    const ledger = parked();
    ledger.must(ledger.owner, aGate("g2", { digest: "digest of g1" }));
    expect([gateState(ledger.record, "g1"), gateState(ledger.record, "g2")]).toEqual(["pending", "pending"]);
  });
});

describe("a gate the agent takes back (A6)", () => {
  it("closes withdrawn; a queued answer is moot, a sending one delivered", () => {
    const withdraw = (ledger: Ledger) => {
      ledger.must(ledger.owner, { type: "withdraw_gate", gateId: "g1" });
      return gateState(ledger.record, "g1");
    };
    expect([parked(), queued(), sending(), applied()].map(withdraw)).toEqual([
      "withdrawn",
      "moot:withdrawn",
      "delivered",
      "applied",
    ]);
  });

  it("cannot be taken back by a process that is gone: cold it stays answerable", () => {
    const ledger = parkedCold();
    ledger.must(claimant(ledger, HEIR), { type: "claim" });
    ledger.must(ledger.owner, { type: "withdraw_gate", gateId: "g1" });
    expect(gateState(ledger.record, "g1")).toBe("pending");
  });
});

describe("a gate expires (C4, 33)", () => {
  const expire = (ledger: Ledger, by = GATEWAY) => ledger.give(by, { type: "expire_gates" });

  it("not before its time", () => {
    const ledger = parkedCold();
    ledger.now += APPROVAL_EXPIRY_MS - 1;
    expect(expire(ledger).kind).toBe("same");
  });

  it("as not allowed; the last one of a cold turn ends it CANCELLED, approval_expired, from any gateway (87)", () => {
    const ledger = parkedCold("g1", "g2");
    ledger.now += APPROVAL_EXPIRY_MS;
    expire(ledger);
    expect(ledger.record).toMatchObject({ gates: [], execution: { state: "ended" } });
    expect(ledger.record.turn?.ending).toMatchObject({ outcome: "cancelled", stopReason: "approval_expired" });
    expect(ledger.give(GATEWAY, anAnswer("g1"))).toMatchObject({ refusal: { reason: "GATE_EXPIRED" } });
  });

  it("and its turn goes on while an answer is queued", () => {
    const ledger = queuedCold("g1", "g2");
    ledger.now += APPROVAL_EXPIRY_MS;
    expire(ledger);
    expect([gateState(ledger.record, "g1"), gateState(ledger.record, "g2")]).toEqual(["queued", "expired"]);
    expect(ledger.record).toMatchObject({ turn: { ending: null }, execution: { state: "queued" } });
  });

  it("by the hand of a living owner only", () => {
    const ledger = parked();
    ledger.now += APPROVAL_EXPIRY_MS;
    expect(expire(ledger).kind).toBe("same");
    expect(expire(ledger, ledger.owner).kind).toBe("write");
    expect(ledger.record).toMatchObject({ turn: { ending: null }, execution: { state: "running" } });
  });
});

describe("when a prompt settles (C9)", () => {
  it("every gate closes, every answer gets its last disposition and the turn ends, in one swap (76)", () => {
    const ledger = parked("g1", "g2", "g3");
    ledger.must(GATEWAY, anAnswer("g1"));
    ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_open"));
    ledger.must(GATEWAY, anAnswer("g2"));
    ledger.must(ledger.owner, aSettlement());
    expect(["g1", "g2", "g3"].map((gate) => gateState(ledger.record, gate))).toEqual([
      "delivered",
      "moot:turn_ended",
      "turn_ended",
    ]);
    expect(ledger.record).toMatchObject({
      gates: [],
      turn: { ending: { outcome: "completed", stopReason: "end_turn" } },
    });
    expect(ledger.events("ended")[0]?.tell).toMatchObject({ moot: ["answer-g2"], uncertain: [] });
  });

  it("a stored answer that was not asked for again is moot, not reissued", () => {
    const ledger = stored("g1", "g2");
    ledger.must(ledger.owner, aSettlement());
    expect(["g1", "g2"].map((gate) => gateState(ledger.record, gate))).toEqual(["moot:not_reissued", "turn_ended"]);
  });
});
