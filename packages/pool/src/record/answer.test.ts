import { describe, expect, it } from "vitest";
import type { AnswerReceipt, Decision, GiveAnswer } from "./command.ts";
import { decide } from "./decide.ts";
import {
  APPROVAL_EXPIRY_MS,
  aGate,
  aLoss,
  anAnswer,
  aPrompt,
  aStop,
  claimant,
  GATEWAY,
  gateState,
  HEIR,
  type Ledger,
  OPTIONS,
  settled,
} from "./test-record.ts";
import { applied, delivered, parked, parkedCold, queued, running, uncertain } from "./test-scenes.ts";

const refusalOf = (decision: Decision<unknown>) => (decision.kind === "refused" ? decision.refusal : null);
const receiptOf = (decision: Decision<AnswerReceipt>) => (decision.kind === "refused" ? null : decision.result);

function answer(ledger: Ledger, gateId: string, change: Partial<GiveAnswer> = {}) {
  return ledger.give(GATEWAY, anAnswer(gateId, change));
}

describe("an answer", () => {
  it("is committed with its continue command and the execution that carries it, in one swap (D4)", () => {
    const ledger = parked();
    const receipt = receiptOf(answer(ledger, "g1"));
    expect(receipt).toMatchObject({ answerId: "answer-g1", commandId: "command-g1", execution: 2, duplicate: false });
    expect(receipt).toMatchObject({ turnId: "t1", disposition: { kind: "queued" }, optionId: "allow-once" });
    expect(ledger.record.execution).toMatchObject({ number: 2, parent: 1, state: "queued", turnId: "t1" });
    expect(ledger.answer("g1")).toMatchObject({ execution: 2, attempts: 1, principal: "human", channel: "inbox" });
    expect(ledger.events("gate_answered")).toHaveLength(1);
  });

  it("joins an execution that is queued already, and the other answer keeps its pin (D4)", () => {
    const ledger = queued("g1", "g2", "g3");
    const receipt = receiptOf(answer(ledger, "g2"));
    expect(receipt).toMatchObject({ execution: 2, openGateIds: ["g3"] });
    expect(ledger.answer("g1").execution).toBe(2);
    expect(ledger.record.execution?.number).toBe(2);
  });

  it("counts the attempt of the one who commits it, but none where nobody owns the session (D8)", () => {
    const ledger = parkedCold();
    answer(ledger, "g1");
    expect(ledger.answer("g1").attempts).toBe(0);
  });

  it("the second answer to an answered gate is refused or a duplicate, and the session stays as it is (20)", () => {
    for (const ledger of [queued(), applied(), queued("g1", "g2")]) {
      const before = ledger.record;
      const same = answer(ledger, "g1", { answerId: "other", commandId: "other" });
      expect(receiptOf(same)).toMatchObject({ answerId: "answer-g1", commandId: "command-g1", duplicate: true });
      const other = answer(ledger, "g1", { choice: { verdict: "reject" } });
      expect(refusalOf(other)).toMatchObject({ reason: "GATE_ANSWERED_DIFFERENTLY" });
      expect(refusalOf(other)?.metadata).toMatchObject({ answer_id: "answer-g1", option_id: "allow-once" });
      expect(ledger.record).toBe(before);
    }
  });

  it("an answer to the previous gate leaves the gate that is open now alone (21)", () => {
    const ledger = parked();
    ledger.must(ledger.owner, { type: "withdraw_gate", gateId: "g1" });
    ledger.must(ledger.owner, aGate("g2"));
    const before = ledger.record;
    expect(refusalOf(answer(ledger, "g1"))?.reason).toBe("GATE_CANCELLED");
    expect(ledger.record).toBe(before);
    expect(ledger.record.execution?.state).toBe("parked");
    expect(receiptOf(answer(ledger, "g2"))).toMatchObject({ duplicate: false });
  });

  it("an answer for a gate of nobody is refused, and one for a session that does not exist too (22)", () => {
    const ledger = parked();
    const before = ledger.record;
    expect(refusalOf(answer(ledger, "gate-of-another-session"))?.reason).toBe("GATE_UNKNOWN");
    expect(ledger.record).toBe(before);
    const nowhere = decide(null, anAnswer("g1"), 0, { id: "op", by: GATEWAY, appended: [] });
    expect(refusalOf(nowhere)?.reason).toBe("SESSION_UNKNOWN");
  });

  it("two open gates are answered in either order, and one answered leaves the other open (23)", () => {
    for (const [first, second] of [
      ["g1", "g2"],
      ["g2", "g1"],
    ] as const) {
      const ledger = parked("g1", "g2");
      expect(receiptOf(answer(ledger, first))?.openGateIds).toEqual([second]);
      expect(gateState(ledger.record, second)).toBe("pending");
      expect(receiptOf(answer(ledger, second, { choice: { verdict: "reject" } }))?.openGateIds).toEqual([]);
      expect([ledger.answer(first).verdict, ledger.answer(second).verdict]).toEqual(["allow", "reject"]);
    }
  });

  it("of two callers who answer one gate differently, the first wins and the second is told what stands (25)", () => {
    const ledger = parked();
    const read = ledger.record;
    const by = { by: GATEWAY, appended: [] };
    const reject = anAnswer("g1", { choice: { verdict: "reject" }, answerId: "answer-b", principal: "b" });
    expect(decide(read, reject, ledger.now, { id: "b", ...by }).kind).toBe("write");
    answer(ledger, "g1", { principal: "a" });
    const again = ledger.give(GATEWAY, reject);
    expect(refusalOf(again)?.metadata).toMatchObject({ option_id: "allow-once", verdict: "allow", principal: "a" });
  });

  it("is refused once the gate's time is over, also before anybody wrote that down (33)", () => {
    for (const scene of [parked, parkedCold]) {
      const inTime = scene();
      inTime.now += APPROVAL_EXPIRY_MS - 1;
      expect(receiptOf(answer(inTime, "g1"))?.duplicate).toBe(false);
      const late = scene();
      late.now += APPROVAL_EXPIRY_MS;
      const before = late.record;
      expect(refusalOf(answer(late, "g1"))?.reason).toBe("GATE_EXPIRED");
      expect(late.record).toBe(before);
    }
  });

  it("is looked at in the contract's order: key, gate, its state, digest, option", () => {
    const ledger = parked("g1", "g2");
    answer(ledger, "g1", { idempotencyKey: "k1", contentDigest: "c1" });
    const wrong = { digest: "wrong", choice: { optionId: "nonsense" } };
    const reasons = [
      answer(ledger, "nowhere", { ...wrong, idempotencyKey: "k1", contentDigest: "c2" }),
      answer(ledger, "nowhere", wrong),
      answer(ledger, "g1", wrong),
      answer(ledger, "g2", wrong),
      answer(ledger, "g2", { ...wrong, digest: "digest of g2" }),
    ].map((decision) => refusalOf(decision)?.reason);
    expect(reasons).toEqual([
      "IDEMPOTENCY_KEY_REUSED",
      "GATE_UNKNOWN",
      "GATE_ANSWERED_DIFFERENTLY",
      "DIGEST_MISMATCH",
      "OPTION_NOT_OFFERED",
    ]);
    expect(gateState(ledger.record, "g2")).toBe("pending");
  });
});

