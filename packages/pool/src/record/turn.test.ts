import { describe, expect, it } from "vitest";
import { LABELS, REQUESTS_KEPT } from "../limits.ts";
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
  HEIR,
  Ledger,
  OWNER,
  settled,
} from "./test-record.ts";
import { idle, parked, parkedCold, queued, running } from "./test-scenes.ts";

const reasonOf = (decision: Decision<unknown>) => (decision.kind === "refused" ? decision.refusal.reason : null);

describe("a prompt opens a turn", () => {
  it("of a new session with the claim and the request_id in one swap (E1, D15)", () => {
    const ledger = new Ledger();
    const opened = ledger.must(claimant(ledger), aPrompt("t1", { requestId: "r1", labels: { team: "a" } }));
    expect(opened).toEqual({ kind: "opened", turnId: "t1", execution: 1, coldReason: "first_turn" });
    expect(ledger.record).toMatchObject({
      epoch: 1,
      owner: OWNER,
      process: null,
      turn: { turnId: "t1", requestId: "r1", ending: null },
      execution: { number: 1, parent: null, state: "running" },
      requests: [{ requestId: "r1", turnId: "t1" }],
      labels: { team: "a" },
    });
    expect(ledger.told.map(({ id }) => id)).toEqual(["prompt:t1"]);
  });

  it("is told as started by the opening swap when it is warm, by `ready` when a process has to start (D14)", () => {
    const ledger = running();
    expect(ledger.events("started").map(({ tell }) => tell)).toMatchObject([{ tier: "new", coldReason: "first_turn" }]);
    ledger.must(ledger.owner, aSettlement());
    ledger.must(ledger.owner, aPrompt("t2", { warm: true }));
    expect(ledger.events("started")[1]?.tell).toMatchObject({ tier: "warm", coldReason: null, runner: "runner-0" });
    expect(ledger.record.process?.instance).toBe("p1");
  });

  it("after an eviction names its reason", () => {
    const ledger = idle();
    ledger.must(ledger.owner, aLoss({ reason: "idle_ttl" }));
    expect(ledger.must(claimant(ledger, HEIR), aPrompt("t2"))).toMatchObject({ coldReason: "idle_ttl" });
  });

  it("is refused while another is open, naming turn and gates (A9)", () => {
    const waiting = parked("g1", "g2").give(parked().owner, aPrompt("t2"));
    expect(waiting).toMatchObject({
      refusal: { reason: "GATES_PENDING", metadata: { turn_id: "t1", gate_ids: "g1,g2", execution: "1" } },
    });
    for (const ledger of [running(), queued()]) {
      const before = ledger.record;
      expect(reasonOf(ledger.give(ledger.owner, aPrompt("t2")))).toBe("TURN_IN_PROGRESS");
      expect(ledger.record).toBe(before);
    }
  });

  it("adds its labels to the session's, which has no more than a request may bring", () => {
    const labels = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`label-${from + index}`, "a"]));
    const ledger = new Ledger();
    ledger.must(claimant(ledger), aPrompt("t1", { labels: labels(0, LABELS - 1) }));
    ledger.must(ledger.owner, aReady("p1"));
    ledger.must(ledger.owner, aSettlement());
    const refused = ledger.give(ledger.owner, aPrompt("t2", { labels: labels(LABELS - 1, 2) }));
    expect(refused).toMatchObject({ refusal: { reason: "FIELD_INVALID", violations: [{ field: "labels" }] } });
    ledger.must(ledger.owner, aPrompt("t2", { labels: labels(1, LABELS - 1) }));
    expect(ledger.record.labels).toEqual(labels(0, LABELS));
  });

  it("only as the owner, or with a claim: a gateway opens none", () => {
    const ledger = idle();
    const before = ledger.record;
    expect(reasonOf(ledger.give(GATEWAY, aPrompt("t2")))).toBe("NOT_OWNER");
    expect(ledger.record).toBe(before);
    expect(reasonOf(new Ledger().give(GATEWAY, aPrompt("t1")))).toBe("SESSION_UNKNOWN");
  });

  it("numbers its executions on through the session", () => {
    const ledger = queued();
    ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_open"));
    ledger.must(ledger.owner, aSettlement());
    expect(ledger.must(ledger.owner, aPrompt("t2", { warm: true }))).toMatchObject({ execution: 3 });
    expect(ledger.record.execution?.parent).toBeNull();
  });
});

