import { describe, expect, it } from "vitest";
import {
  CONFIG_BYTES,
  ERROR_MESSAGE_CHARACTERS,
  LABELS,
  NOTES_BYTES,
  OPEN_GATES_PER_SESSION,
  PREVIEW_CHARACTERS,
  RECORD_BYTES,
  REQUESTS_KEPT,
  STOPS_KEPT,
  TOMBSTONE_BYTES,
  TOMBSTONES_KEPT,
} from "../limits.ts";
import type { DecisionOf, RecordCommand, Writer } from "./command.ts";
import type { GateOption, SessionRecord, Tombstone } from "./record.ts";
import { bytesOf, fitted, leastBytes } from "./size.ts";
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
  Ledger,
  OPTIONS,
} from "./test-record.ts";
import { applied, parked } from "./test-scenes.ts";

/** As long as callers and agents may make an id, a key or a name. */
const LONGEST = 256;
/** Thousands of writes of large records, on a busy machine. */
const FILL_MS = 30_000;
const NOTE = "n".repeat(16 * 1024);
const long = (name: string): string => name.padEnd(LONGEST, "-");

const MOST_OPTIONS: readonly GateOption[] = Array.from({ length: 16 }, (_, index) => ({
  optionId: long(`option-${index}`),
  name: long(`name-${index}`),
  kind: index === 0 ? "allow_once" : index === 1 ? "reject_once" : "allow_always",
}));

/** A ledger that fails as soon as a record is written that no store would take. */
class StrictLedger extends Ledger {
  override give<C extends RecordCommand>(by: Writer, command: C, appended: readonly string[] = []): DecisionOf<C> {
    const decision = super.give(by, command, appended);
    const bytes = bytesOf(this.held);
    if (bytes > RECORD_BYTES) throw new Error(`${command.type} makes a record of ${bytes} bytes`);
    return decision;
  }

  /** Whoever owns the session has appended everything. */
  appended(): readonly string[] {
    return this.record.outbox.map(({ id }) => id);
  }
}

function config() {
  const { config: plain } = aPrompt("t");
  const { limits, ...requested } = plain;
  return { ...requested, limits, systemPrompt: "s".repeat(CONFIG_BYTES - bytesOf(requested)) };
}

function labels(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: LABELS }, (_, index) => [`${index}`.padEnd(63, "k"), long("value")]));
}

/** Turns were opened and stopped until every mark that a record keeps is there. */
function crowded(): StrictLedger {
  const ledger = new StrictLedger();
  ledger.held = CROWDED;
  return ledger;
}

const CROWDED = crowd().record;

function crowd(): StrictLedger {
  const ledger = new StrictLedger();
  const secretNames = Array.from({ length: 64 }, (_, index) => `${index}`.padEnd(128, "s"));
  for (let turn = 1; turn <= Math.max(REQUESTS_KEPT, STOPS_KEPT) + 2; turn++) {
    const prompt = aPrompt(`t${turn}`, {
      requestId: long(`request-${turn}`),
      contentDigest: "d".repeat(64),
      config: config(),
      labels: labels(),
      secretNames,
      principal: long("principal"),
      promptPreview: "p".repeat(PREVIEW_CHARACTERS),
    });
    const by = ledger.held?.owner ? ledger.owner : claimant(ledger);
    ledger.give(by, prompt, ledger.held === null ? [] : ledger.appended());
    ledger.must(ledger.owner, aReady("p1"));
    const stop = aStop({
      idempotencyKey: long(`stop-${turn}`),
      contentDigest: "d".repeat(64),
      commandId: `stop-${turn}`,
    });
    ledger.must(GATEWAY, stop);
    ledger.must(ledger.owner, aSettlement(`t${turn}`));
  }
  ledger.give(
    ledger.owner,
    aPrompt("last", { config: config(), labels: labels(), secretNames, warm: true }),
    ledger.appended(),
  );
  return ledger;
}

/** A turn on a live process in a record that holds nothing else yet. */
function plain(): StrictLedger {
  const ledger = new StrictLedger();
  ledger.must(claimant(ledger), aPrompt("last"));
  ledger.must(ledger.owner, aReady("p1"));
  return ledger;
}

