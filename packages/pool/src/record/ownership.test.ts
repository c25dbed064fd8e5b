import { describe, expect, it } from "vitest";
import { OPERATIONS_KEPT } from "../limits.ts";
import type { Decision, RecordCommand, Writer } from "./command.ts";
import { decide, isWritten } from "./decide.ts";
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
  OWNER,
  settled,
} from "./test-record.ts";
import { idle, parked, parkedCold, queued, running, sending, stored } from "./test-scenes.ts";

const reasonOf = (decision: Decision<unknown>) => (decision.kind === "refused" ? decision.refusal.reason : null);

const OWNERS_COMMANDS: readonly RecordCommand[] = [
  aPrompt("t2"),
  aReady("p9"),
  aGate("g9"),
  { type: "admit", commandId: "command-g1", execution: 1, delivery: { incarnation: "", nonce: "" }, slot: "gate_open" },
  { type: "admit_cancel", commandId: "cancel-1", delivery: { incarnation: "", nonce: "" }, live: true },
  { type: "hand_back", gateId: "g1" },
  { type: "report_answer", gateId: "g1" },
  { type: "withdraw_gate", gateId: "g1" },
  aSettlement(),
  aLoss(),
  { type: "mark_cold", reason: "approval_ttl" },
];

describe("an owner's write (P1, D2)", () => {
  it.each(OWNERS_COMMANDS.map((command) => [command.type, command] as const))(
    "%s at a former epoch is refused, whatever the session is doing (61)",
    (_, command) => {
      for (const ledger of [settled(sending()), stored(), settled(idle())]) {
        const before = ledger.record;
        const former: Writer = { kind: "owner", incarnation: OWNER.incarnation, epoch: before.epoch - 1 };
        expect(reasonOf(ledger.give(former, command))).toBe("STALE_EPOCH");
        expect(ledger.record).toBe(before);
      }
    },
  );

  it.each(OWNERS_COMMANDS.map((command) => [command.type, command] as const))(
    "%s is not for a gateway to make, nor for a runner that only claims",
    (type, command) => {
      const owned = parked();
      expect(reasonOf(owned.give(GATEWAY, command))).toBe("NOT_OWNER");
      if (type !== "open_turn") {
        const cold = parkedCold();
        expect(reasonOf(cold.give(claimant(cold, HEIR), command))).toBe("NOT_OWNER");
      }
    },
  );

  it("of another incarnation at the same epoch is refused", () => {
    const ledger = parked();
    const impostor: Writer = { kind: "owner", incarnation: "boot-z", epoch: ledger.record.epoch };
    expect(reasonOf(ledger.give(impostor, aSettlement()))).toBe("NOT_OWNER");
  });
});

describe("a claim (E1)", () => {
  it("takes what nobody owns, grows the epoch and has no process yet", () => {
    const ledger = parkedCold();
    const { epoch } = ledger.record;
    ledger.must(claimant(ledger, HEIR), { type: "claim" });
    expect(ledger.record).toMatchObject({ owner: HEIR, lastRunner: "runner-1", epoch: epoch + 1, process: null });
    expect(gateState(ledger.record, "g1")).toBe("pending");
  });

  it("of what somebody owns, or from an epoch that is over, is refused (57)", () => {
    const owned = parked();
    expect(reasonOf(owned.give(claimant(owned, HEIR), { type: "claim" }))).toBe("NOT_OWNER");
    const cold = parkedCold();
    const rival = claimant(cold, OWNER);
    cold.must(claimant(cold, HEIR), { type: "claim" });
    expect(reasonOf(cold.give(rival, { type: "claim" }))).toBe("STALE_EPOCH");
    expect(cold.record.owner).toEqual(HEIR);
  });
});

describe("the loss of a process (A12, E1)", () => {
  it("releases the session in the same swap and leaves a hint where it was; its gates are cold and answerable", () => {
    const ledger = parked("g1", "g2");
    const { epoch } = ledger.record;
    ledger.must(ledger.owner, aLoss({ reason: "approval_ttl" }));
    expect(ledger.record).toMatchObject({ owner: null, epoch: epoch + 1, lastRunner: "runner-0", process: null });
    expect(ledger.record).toMatchObject({ execution: { state: "parked" }, coldReason: "approval_ttl" });
    expect(ledger.record.gates.map(({ warm }) => warm)).toEqual([false, false]);
    expect(ledger.give(GATEWAY, anAnswer("g2")).kind).toBe("write");
  });

  it("keeps committed answers waiting for another process", () => {
    const ledger = queued("g1", "g2");
    ledger.must(ledger.owner, aLoss());
    expect(ledger.record).toMatchObject({ execution: { state: "queued" }, turn: { ending: null } });
  });
});