describe("a request_id (D15, 52)", () => {
  const opened = () => {
    const ledger = new Ledger();
    ledger.must(claimant(ledger), aPrompt("t1", { requestId: "r1", contentDigest: "c1", afterSeq: 4 }));
    ledger.must(ledger.owner, aReady("p1"));
    return ledger;
  };
  const retry = aPrompt("minted again", { requestId: "r1", contentDigest: "c1", afterSeq: 9 });
  const attached = { kind: "same", result: { kind: "attach", turnId: "t1", afterSeq: 4 } };

  it("that comes again attaches to its turn and never prompts, running, ended, or owned by another", () => {
    const ledger = opened();
    expect(ledger.give(ledger.owner, retry)).toEqual(attached);
    ledger.must(ledger.owner, aSettlement());
    expect(ledger.give(ledger.owner, retry)).toEqual(attached);
    settled(ledger);
    expect(ledger.give(claimant(ledger, HEIR), retry)).toEqual(attached);
    expect(ledger.events("prompt")).toHaveLength(1);
  });

  it("with other content is refused", () => {
    const ledger = opened();
    expect(reasonOf(ledger.give(ledger.owner, { ...retry, contentDigest: "c2" }))).toBe("IDEMPOTENCY_KEY_REUSED");
  });

  it(`is kept for ${REQUESTS_KEPT} turns`, () => {
    const ledger = opened();
    const another = (turn: number) => {
      ledger.must(ledger.owner, aSettlement(ledger.record.turn?.turnId));
      ledger.must(ledger.owner, aPrompt(`t${turn}`, { requestId: `r${turn}`, warm: true }));
    };
    for (let turn = 2; turn <= REQUESTS_KEPT; turn += 1) another(turn);
    expect(ledger.give(ledger.owner, retry)).toEqual(attached);
    another(REQUESTS_KEPT + 1);
    expect(ledger.record.requests).toHaveLength(REQUESTS_KEPT);
    expect(reasonOf(ledger.give(ledger.owner, retry))).toBe("TURN_IN_PROGRESS");
  });
});

describe("a turn has one ending (D6)", () => {
  it("and an agent that says cancelled by itself has COMPLETED with that stop reason", () => {
    const ledger = parked();
    ledger.must(ledger.owner, { ...aSettlement(), stopReason: "cancelled" });
    expect(ledger.record.turn?.ending).toMatchObject({ outcome: "completed", stopReason: "cancelled" });
  });

  it("and a second settlement, or one of another turn, is over already", () => {
    const ledger = idle();
    expect(ledger.give(ledger.owner, aSettlement())).toEqual({ kind: "same", result: { kind: "over" } });
    ledger.must(ledger.owner, aPrompt("t2", { warm: true }));
    expect(ledger.give(ledger.owner, aSettlement("t1"))).toEqual({ kind: "same", result: { kind: "over" } });
    expect(ledger.events("ended")).toHaveLength(1);
  });

  it("and after it nothing of it is open: gates, answers, commands (76, D16)", () => {
    const endings: ((ledger: Ledger) => void)[] = [
      (ledger) => ledger.must(ledger.owner, aSettlement()),
      (ledger) => {
        ledger.must(GATEWAY, aStop());
        ledger.must(ledger.owner, aSettlement());
      },
      (ledger) => {
        ledger.must(GATEWAY, aStop());
        settled(ledger);
      },
    ];
    for (const end of endings) {
      const ledger = parked("g1", "g2", "g3");
      ledger.must(GATEWAY, anAnswer("g1"));
      ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_open"));
      ledger.must(GATEWAY, anAnswer("g2"));
      end(ledger);
      expect(ledger.record).toMatchObject({ gates: [], cancel: null });
      expect(ledger.record.tombstones).toHaveLength(3);
      for (const commandId of ["command-g1", "command-g2", "cancel-1"]) {
        expect(ledger.must(GATEWAY, { type: "attempt", commandId })).toEqual({ kind: "settled" });
      }
    }
  });

  it("and leaves the agent's session loadable only if its prompt settled, also by a cancel (C2)", () => {
    const again = (end: (ledger: Ledger) => void) => {
      const ledger = idle();
      ledger.must(ledger.owner, aPrompt("t2", { warm: true }));
      end(ledger);
      return ledger.record.agentSession;
    };
    const loadable = { id: "a1", turnId: "t2" };
    expect(again((ledger) => ledger.must(ledger.owner, aSettlement("t2")))).toEqual(loadable);
    const stop = (ledger: Ledger) => ledger.must(GATEWAY, aStop());
    expect(again((ledger) => [stop(ledger), ledger.must(ledger.owner, aSettlement("t2"))])).toEqual(loadable);
    expect(again((ledger) => [stop(ledger), ledger.must(ledger.owner, aLoss())])).toBeNull();
    expect(again((ledger) => ledger.must(ledger.owner, aLoss()))).toBeNull();
    expect(again((ledger) => void settled(ledger))).toBeNull();
  });

  it("and while it is open and its process is gone the agent's session can be loaded to go on (C1, C2)", () => {
    expect(parkedCold().record.agentSession).toEqual({ id: "a1", turnId: "t1" });
  });
});

