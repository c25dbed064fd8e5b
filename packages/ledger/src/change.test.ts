import {
  OUTBOX_EVENTS,
  type RecordCommand,
  type StateEvent,
  type Store,
  SWAP_ATTEMPTS,
  SWAP_BUDGET_MS,
} from "@holdfast/pool";
import { ManualClock } from "@holdfast/runtime";
import { openMemoryStore } from "@holdfast/store";
import { describe, expect, test } from "vitest";
import { changeRecord } from "./change.ts";
import { type Fault, FaultyStore } from "./fixture/faulty-store.ts";
import {
  A_STOP,
  aGate,
  anAnswer,
  answerIn,
  aPrompt,
  claimantOf,
  GATEWAY,
  HEIR,
  idleClock,
  KEY,
  must,
  ownerOf,
  parked,
  recordOf,
  running,
  worldOf,
} from "./fixture/session.ts";

const ALWAYS = 64;
const always = (fault: Fault): readonly Fault[] => Array.from({ length: ALWAYS }, () => fault);

describe("a change", () => {
  test("is decided on what the store holds, and gives back the record and revision that are in it", async () => {
    const { store, held } = await parked("g1");
    const changed = await changeRecord(worldOf(store, "w"), KEY, anAnswer("g1", "w"), GATEWAY);
    expect(changed).toMatchObject({ kind: "written", result: { answerId: "answer-w", duplicate: false } });
    expect(changed.held).toEqual({ revision: held.revision + 1, record: await recordOf(store) });
  });

  test("with a hint needs no read, and a hint that is old is corrected by the conflict", async () => {
    const { store, held } = await parked("g1", "g2");
    const faulty = new FaultyStore(store, []);
    const first = await changeRecord(worldOf(faulty, "w"), KEY, anAnswer("g1", "w"), GATEWAY, { held });
    expect(first.kind).toBe("written");
    expect(faulty.calls).toBe(1);
    const second = await changeRecord(worldOf(faulty, "v"), KEY, anAnswer("g2", "v"), GATEWAY, { held });
    expect(second.kind).toBe("written");
    expect(answerIn(await recordOf(store), "g1")?.answerId).toBe("answer-w");
  });

  test("is never refused, and never taken as settled, by an old hint alone", async () => {
    const { store, held: before } = await running();
    const held = await must(worldOf(store, "owner"), aGate("g1"), ownerOf(before));
    const answered = await changeRecord(worldOf(store, "w"), KEY, anAnswer("g1", "w"), GATEWAY, { held: before });
    expect(answered.kind).toBe("written");
    const command = { type: "attempt", commandId: "command-w" } as const;
    const attempted = await changeRecord(worldOf(store, "v"), KEY, command, GATEWAY, { held });
    expect(attempted).toMatchObject({ kind: "written", result: { kind: "send" } });
  });

  test("that is refused says so with the record it was refused on, and writes nothing", async () => {
    const { store, held } = await parked("g1");
    const changed = await changeRecord(worldOf(store, "w"), KEY, anAnswer("g9", "w"), GATEWAY);
    expect(changed).toMatchObject({ kind: "refused", held, refusal: { reason: "GATE_UNKNOWN" } });
    expect(await store.records.get(KEY)).toMatchObject({ revision: held.revision });
  });

  test("of a session that does not exist is refused without a record", async () => {
    const changed = await changeRecord(worldOf(openMemoryStore(), "w"), KEY, A_STOP, GATEWAY);
    expect(changed).toMatchObject({ kind: "refused", held: null, refusal: { reason: "SESSION_UNKNOWN" } });
  });

  test("by an owner at an old epoch is refused, whatever it believes the record to be (D2)", async () => {
    const { store, held } = await parked("g1");
    const gateway = worldOf(store, "g");
    const dead = held.record.owner;
    if (dead === null) throw new Error("nobody owns it");
    const settled = await must(gateway, { type: "settle_ownerless", dead }, GATEWAY);
    await must(worldOf(store, "h"), { type: "claim" }, claimantOf(settled, HEIR));
    const late = await changeRecord(worldOf(store, "w"), KEY, aGate("g2"), ownerOf(held), { held });
    expect(late).toMatchObject({ kind: "refused", refusal: { reason: "STALE_EPOCH" } });
    expect((await recordOf(store)).gates.map(({ gateId }) => gateId)).toEqual(["g1"]);
  });
});

