import type { Lease, LeaseStore } from "@holdfast/pool";
import { ManualClock, newId } from "@holdfast/runtime";
import { openMemoryStore } from "@holdfast/store";
import { describe, expect, test } from "vitest";
import { LEASE_BUDGET_MS, RunnerLease } from "./lease.ts";

const LEASE: Lease = {
  runner: "runner-0",
  incarnation: "boot-a",
  host: "host-a",
  address: "10.0.0.1:7421",
  state: "live",
  beat: 0,
};
const SUCCESSOR: Lease = { ...LEASE, incarnation: "boot-b" };

/** Loses the replies of swaps, or the swaps, while it says so; time passes when somebody sleeps. */
function world(leases: LeaseStore = openMemoryStore().leases, lost: () => "reply" | "call" | null = () => null) {
  const clock = new ManualClock();
  const flaky: LeaseStore = {
    ...leases,
    async swap(...write) {
      const fault = lost();
      if (fault === null) return leases.swap(...write);
      if (fault === "reply") await leases.swap(...write);
      return { kind: "unknown", why: "lost" };
    },
  };
  const sleep = (ms: number) => clock.advance(ms);
  return { leases: flaky, clock: { sleep, monotonicMs: () => clock.monotonicMs() }, newId, time: clock };
}

async function found(leases: LeaseStore): Promise<Lease | null> {
  const read = await leases.get(LEASE.runner);
  return read.kind === "found" ? read.lease : null;
}

/** The first swaps meet these faults. */
function faults(...list: ("reply" | "call" | null)[]) {
  return () => list.shift() ?? null;
}

describe("a lease", () => {
  test("that nobody had is this incarnation's, and it may write", async () => {
    const here = world();
    const lease = await RunnerLease.claim(here, LEASE);
    expect(await found(here.leases)).toEqual(LEASE);
    expect(lease.mayWrite()).toBe(true);
  });

  test("of a predecessor is taken over at once, whatever its state (E3)", async () => {
    for (const state of ["live", "draining", "released", "dead"] as const) {
      const here = world();
      await here.leases.swap(LEASE.runner, 0, { ...LEASE, state }, "op");
      await RunnerLease.claim(here, SUCCESSOR);
      expect(await found(here.leases)).toEqual(SUCCESSOR);
    }
  });

  test("is drained and released by its incarnation, each a beat more", async () => {
    const here = world();
    const lease = await RunnerLease.claim(here, LEASE);
    await lease.drain();
    expect(await found(here.leases)).toEqual({ ...LEASE, state: "draining", beat: 1 });
    await lease.release();
    expect(await found(here.leases)).toEqual({ ...LEASE, state: "released", beat: 2 });
    expect(lease.mayWrite()).toBe(true);
  });

  test("is lost when the key is another incarnation's: nothing is written from then on (E4)", async () => {
    const here = world();
    const old = await RunnerLease.claim(here, LEASE);
    await RunnerLease.claim(here, SUCCESSOR);
    await expect(old.drain()).rejects.toMatchObject({ name: "LeaseRefused" });
    expect(old.mayWrite()).toBe(false);
    await old.release();
    expect(await found(here.leases)).toEqual(SUCCESSOR);
  });

  test("that was lost may not write, and leaves the key alone", async () => {
    const here = world();
    const lease = await RunnerLease.claim(here, LEASE);
    lease.lose();
    await lease.drain();
    expect(lease.mayWrite()).toBe(false);
    expect(await found(here.leases)).toEqual(LEASE);
  });
});

describe("a store that does not answer", () => {
  test("for a moment is asked again: claims, drains and releases are made once", async () => {
    const here = world(openMemoryStore().leases, faults("reply", "call", null, "call", "reply", null, "reply"));
    const lease = await RunnerLease.claim(here, LEASE);
    await lease.drain();
    await lease.release();
    expect(await found(here.leases)).toEqual({ ...LEASE, state: "released", beat: 2 });
  });

  test("ends the claim after LEASE_BUDGET_MS with what it was about", async () => {
    const here = world(openMemoryStore().leases, () => "call");
    await expect(RunnerLease.claim(here, LEASE)).rejects.toThrow("runner runner-0 could not be taken over");
    expect(here.time.monotonicMs()).toBeGreaterThanOrEqual(LEASE_BUDGET_MS);
    expect(here.time.monotonicMs()).toBeLessThan(LEASE_BUDGET_MS + 200);
  });

  test("ends a change after LEASE_BUDGET_MS; it is not lost, for nobody else is known to have it", async () => {
    let isDown = false;
    const here = world(openMemoryStore().leases, () => (isDown ? "call" : null));
    const lease = await RunnerLease.claim(here, LEASE);
    isDown = true;
    await expect(lease.drain()).rejects.toThrow("does not answer");
    expect(lease.mayWrite()).toBe(true);
    isDown = false;
    await lease.release();
    expect(await found(here.leases)).toMatchObject({ state: "released" });
  });
});
