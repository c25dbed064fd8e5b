// The contract of runner leases: compare-and-set on one key for each runner name (E2, E3).
import { describe, expect, it } from "vitest";
import { StoreUnavailable } from "../src/index.ts";
import { lease } from "./sample.ts";
import { type Open, overStore } from "./subject.ts";

export function leaseContract(open: Open): void {
  describe("a lease", () => {
    it("is absent until it is swapped in, and comes back as it was given", () =>
      overStore(open, async ({ leases }) => {
        expect(await leases.get("runner-0")).toEqual({ kind: "absent" });
        const created = await leases.swap("runner-0", 0, lease("runner-0", 1), "op-1");
        expect(created).toEqual({ kind: "swapped", revision: expect.any(Number) });
        expect(await leases.get("runner-0")).toEqual({ ...created, kind: "found", lease: lease("runner-0", 1) });
      }));

    it("refuses a beat on a revision that somebody declared dead", () =>
      overStore(open, async ({ leases }) => {
        const born = await revisionOf(leases.swap("runner-0", 0, lease("runner-0", 1), "op-1"));
        const dead = lease("runner-0", 1, { state: "dead" });
        await revisionOf(leases.swap("runner-0", born, dead, "observer-1"));
        const beat = await leases.swap("runner-0", born, lease("runner-0", 2), "op-2");
        expect(beat).toEqual({ kind: "conflict" });
        expect(await leases.get("runner-0")).toMatchObject({ lease: dead });
      }));

    it("has one winner when two incarnations take it at one revision", () =>
      overStore(open, async ({ leases }) => {
        const revision = await revisionOf(leases.swap("runner-0", 0, lease("runner-0", 1), "op-1"));
        const take = (incarnation: string) =>
          leases.swap("runner-0", revision, lease("runner-0", 1, { incarnation }), incarnation);
        const outcomes = await Promise.all([take("boot-2"), take("boot-3"), take("boot-4")]);
        expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["conflict", "conflict", "swapped"]);
      }));

    it("answers a beat that is sent again as it did the first time, also after another write (S2)", () =>
      overStore(open, async ({ leases }) => {
        const first = await leases.swap("runner-0", 0, lease("runner-0", 1), "op-1");
        expect(await leases.swap("runner-0", 0, lease("runner-0", 1), "op-1")).toEqual(first);
        const dead = lease("runner-0", 1, { state: "dead" });
        await revisionOf(leases.swap("runner-0", await revisionOf(Promise.resolve(first)), dead, "observer-1"));
        const again = await revisionOf(leases.swap("runner-0", 0, lease("runner-0", 1), "op-1"));
        expect(await leases.swap("runner-0", again, lease("runner-0", 2), "op-2")).toEqual({ kind: "conflict" });
      }));

    it("is one of a list by runner name", () =>
      overStore(open, async ({ leases }) => {
        expect(await leases.list()).toEqual([]);
        for (const runner of ["runner-1", "runner-0", "Runner-2"]) {
          await revisionOf(leases.swap(runner, 0, lease(runner, 1), "op-1"));
        }
        expect((await leases.list()).map((found) => found.lease.runner)).toEqual(["Runner-2", "runner-0", "runner-1"]);
      }));

    it("is not written under another runner's name, nor outside its shape", () =>
      overStore(open, async ({ leases }) => {
        await expect(leases.swap("runner-1", 0, lease("runner-0", 1), "op-1")).rejects.toThrow(TypeError);
        await expect(leases.swap("runner-0", 0, lease("runner-0", -1), "op-1")).rejects.toThrow("beat");
        expect(await leases.list()).toEqual([]);
      }));

    it("cannot be read after close, and a beat is unknown then", async () => {
      const store = await open();
      await store.close();
      await expect(store.leases.get("runner-0")).rejects.toThrow(StoreUnavailable);
      await expect(store.leases.list()).rejects.toThrow(StoreUnavailable);
      expect((await store.leases.swap("runner-0", 0, lease("runner-0", 1), "op-1")).kind).toBe("unknown");
    });
  });
}

async function revisionOf(swap: Promise<{ readonly kind: string; readonly revision?: number }>): Promise<number> {
  const { kind, revision } = await swap;
  if (kind !== "swapped" || revision === undefined) throw new Error(`expected a swap, got ${kind}`);
  return revision;
}
