import type { Store } from "@holdfast/pool";
import { openMemoryStore } from "@holdfast/store";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Held } from "./change.ts";
import { fault } from "./fixture/faults.ts";
import { type Fault, FaultyStore } from "./fixture/faulty-store.ts";
import {
  anAnswer,
  answerIn,
  claimantOf,
  GATEWAY,
  HEIR,
  KEY,
  logOf,
  must,
  OWNER,
  ownerOf,
  parked,
  recordOf,
  running,
  worldOf,
} from "./fixture/session.ts";
import { type Settled, settleOwnerless, tellOwnerless } from "./settle.ts";

const leaseOf = (store: Store, owner: typeof OWNER) =>
  store.leases.swap(owner.runner, 0, { ...owner, host: "host-a", state: "live", beat: 0 }, `lease-${owner.runner}`);

const idsIn = async (store: Store) => (await logOf(store)).map(({ id }) => id);

/** Again when the store could not be asked, as every reader does. */
async function settled(store: Store, name: string, held: Held): Promise<Extract<Settled, { kind: "settled" }>> {
  for (;;) {
    try {
      const outcome = await settleOwnerless(worldOf(store, name), KEY, held);
      if (outcome.kind === "settled") return outcome;
      if (outcome.refusal.reason !== "STORE_UNAVAILABLE") throw new Error(outcome.refusal.message);
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "StoreUnavailable") throw error;
    }
  }
}

describe("a record whose owner is dead", () => {
  test("is settled by one swap: owner none, epoch + 1, the turn lost, and the log tells it (D10)", async () => {
    const { store, held } = await running();
    const outcome = await settled(store, "g", held);
    expect(outcome.owner).toEqual({ kind: "none" });
    expect(outcome.held).toEqual({ revision: held.revision + 1, record: await recordOf(store) });
    expect(outcome.held.record).toMatchObject({ owner: null, epoch: held.record.epoch + 1, lastRunner: OWNER.runner });
    expect(outcome.held.record.turn?.ending).toMatchObject({ outcome: "lost", stopReason: "owner_dead" });
    expect(await idsIn(store)).toEqual(outcome.held.record.outbox.map(({ id }) => id));
    expect((await store.events.tail(KEY)).epoch).toBe(held.record.epoch + 1);
  });

  test("keeps its gates answerable, cold, and a queued answer queued", async () => {
    const { store, held } = await parked("g1", "g2");
    await must(worldOf(store, "h"), anAnswer("g1", "h"), GATEWAY);
    const { record } = (await settled(store, "g", held)).held;
    expect(record.execution?.state).toBe("queued");
    expect(answerIn(record, "g1")?.disposition).toEqual({ kind: "queued" });
    expect(record.gates.map(({ gateId, warm }) => [gateId, warm])).toEqual([
      ["g1", false],
      ["g2", false],
    ]);
  });

  test("is settled again, and told again, without an effect", async () => {
    const { store, held } = await running();
    const first = await settled(store, "g", held);
    const second = await settled(store, "h", held);
    await tellOwnerless(worldOf(store, "i"), KEY, first.held);
    expect(second.held).toEqual(first.held);
    expect(await idsIn(store)).toEqual(first.held.record.outbox.map(({ id }) => id));
  });

  test("that another gateway settled and did not tell is told by the next one", async () => {
    const { store, held } = await running();
    const silent = await must(worldOf(store, "dead"), { type: "settle_ownerless", dead: OWNER }, GATEWAY);
    expect(await idsIn(store)).toEqual([]);
    const outcome = await settled(store, "g", held);
    expect(outcome.held).toEqual(silent);
    expect(await idsIn(store)).toEqual(silent.record.outbox.map(({ id }) => id));
  });
});