function bigGate(gateId: string, options: readonly GateOption[]) {
  const preview = { ...aGate(gateId).preview, rawInput: "x".repeat(PREVIEW_CHARACTERS), truncated: true };
  return aGate(gateId, { turnId: "last", preview, options, digest: "d".repeat(64) + gateId });
}

function bigAnswer(gateId: string, note: string) {
  return anAnswer(gateId, {
    choice: { verdict: "reject" },
    note,
    idempotencyKey: long(gateId),
    contentDigest: "d".repeat(64),
    principal: long("principal"),
    channel: "c".repeat(64),
    traceparent: "t".repeat(55),
  });
}

/** Opens one gate after another and answers each, until the first is forgotten. */
function askOften(ledger: StrictLedger, options: readonly GateOption[]): void {
  for (let round = 1; (ledger.record.tombstones[0]?.gateId ?? "early-1") === "early-1"; round++) {
    const gateId = `early-${round}`;
    ledger.give(ledger.owner, bigGate(gateId, options), ledger.appended());
    ledger.must(GATEWAY, bigAnswer(gateId, ""));
    ledger.must(ledger.owner, anAdmission(ledger, gateId, "gate_open"));
    ledger.must(ledger.owner, { type: "report_answer", gateId });
  }
}

/** Opens gates until no more are taken: their ids. */
function openAll(ledger: StrictLedger, options: readonly GateOption[]): readonly string[] {
  for (let count = 1; ; count++) {
    const opened = ledger.give(ledger.owner, bigGate(`open-${count}`, options), ledger.appended());
    if (opened.kind === "same") return ledger.record.gates.map(({ gateId }) => gateId);
  }
}

describe.each([
  ["a record that is full of everything else", crowded, MOST_OPTIONS, 2],
  ["a record that is full of everything else, with ordinary gates", crowded, OPTIONS, 8],
  ["a record with the largest gates", plain, MOST_OPTIONS, 12],
  ["a record with ordinary gates", plain, OPTIONS, OPEN_GATES_PER_SESSION],
])("%s", { timeout: FILL_MS }, (_, begin, options, atLeast) => {
  it("can be written at every step, and takes a Stop and a loss", () => {
    const ledger = begin();
    askOften(ledger, options);
    const open = openAll(ledger, options);
    expect(open.length).toBeGreaterThanOrEqual(atLeast);
    const reasons = open.map((gateId) => {
      const answered = ledger.give(GATEWAY, bigAnswer(gateId, NOTE));
      return answered.kind === "refused" ? answered.refusal.reason : answered.kind;
    });
    expect(new Set(reasons)).toEqual(new Set(["write", "RECORD_TOO_LARGE"]));
    for (const gateId of open)
      ledger.must(GATEWAY, bigAnswer(gateId, reasons[open.indexOf(gateId)] === "write" ? NOTE : ""));
    for (const gateId of open) ledger.must(ledger.owner, anAdmission(ledger, gateId, "gate_open"));
    ledger.must(GATEWAY, aStop({ expectedTurn: "last", idempotencyKey: long("the last stop") }));
    ledger.must(ledger.owner, aLoss({ error: { reason: "STREAM_CUT", message: "m".repeat(100_000), nextStep: "" } }));
    expect(ledger.record.turn?.ending?.outcome).toBe("cancelled");
  });
});

describe("the size of a value", () => {
  it("is that of its JSON in UTF-8, whatever it is written in", () => {
    for (const [text, bytes] of [
      ["abc", 5],
      ["\u00e9", 4],
      ["\u6f22", 5],
      ["\u{1f600}", 6],
    ] as const) {
      expect(bytesOf(text)).toBe(bytes);
    }
  });
});

describe("a record full of everything but gates", () => {
  it("holds all the marks there may be, and an ending whose error is cut", () => {
    const ledger = crowded();
    expect(ledger.record.requests).toHaveLength(REQUESTS_KEPT);
    expect(ledger.record.stops).toHaveLength(STOPS_KEPT);
    ledger.must(ledger.owner, aLoss({ error: { reason: "STREAM_CUT", message: "m".repeat(300_000), nextStep: "" } }));
    expect(ledger.record.turn?.ending?.error?.message).toBe("m".repeat(ERROR_MESSAGE_CHARACTERS));
  });
});

