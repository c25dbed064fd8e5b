// For tests only: sessions in the situations that tests begin with, each reached by the commands that lead there. Gate g1
// is the one that matters, of turn t1, asked by process p1; what continues cold runs as p2 on the heir.
import {
  APPROVAL_EXPIRY_MS,
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
} from "./test-record.ts";

/** t1 runs on p1. */
export function running(): Ledger {
  const ledger = new Ledger();
  ledger.must(claimant(ledger), aPrompt("t1"));
  ledger.must(ledger.owner, aReady("p1"));
  return ledger;
}

/** t1 has ended, p1 is idle. */
export function idle(): Ledger {
  const ledger = running();
  ledger.must(ledger.owner, aSettlement());
  return ledger;
}

/** p1 waits for these gates. */
export function parked(...gateIds: string[]): Ledger {
  const ledger = running();
  for (const gateId of gateIds.length > 0 ? gateIds : ["g1"]) ledger.must(ledger.owner, aGate(gateId));
  return ledger;
}

/** The gates are open, p1 is gone, nobody owns the session. */
export function parkedCold(...gateIds: string[]): Ledger {
  const ledger = parked(...gateIds);
  ledger.must(ledger.owner, aLoss({ reason: "approval_ttl" }));
  return ledger;
}

/** g1 is allowed and not delivered, p1 lives. */
export function queued(...gateIds: string[]): Ledger {
  const ledger = parked(...gateIds);
  ledger.must(GATEWAY, anAnswer("g1"));
  return ledger;
}

export function queuedCold(...gateIds: string[]): Ledger {
  const ledger = parkedCold(...gateIds);
  ledger.must(GATEWAY, anAnswer("g1"));
  return ledger;
}

/** The answer of g1 is on its way into p1. */
export function sending(...gateIds: string[]): Ledger {
  const ledger = queued(...gateIds);
  ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_open"));
  return ledger;
}

export function applied(...gateIds: string[]): Ledger {
  const ledger = sending(...gateIds);
  ledger.must(ledger.owner, { type: "report_answer", gateId: "g1" });
  return ledger;
}

/** Written to p1, whose prompt settled without a report. */
export function delivered(): Ledger {
  const ledger = sending();
  ledger.must(ledger.owner, aSettlement());
  return ledger;
}

/** The heir has claimed the session and starts a process that shall be asked for g1's call. */
export function starting(...gateIds: string[]): Ledger {
  const ledger = queuedCold(...gateIds);
  ledger.must(claimant(ledger, HEIR), { type: "claim" });
  ledger.must(ledger.owner, anAdmission(ledger, "g1", "process_gone"));
  return ledger;
}

/** The heir's p2 continues, and has not asked for g1's call yet. */
export function stored(...gateIds: string[]): Ledger {
  const ledger = starting(...gateIds);
  ledger.must(ledger.owner, aReady("p2", { coldReason: "approval_ttl", commandId: "command-g1" }));
  return ledger;
}

/** p1 died while the answer of g1 was being written. */
export function uncertain(...gateIds: string[]): Ledger {
  const ledger = sending(...gateIds);
  ledger.must(ledger.owner, aLoss());
  return ledger;
}

/** A Stop met the answer of g1 before its delivery. */
export function mooted(): Ledger {
  const ledger = queued();
  ledger.must(GATEWAY, aStop());
  return ledger;
}

/** A Stop closed g1; p1 has not settled. */
export function cancelled(): Ledger {
  const ledger = parked();
  ledger.must(GATEWAY, aStop());
  return ledger;
}

export function withdrawn(): Ledger {
  const ledger = parked();
  ledger.must(ledger.owner, { type: "withdraw_gate", gateId: "g1" });
  return ledger;
}

/** p2 asked for the call of g1 again, as gate g2. */
export function superseded(): Ledger {
  const ledger = parkedCold("g1", "g0");
  ledger.must(GATEWAY, anAnswer("g0"));
  ledger.must(claimant(ledger, HEIR), { type: "claim" });
  ledger.must(ledger.owner, anAdmission(ledger, "g0", "process_gone"));
  ledger.must(ledger.owner, aReady("p2", { coldReason: "approval_ttl", commandId: "command-g0" }));
  ledger.must(ledger.owner, aGate("g2", { instance: "p2", digest: "digest of g1" }));
  return ledger;
}

export function expired(): Ledger {
  const ledger = parkedCold();
  ledger.now += APPROVAL_EXPIRY_MS;
  ledger.must(GATEWAY, { type: "expire_gates" });
  return ledger;
}