describe("a record is left alone", () => {
  test("when its owner lives", async () => {
    const { store, held } = await running();
    await leaseOf(store, OWNER);
    expect(await settled(store, "g", held)).toMatchObject({ held, owner: { kind: "alive", owner: OWNER } });
    expect(await store.records.get(KEY)).toMatchObject({ revision: held.revision });
  });

  test("when nobody owns it", async () => {
    const { store, held } = await running();
    const { held: free } = await settled(store, "g", held);
    expect(await settled(store, "h", free)).toEqual({ kind: "settled", held: free, owner: { kind: "none" } });
    expect(await store.records.get(KEY)).toMatchObject({ revision: free.revision });
  });

  test("when what was read is old and a living heir has it: the record is looked at again", async () => {
    const { store, held } = await running();
    const free = await settled(store, "g", held);
    await leaseOf(store, HEIR);
    const claimed = await must(worldOf(store, "h"), { type: "claim" }, claimantOf(free.held, HEIR));
    const outcome = await settled(store, "late", held);
    expect(outcome).toMatchObject({ held: claimed, owner: { kind: "alive", owner: HEIR } });
  });

  test("when whether its owner lives cannot be asked", async () => {
    const { store, held } = await running();
    const faulty = new FaultyStore(store, [{ kind: "call_lost" }]);
    await expect(settleOwnerless(worldOf(faulty, "g"), KEY, held)).rejects.toMatchObject({ name: "StoreUnavailable" });
    expect(await store.records.get(KEY)).toMatchObject({ revision: held.revision });
  });

  test("when it cannot be written: STORE_UNAVAILABLE, and nothing is told", async () => {
    const { store, held } = await running();
    const lost = Array.from({ length: 64 }, (): Fault => ({ kind: "call_lost" }));
    const faulty = new FaultyStore(store, [{ kind: "none" }, ...lost]);
    const outcome = await settleOwnerless(worldOf(faulty, "g"), KEY, held);
    expect(outcome).toMatchObject({ kind: "refused", refusal: { reason: "STORE_UNAVAILABLE" } });
    expect(await idsIn(store)).toEqual([]);
  });

  test("when it is not there any more", async () => {
    const { held } = await running();
    const outcome = await settleOwnerless(worldOf(openMemoryStore(), "g"), KEY, held);
    expect(outcome).toMatchObject({ kind: "refused", refusal: { reason: "SESSION_UNKNOWN" } });
  });
});

test("two gateways at once, whatever their networks do: one wins, both end with its record, every event is in once", () =>
  fc.assert(
    fc.asyncProperty(
      fc.tuple(fc.array(fault(), { maxLength: 12 }), fc.array(fault(), { maxLength: 12 })),
      async (schedules) => {
        const { store, held } = await running();
        const gateways = schedules.map((schedule) => new FaultyStore(store, schedule));
        const outcomes = await Promise.all(gateways.map((gateway, index) => settled(gateway, `g${index}`, held)));
        for (const gateway of gateways) await gateway.settle();
        const record = await recordOf(store);
        expect(await store.records.get(KEY)).toMatchObject({ revision: held.revision + 1 });
        for (const outcome of outcomes) {
          expect(outcome.held).toEqual({ revision: held.revision + 1, record });
          expect(outcome.owner).toEqual({ kind: "none" });
        }
        expect(await idsIn(store)).toEqual(record.outbox.map(({ id }) => id));
      },
    ),
    { numRuns: 150 },
  ));

test("an heir that claims meanwhile tells what the gateway could not: the gateway is fenced, and says nothing of it", async () => {
  const { store, held } = await parked("g1");
  const free = await must(worldOf(store, "g"), { type: "settle_ownerless", dead: OWNER }, GATEWAY);
  const claimed = await must(worldOf(store, "h"), { type: "claim" }, claimantOf(free, HEIR));
  await store.events.mark(KEY, claimed.record.epoch);
  await tellOwnerless(worldOf(store, "g"), KEY, free);
  expect(await idsIn(store)).toEqual([]);
  expect(ownerOf(claimed)).toMatchObject({ epoch: held.record.epoch + 2 });
});

test("what an owner has to tell is not told by a gateway", async () => {
  const { store, held } = await running();
  await tellOwnerless(worldOf(store, "g"), KEY, held);
  expect(await idsIn(store)).toEqual([]);
});