describe("a session that goes on for long", { timeout: FILL_MS }, () => {
  it("forgets its oldest closed gates by their size, and answers on", () => {
    const ledger = parked();
    for (let round = 1; round <= 300; round++) {
      const gateId = `round-${round}`;
      ledger.must(ledger.owner, aGate(gateId));
      ledger.must(GATEWAY, anAnswer(gateId, { note: NOTE }));
      ledger.must(ledger.owner, anAdmission(ledger, gateId, "gate_open"));
      ledger.give(
        ledger.owner,
        { type: "report_answer", gateId },
        ledger.record.outbox.map(({ id }) => id),
      );
    }
    const { tombstones } = ledger.record;
    expect(bytesOf(tombstones)).toBeLessThanOrEqual(TOMBSTONE_BYTES);
    expect(tombstones.length).toBeGreaterThan(100);
    expect(tombstones.at(-1)?.gateId).toBe("round-300");
    expect(ledger.give(GATEWAY, anAnswer("round-1"))).toMatchObject({ refusal: { reason: "GATE_UNKNOWN" } });
    expect(ledger.must(GATEWAY, anAnswer("round-300"))).toMatchObject({ duplicate: true });
  });
});

describe("denial notes that wait to be told", () => {
  const reject = (ledger: Ledger, gateId: string, note: string) =>
    ledger.give(GATEWAY, anAnswer(gateId, { choice: { verdict: "reject" }, note }));

  it("are taken up to NOTES_BYTES together; then only answers without one are", () => {
    const ledger = parked("g1", "g2", "g3", "g4");
    expect(reject(ledger, "g1", "n".repeat(NOTES_BYTES / 2 - 1_024)).kind).toBe("write");
    expect(reject(ledger, "g2", "n".repeat(NOTES_BYTES / 2 - 1_024)).kind).toBe("write");
    const before = ledger.record;
    expect(reject(ledger, "g3", "n".repeat(2_048))).toMatchObject({
      refusal: { reason: "RECORD_TOO_LARGE", nextStep: expect.stringContaining("without a note") },
    });
    expect(ledger.record).toBe(before);
    expect(reject(ledger, "g3", "").kind).toBe("write");
    expect(ledger.give(GATEWAY, anAnswer("g4", { note: NOTE })).kind).toBe("write");
    expect(ledger.answer("g4").note).toBe("");
  });

  it("are forgotten when the turn ends without their being told", () => {
    const ledger = parked("g1");
    reject(ledger, "g1", "use the other file");
    ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_open"));
    ledger.must(ledger.owner, { type: "report_answer", gateId: "g1" });
    expect(ledger.answer("g1").note).toBe("use the other file");
    ledger.must(ledger.owner, aLoss());
    expect(JSON.stringify(ledger.record)).not.toContain("use the other file");
  });

  it("keep their closed gate, however many close after it", () => {
    const ledger = parked("g1");
    reject(ledger, "g1", "use the other file");
    ledger.must(ledger.owner, anAdmission(ledger, "g1", "gate_open"));
    ledger.must(ledger.owner, { type: "report_answer", gateId: "g1" });
    const [due] = ledger.record.tombstones;
    if (due === undefined) throw new Error("g1 is not closed");
    const later: Tombstone[] = Array.from({ length: TOMBSTONES_KEPT + 10 }, (_, index) => ({
      ...due,
      gateId: `later-${index}`,
      state: { kind: "closed", why: "withdrawn", supersededBy: null },
    }));
    const crowd: SessionRecord = { ...ledger.record, tombstones: [due, ...later] };
    const kept = fitted(crowd).tombstones;
    expect(kept[0]).toBe(due);
    expect(kept.slice(1)).toEqual(later.slice(-(kept.length - 1)));
    expect(kept.length - 1).toBeLessThanOrEqual(TOMBSTONES_KEPT);
    expect(leastBytes(crowd)).toBe(bytesOf({ ...crowd, tombstones: [due] }));
    ledger.held = { ...ledger.record, tombstones: kept };
    expect(ledger.must(ledger.owner, aSettlement())).toMatchObject({ kind: "notes", notes: ["use the other file"] });
    expect(JSON.stringify(ledger.record)).not.toContain("use the other file");
  });
});

describe("a closed gate", () => {
  it("keeps of its options what ALLOW and REJECT resolve to, and no names", () => {
    const [closed] = applied().record.tombstones;
    expect(closed?.options).toEqual(OPTIONS.map(({ optionId, kind }) => ({ optionId, kind })));
  });
});