describe("an idempotency key", () => {
  it("of the same content returns the same ids and what has become of the answer, also after the turn ended (26, 82)", () => {
    const keyed = { idempotencyKey: "k1", contentDigest: "c1" };
    const ledger = parked();
    answer(ledger, "g1", keyed);
    const retry = () => receiptOf(answer(ledger, "g1", { ...keyed, answerId: "x", commandId: "y" }));
    expect(retry()).toMatchObject({ answerId: "answer-g1", duplicate: true, disposition: { kind: "queued" } });
    settled(ledger);
    expect(retry()).toMatchObject({ disposition: { kind: "queued" } });
    ledger.must(GATEWAY, aStop());
    expect(retry()).toMatchObject({ answerId: "answer-g1", disposition: { kind: "moot", why: "cancelled" } });
    expect(ledger.record.turn?.ending?.outcome).toBe("cancelled");
  });

  it("used with other content is refused, whichever gate is named (27)", () => {
    const ledger = parked("g1", "g2");
    answer(ledger, "g1", { idempotencyKey: "k1", contentDigest: "c1" });
    const before = ledger.record;
    for (const gateId of ["g1", "g2", "nowhere"]) {
      const reused = answer(ledger, gateId, { idempotencyKey: "k1", contentDigest: "c2" });
      expect(refusalOf(reused)?.reason).toBe("IDEMPOTENCY_KEY_REUSED");
    }
    expect(ledger.record).toBe(before);
  });

  it("that is missing is not the key of another answer without one", () => {
    const ledger = parked("g1", "g2");
    answer(ledger, "g1");
    expect(receiptOf(answer(ledger, "g2"))).toMatchObject({ duplicate: false, answerId: "answer-g2" });
  });
});