describe("a swap whose outcome is unknown (D1)", () => {
  test.each<readonly [string, readonly Fault[]]>([
    ["is in", [{ kind: "reply_lost" }, { kind: "reply_lost" }]],
    ["is not in", [{ kind: "call_lost" }, { kind: "call_lost" }]],
    ["comes in later", [{ kind: "late", calls: 1 }, { kind: "call_lost" }]],
    [
      "comes in later, twice",
      [
        { kind: "late", calls: 2 },
        { kind: "late", calls: 0 },
      ],
    ],
  ])("and %s is sent again unchanged until it is definite, and applies once", async (_, faults) => {
    const { store, held } = await parked("g1");
    const faulty = new FaultyStore(store, faults);
    const changed = await changeRecord(worldOf(faulty, "w"), KEY, anAnswer("g1", "w"), GATEWAY, { held });
    await faulty.settle();
    expect(changed).toMatchObject({ kind: "written", result: { duplicate: false } });
    expect(await store.records.get(KEY)).toMatchObject({ revision: held.revision + 1 });
    expect(changed.held?.record).toEqual(await recordOf(store));
  });

  test("recognises itself below a later write of somebody else, which stays", async () => {
    const { store, held } = await parked("g1", "g2");
    const rival = async () => void (await must(worldOf(store, "rival"), anAnswer("g2", "rival"), GATEWAY));
    const faulty = new FaultyStore(store, [{ kind: "reply_lost" }, { kind: "rival" }], rival);
    const changed = await changeRecord(worldOf(faulty, "w"), KEY, anAnswer("g1", "w"), GATEWAY, { held });
    expect(changed).toMatchObject({ kind: "written", held: { revision: held.revision + 1 } });
    const record = await recordOf(store);
    expect([answerIn(record, "g1")?.answerId, answerIn(record, "g2")?.answerId]).toEqual(["answer-w", "answer-rival"]);
  });

  test("is found in the record, also by a store that takes it for a conflict", async () => {
    const { store, held } = await parked("g1");
    const forgetful: Store = {
      ...store,
      records: {
        ...store.records,
        async swap(key, revision, ...write) {
          const read = await store.records.get(key);
          const isOld = read.kind === "found" && read.revision !== revision;
          return isOld ? { kind: "conflict" } : store.records.swap(key, revision, ...write);
        },
      },
    };
    const faulty = new FaultyStore(forgetful, [{ kind: "reply_lost" }]);
    const changed = await changeRecord(worldOf(faulty, "w"), KEY, anAnswer("g1", "w"), GATEWAY, { held });
    expect(changed).toMatchObject({ kind: "written", result: { answerId: "answer-w", duplicate: false } });
    expect(await store.records.get(KEY)).toMatchObject({ revision: held.revision + 1 });
  });

  test("whose operation the record may have forgotten is not written again: a retry finds its effect", async () => {
    const gates = Array.from({ length: 10 }, (_, index) => `g${index}`);
    const { store, held } = await parked("mine", ...gates);
    const rival = async () => {
      for (const gate of gates) await must(worldOf(store, gate), anAnswer(gate, gate), GATEWAY);
    };
    const faulty = new FaultyStore(store, [{ kind: "reply_lost" }, { kind: "rival" }], rival);
    const changed = await changeRecord(worldOf(faulty, "w"), KEY, anAnswer("mine", "w"), GATEWAY, { held });
    expect(changed).toMatchObject({ kind: "refused", refusal: { reason: "STORE_UNAVAILABLE" } });
    const retried = await changeRecord(worldOf(faulty, "v"), KEY, anAnswer("mine", "v"), GATEWAY);
    expect(retried).toMatchObject({ kind: "same", result: { answerId: "answer-w", duplicate: true } });
    expect((await recordOf(store)).answerCount).toBe(gates.length + 1);
  });
});

describe("a store that does not answer", () => {
  test.each<readonly [string, Fault, boolean]>([
    ["the write may be in", { kind: "reply_lost" }, true],
    ["the write may be nowhere", { kind: "call_lost" }, false],
    ["the write may come in afterwards", { kind: "late", calls: ALWAYS }, true],
  ])("is STORE_UNAVAILABLE after the budget, which proves nothing: %s", async (_, fault, isIn) => {
    const { store, held } = await parked("g1");
    const clock = new ManualClock();
    const faulty = new FaultyStore(store, always(fault));
    const world = worldOf(faulty, "w", idleClock(clock));
    const changed = await changeRecord(world, KEY, anAnswer("g1", "w"), GATEWAY, { held });
    await faulty.settle();
    expect(changed).toMatchObject({ kind: "refused", refusal: { reason: "STORE_UNAVAILABLE" } });
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(SWAP_BUDGET_MS);
    expect(clock.monotonicMs()).toBeLessThan(SWAP_BUDGET_MS + 200);
    expect(faulty.calls).toBeLessThanOrEqual(SWAP_ATTEMPTS);
    expect(answerIn(await recordOf(store), "g1")?.answerId ?? null).toBe(isIn ? "answer-w" : null);
  });

  test("is asked at most SWAP_ATTEMPTS times, however much time there is", async () => {
    const { store, held } = await parked("g1");
    const faulty = new FaultyStore(store, always({ kind: "call_lost" }));
    const options = { held, budgetMs: 1_000_000 };
    const changed = await changeRecord(worldOf(faulty, "w"), KEY, anAnswer("g1", "w"), GATEWAY, options);
    expect(changed).toMatchObject({ kind: "refused", refusal: { reason: "STORE_UNAVAILABLE" } });
    expect(faulty.calls).toBe(SWAP_ATTEMPTS);
  });

  test("for a moment when it is read is read again", async () => {
    const { store } = await parked("g1");
    const faulty = new FaultyStore(store, always({ kind: "call_lost" }).slice(0, 5));
    const changed = await changeRecord(worldOf(faulty, "w"), KEY, anAnswer("g1", "w"), GATEWAY);
    expect(changed.kind).toBe("written");
  });

  test("when it is read is STORE_UNAVAILABLE after the budget", async () => {
    const { store } = await parked("g1");
    const faulty = new FaultyStore(store, always({ kind: "call_lost" }));
    const changed = await changeRecord(worldOf(faulty, "w"), KEY, anAnswer("g1", "w"), GATEWAY);
    expect(changed).toMatchObject({ kind: "refused", held: null, refusal: { reason: "STORE_UNAVAILABLE" } });
  });

  test("is told from a bug of ours, which is thrown", async () => {
    const { store } = await parked("g1");
    const broken = { ...store, records: { ...store.records, get: () => Promise.reject(new TypeError("a bug")) } };
    await expect(changeRecord(worldOf(broken, "w"), KEY, A_STOP, GATEWAY)).rejects.toThrow(TypeError);
  });
});