describe("denial notes (C7, 40)", () => {
  const rejected = (...notes: string[]) => {
    const gateIds = notes.map((_, index) => `g${index + 1}`);
    const ledger = parked(...gateIds);
    gateIds.forEach((gateId, index) => {
      ledger.must(GATEWAY, anAnswer(gateId, { choice: { verdict: "reject" }, note: notes[index] ?? "" }));
      ledger.must(ledger.owner, anAdmission(ledger, gateId, "gate_open"));
    });
    return ledger;
  };

  it("go out once, in a new execution of the same turn, when the prompt that asked has settled; then it ends", () => {
    const ledger = rejected("not that", "use the other");
    const told = ledger.must(ledger.owner, aSettlement());
    expect(told).toEqual({ kind: "notes", execution: 4, notes: ["not that", "use the other"] });
    expect(ledger.record).toMatchObject({
      turn: { ending: null },
      execution: { number: 4, parent: 3, state: "running" },
    });
    expect(ledger.must(ledger.owner, aSettlement())).toEqual({ kind: "ended", outcome: "completed" });
  });

  it("of an answer that never reached the agent, of an allow, or of a stopped turn stay untold", () => {
    const moot = parked();
    moot.must(GATEWAY, anAnswer("g1", { choice: { verdict: "reject" }, note: "late" }));
    expect(moot.must(moot.owner, aSettlement()).kind).toBe("ended");

    const allowed = parked();
    allowed.must(GATEWAY, anAnswer("g1", { note: "go on" }));
    allowed.must(allowed.owner, anAdmission(allowed, "g1", "gate_open"));
    expect(allowed.must(allowed.owner, aSettlement()).kind).toBe("ended");

    const stopped = rejected("no");
    stopped.must(GATEWAY, aStop());
    expect(stopped.must(stopped.owner, aSettlement())).toEqual({ kind: "ended", outcome: "cancelled" });
  });

  it("leave no gate open behind the prompt that settled", () => {
    const ledger = rejected("no");
    ledger.must(ledger.owner, aGate("g2"));
    expect(ledger.must(ledger.owner, aSettlement()).kind).toBe("notes");
    expect(ledger.record.gates).toEqual([]);
  });
});

describe("a cold start that is ready", () => {
  it("for a command tells what continues, and why it was cold", () => {
    const ledger = parkedCold();
    ledger.must(GATEWAY, anAnswer("g1"));
    ledger.must(claimant(ledger, HEIR), { type: "claim" });
    ledger.must(ledger.owner, anAdmission(ledger, "g1", "process_gone"));
    expect(ledger.events("continued")).toHaveLength(0);
    ledger.must(ledger.owner, aReady("p2", { commandId: "command-g1", coldReason: "approval_ttl" }));
    expect(ledger.events("continued")[0]?.tell).toMatchObject({ commandId: "command-g1", tier: "new" });
    expect(ledger.record).toMatchObject({ process: { instance: "p2" }, coldReason: "approval_ttl" });
  });

  it("a second time, after the first process died, is told a second time (D14)", () => {
    const ledger = parkedCold();
    ledger.must(GATEWAY, anAnswer("g1"));
    for (const [owner, instance] of [
      [HEIR, "p2"],
      [OWNER, "p3"],
    ] as const) {
      ledger.must(claimant(ledger, owner), { type: "claim" });
      ledger.must(ledger.owner, anAdmission(ledger, "g1", "process_gone"));
      ledger.must(ledger.owner, aReady(instance, { commandId: "command-g1" }));
      ledger.must(ledger.owner, aLoss());
    }
    const continued = ledger.events("continued");
    expect(new Set(continued.map(({ id }) => id)).size).toBe(2);
  });
});