describe("what an answer picks (A8)", () => {
  const twice = [...OPTIONS, { optionId: "also", name: "Also", kind: "allow_once" as const }];
  const onlyAlways = OPTIONS.filter(({ kind }) => kind !== "allow_once");

  it.each([
    ["an option that was not offered", OPTIONS, { optionId: "allow" }],
    ["ALLOW where no allow_once is offered", onlyAlways, { verdict: "allow" as const }],
    ["ALLOW where two are offered", twice, { verdict: "allow" as const }],
    ["REJECT where only reject_always is offered", [], { verdict: "reject" as const }],
    ["an option id that was offered twice", [...OPTIONS, ...OPTIONS], { optionId: "allow-once" }],
  ])("%s: OPTION_NOT_OFFERED with what there is, the gate stays open (28)", (_, options, choice) => {
    const ledger = running();
    ledger.must(ledger.owner, aGate("g1", { options }));
    const before = ledger.record;
    const refusal = refusalOf(answer(ledger, "g1", { choice }));
    expect(refusal?.reason).toBe("OPTION_NOT_OFFERED");
    expect(refusal?.metadata.options).toBe(options.map(({ optionId }) => optionId).join(","));
    expect(ledger.record).toBe(before);
  });

  it("an always option is taken only when it is named", () => {
    const ledger = parked();
    expect(receiptOf(answer(ledger, "g1", { choice: { optionId: "allow-always" } }))?.optionId).toBe("allow-always");
    expect(receiptOf(answer(parked(), "g1", { choice: { verdict: "allow" } }))?.optionId).toBe("allow-once");
  });

  it("a decision is the option: named by id or by verdict it is the same decision", () => {
    const ledger = queued();
    expect(receiptOf(answer(ledger, "g1", { choice: { optionId: "allow-once" } }))?.duplicate).toBe(true);
    const always = answer(ledger, "g1", { choice: { optionId: "allow-always" } });
    expect(refusalOf(always)?.reason).toBe("GATE_ANSWERED_DIFFERENTLY");
  });

  it("a digest that differs is refused and the gate stays open (29)", () => {
    const ledger = parked();
    const before = ledger.record;
    expect(refusalOf(answer(ledger, "g1", { digest: "digest of g2" }))?.reason).toBe("DIGEST_MISMATCH");
    expect(ledger.record).toBe(before);
    expect(receiptOf(answer(ledger, "g1", { digest: "digest of g1" }))?.duplicate).toBe(false);
  });
});

describe("a retry at any later time returns the answer's one true disposition (82)", () => {
  it.each([
    ["applied", applied],
    ["delivered", delivered],
    ["uncertain", uncertain],
  ] as const)("%s", (kind, scene) => {
    const ledger = scene();
    expect(receiptOf(answer(ledger, "g1"))).toMatchObject({ answerId: "answer-g1", disposition: { kind } });
    if (ledger.record.owner !== null) ledger.must(ledger.owner, aLoss({ reason: "idle_ttl" }));
    ledger.must(claimant(ledger, HEIR), aPrompt("t2"));
    expect(receiptOf(answer(ledger, "g1"))).toMatchObject({
      answerId: "answer-g1",
      turnId: "t1",
      disposition: { kind },
    });
  });
});