describe("a record", () => {
  test("that would be larger than the limit is RECORD_TOO_LARGE, and stays as it was", async () => {
    const { store, held } = await running();
    const process = { instance: "p1", pid: 100, tier: "new" } as const;
    const agentSessionId = "x".repeat(300 * 1024);
    const ready = { type: "ready", process, agentSessionId, coldReason: "first_turn", commandId: null } as const;
    const changed = await changeRecord(worldOf(store, "w"), KEY, ready, ownerOf(held));
    expect(changed).toMatchObject({ kind: "refused", held, refusal: { reason: "RECORD_TOO_LARGE" } });
    expect(await store.records.get(KEY)).toMatchObject({ revision: held.revision, record: held.record });
  });

  test.each([
    ["of a newer format", '{"format":99}'],
    ["that is damaged", '{"format":1,'],
  ])("%s is RECORD_UNREADABLE, is not touched, and hides no other session", async (_, document) => {
    const store = openMemoryStore([{ key: KEY, document }]);
    const changed = await changeRecord(worldOf(store, "w"), KEY, aPrompt(), claimantOf(null));
    expect(changed).toMatchObject({
      kind: "refused",
      held: null,
      refusal: { reason: "RECORD_UNREADABLE", metadata: { session_id: KEY.sessionId } },
    });
    expect((await store.records.get(KEY)).kind).toBe("unreadable");
    const other = { ...aPrompt(), sessionId: "other" };
    const key = { ...KEY, sessionId: "other" };
    expect((await changeRecord(worldOf(store, "v"), key, other, claimantOf(null))).kind).toBe("written");
  });
});

describe("the outbox", () => {
  const waiting = (count: number): StateEvent[] =>
    Array.from({ length: count }, (_, index) => ({
      id: `recoverable:${index}`,
      turnId: "t1",
      execution: 1,
      at: 0,
      tell: { type: "recoverable", commandId: `c${index}`, reason: "attempts_spent" },
    }));

  async function crowded(count: number) {
    const { store, held } = await parked("g1");
    const record = { ...held.record, outbox: waiting(count), operations: ["crowd"] };
    const outcome = await store.records.swap(KEY, held.revision, record, "crowd");
    if (outcome.kind !== "swapped") throw new Error(outcome.kind);
    return { store, revision: outcome.revision };
  }

  test("takes OUTBOX_EVENTS events", async () => {
    const { store } = await crowded(OUTBOX_EVENTS - 1);
    expect((await changeRecord(worldOf(store, "w"), KEY, anAnswer("g1", "w"), GATEWAY)).kind).toBe("written");
    expect((await recordOf(store)).outbox).toHaveLength(OUTBOX_EVENTS);
  });

  test("refuses the change that would add one more, writes nothing and says so", async () => {
    const { store, revision } = await crowded(OUTBOX_EVENTS);
    const changed = await changeRecord(worldOf(store, "w"), KEY, anAnswer("g1", "w"), GATEWAY);
    expect(changed).toMatchObject({
      kind: "refused",
      refusal: { reason: "STORE_UNAVAILABLE", message: expect.stringContaining("nothing was written") },
    });
    expect(await store.records.get(KEY)).toMatchObject({ revision });
  });

  test("has room again for the one who knows events to be in the log: its swap drops them (D14)", async () => {
    const { store } = await crowded(OUTBOX_EVENTS);
    const appended = ["recoverable:0", "recoverable:1"];
    const changed = await changeRecord(worldOf(store, "w"), KEY, anAnswer("g1", "w"), GATEWAY, { appended });
    expect(changed.kind).toBe("written");
    const ids = (await recordOf(store)).outbox.map(({ id }) => id);
    expect(ids).toHaveLength(OUTBOX_EVENTS - 1);
    expect(ids).not.toContain("recoverable:0");
  });
});

test("a command with nothing to write is the same, with the record as it was read", async () => {
  const { store, held } = await parked("g1");
  const command: RecordCommand = { type: "expire_gates" };
  const changed = await changeRecord(worldOf(store, "w"), KEY, command, GATEWAY);
  expect(changed).toEqual({ kind: "same", held, result: { kind: "done" } });
});
