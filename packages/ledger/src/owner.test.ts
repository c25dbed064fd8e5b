import type { Lease } from "@holdfast/pool";
import { openMemoryStore } from "@holdfast/store";
import { expect, test } from "vitest";
import { FaultyStore } from "./fixture/faulty-store.ts";
import { OWNER } from "./fixture/session.ts";
import { viewOwner } from "./owner.ts";

const LEASE: Lease = { ...OWNER, host: "host-a", state: "live", beat: 0 };

async function seen(lease: Partial<Lease> | null) {
  const { leases } = openMemoryStore();
  if (lease !== null) await leases.swap(OWNER.runner, 0, { ...LEASE, ...lease }, "op");
  return (await viewOwner(leases, OWNER)).kind;
}

test("a record without an owner has none", async () => {
  expect(await viewOwner(openMemoryStore().leases, null)).toEqual({ kind: "none" });
});

test("an owner lives while its own incarnation holds the lease, draining or not", async () => {
  expect(await seen({})).toBe("alive");
  expect(await seen({ state: "draining" })).toBe("alive");
});

test("an owner is dead when the lease is another incarnation's, dead, released, or not there (E2)", async () => {
  expect(await seen({ incarnation: "boot-b" })).toBe("dead");
  expect(await seen({ state: "dead" })).toBe("dead");
  expect(await seen({ state: "released" })).toBe("dead");
  expect(await seen(null)).toBe("dead");
});

test("nobody is dead because the lease could not be read", async () => {
  const { leases } = new FaultyStore(openMemoryStore(), [{ kind: "call_lost" }]);
  await expect(viewOwner(leases, OWNER)).rejects.toMatchObject({ name: "StoreUnavailable" });
});