describe("an eviction of a waiting slot (A20)", () => {
  const evict = (ledger: Ledger, reason: "approval_ttl" | "memory" | "drain") =>
    ledger.must(ledger.owner, { type: "mark_cold", reason });

  it("marks its gates cold first, then releases the session; an answer in between waits", () => {
    const ledger = parked();
    expect(evict(ledger, "approval_ttl")).toEqual({ kind: "cold" });
    expect(ledger.record).toMatchObject({ owner: OWNER, process: null, coldReason: "approval_ttl" });
    expect(ledger.record.gates[0]).toMatchObject({ warm: false });
    ledger.must(GATEWAY, anAnswer("g1"));
    ledger.must(ledger.owner, aLoss({ reason: "approval_ttl" }));
    expect(ledger.record).toMatchObject({ owner: null, execution: { state: "queued" } });
    expect(ledger.answer("g1")).toMatchObject({ disposition: { kind: "queued" }, attempts: 0 });
  });

  it("leaves the session alone while an answer is queued: it is admitted instead (84)", () => {
    for (const reason of ["approval_ttl", "memory", "drain"] as const) {
      const ledger = queued("g1", "g2");
      const before = ledger.record;
      expect(evict(ledger, reason)).toEqual({ kind: "kept" });
      expect(ledger.record).toBe(before);
    }
  });

  it("for memory, also while one is being written", () => {
    expect(evict(sending("g1", "g2"), "memory")).toEqual({ kind: "kept" });
    expect(evict(sending("g1", "g2"), "drain")).toEqual({ kind: "cold" });
  });
});

describe("a dead owner's record is settled by whoever meets it (E10, 86)", () => {
  const scenes = { running, parked, queued, sending, stored, idle };

  it.each(Object.entries(scenes))("from %s: then Stop, a prompt and an answer all work at once", (_, scene) => {
    const ledger = settled(scene());
    expect(ledger.record).toMatchObject({ owner: null, process: null });
    const waiting = ledger.record.turn?.ending === null;
    if (gateState(ledger.record, "g1") === "pending") ledger.must(GATEWAY, anAnswer("g1"));
    if (waiting) expect(ledger.give(GATEWAY, aStop()).kind).toBe("write");
    expect(ledger.must(claimant(ledger, HEIR), aPrompt("t2"))).toMatchObject({ kind: "opened" });
  });

  it("a turn that waits for nothing ends LOST: owner_dead, or uncertain with what was being written (D10)", () => {
    expect(settled(running()).record.turn?.ending).toMatchObject({ outcome: "lost", stopReason: "owner_dead" });
    const { ending } = settled(sending()).record.turn ?? {};
    expect(ending).toMatchObject({ outcome: "lost", stopReason: "tool_outcome_uncertain" });
  });

  it("an answer after it waits for a new process, and the old one writes nothing more", () => {
    const ledger = parked();
    const old = ledger.owner;
    settled(ledger);
    ledger.must(GATEWAY, anAnswer("g1"));
    expect(ledger.record.execution?.state).toBe("queued");
    expect(reasonOf(ledger.give(old, anAdmission(ledger, "g1", "gate_open")))).toBe("STALE_EPOCH");
  });

  it("twice is once, and another owner's session is left alone", () => {
    const ledger = parked();
    const dead = { type: "settle_ownerless", dead: OWNER } as const;
    expect(reasonOf(ledger.give(GATEWAY, { ...dead, dead: { ...OWNER, incarnation: "boot-0" } }))).toBe("NOT_OWNER");
    ledger.must(GATEWAY, dead);
    expect(ledger.give(GATEWAY, dead).kind).toBe("same");
    ledger.must(claimant(ledger, HEIR), { type: "claim" });
    expect(reasonOf(ledger.give(GATEWAY, dead))).toBe("NOT_OWNER");
  });
});

describe("an operation (D1)", () => {
  const by = { by: GATEWAY, appended: [] };

  it(`is recognised in the record that it wrote, and for ${OPERATIONS_KEPT} writes`, () => {
    const ledger = parked("g1", "g2");
    const operation = { id: "mine", ...by };
    expect(isWritten(null, operation)).toBe(false);
    expect(isWritten(ledger.record, operation)).toBe(false);
    const written = decide(ledger.record, anAnswer("g1"), ledger.now, operation);
    ledger.held = written.kind === "write" ? written.record : null;
    for (let write = 0; write < OPERATIONS_KEPT; write += 1) {
      expect(isWritten(ledger.record, operation)).toBe(true);
      ledger.must(ledger.owner, { type: "drop_appended" });
    }
    expect(ledger.record.operations).toHaveLength(OPERATIONS_KEPT);
  });

  it("is known by its effect after that: the same answer again is the same answer", () => {
    const ledger = queued();
    for (let write = 0; write < OPERATIONS_KEPT; write += 1) ledger.must(ledger.owner, { type: "drop_appended" });
    expect(ledger.give(GATEWAY, anAnswer("g1"))).toMatchObject({
      kind: "same",
      result: { answerId: "answer-g1", commandId: "command-g1" },
    });
  });

  it("drops from the outbox what its writer knows to be in the log, and nothing else (D14)", () => {
    const ledger = parked();
    const ids = ledger.record.outbox.map(({ id }) => id);
    expect(ids).toEqual(["prompt:t1", expect.stringMatching(/^started:t1/), "gate_opened:g1"]);
    ledger.give(ledger.owner, { type: "drop_appended" }, ids.slice(0, 2));
    expect(ledger.record.outbox.map(({ id }) => id)).toEqual(["gate_opened:g1"]);
  });

  it("of a gateway drops nothing while somebody owns the session", () => {
    const ledger = parked();
    const ids = ledger.record.outbox.map(({ id }) => id);
    expect(ledger.give(GATEWAY, { type: "drop_appended" }, ids).kind).toBe("same");
    settled(ledger);
    expect(ledger.give(GATEWAY, { type: "drop_appended" }, ids).kind).toBe("write");
    expect(ledger.record.outbox).toEqual([]);
  });
});
