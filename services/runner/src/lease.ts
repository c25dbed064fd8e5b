// This runner's lease: the proof of life that makes its ownership count (E2, E3).
//
// E3  A new incarnation swaps the lease key to itself after its predecessor's processes are gone: from then on whatever the
//     old one owned is ownerless, with no wait.
// E4  Only while the lease is held may anything be written to an agent. Once lost, this incarnation writes nothing more.
import type { Lease, LeaseStore } from "@holdfast/pool";
import type { Clock, NewId } from "@holdfast/runtime";

export type LeaseWorld = {
  readonly leases: LeaseStore;
  readonly clock: Pick<Clock, "sleep" | "monotonicMs">;
  readonly newId: NewId;
};

/** How long a swap of the lease key is tried before the runner gives up. */
export const LEASE_BUDGET_MS = 10_000;
const RETRY_PAUSE_MS = 100;

class LeaseRefused extends Error {
  override readonly name = "LeaseRefused";
}

export class RunnerLease {
  private readonly world: LeaseWorld;
  private held: { readonly revision: number; readonly lease: Lease };
  private lost = false;

  private constructor(world: LeaseWorld, held: { revision: number; lease: Lease }) {
    this.world = world;
    this.held = held;
  }

  /** Takes the key over from whatever incarnation had it. The caller has ended the predecessor's processes (A16). */
  static async claim(world: LeaseWorld, lease: Lease): Promise<RunnerLease> {
    const revision = await swapOver(world, lease);
    return new RunnerLease(world, { revision, lease });
  }

  /** Whether this incarnation may still write to agents and to the log. */
  mayWrite(): boolean {
    return !this.lost;
  }

  /** The store says that the key is another's: nothing is written from here on. */
  lose(): void {
    this.lost = true;
  }

  async drain(): Promise<void> {
    await this.change("draining");
  }

  /** The last act: whoever reads this runner's records from now on settles them at once. */
  async release(): Promise<void> {
    await this.change("released");
  }

  private async change(state: Lease["state"]): Promise<void> {
    if (this.lost) return;
    const lease = { ...this.held.lease, state, beat: this.held.lease.beat + 1 };
    const operation = this.world.newId("operation");
    const endsAt = this.world.clock.monotonicMs() + LEASE_BUDGET_MS;
    for (;;) {
      const outcome = await this.world.leases.swap(lease.runner, this.held.revision, lease, operation);
      if (outcome.kind === "swapped") {
        this.held = { revision: outcome.revision, lease };
        return;
      }
      if (outcome.kind === "conflict") {
        this.lose();
        throw new LeaseRefused(`the lease of runner ${lease.runner} belongs to another incarnation now`);
      }
      if (this.world.clock.monotonicMs() >= endsAt)
        throw new LeaseRefused(`the lease store does not answer: ${outcome.why}`);
      await this.world.clock.sleep(RETRY_PAUSE_MS);
    }
  }
}

async function swapOver(world: LeaseWorld, lease: Lease): Promise<number> {
  const endsAt = world.clock.monotonicMs() + LEASE_BUDGET_MS;
  const operation = world.newId("operation");
  for (;;) {
    const found = await world.leases.get(lease.runner);
    const revision = found.kind === "found" ? found.revision : 0;
    const outcome = await world.leases.swap(lease.runner, revision, lease, operation);
    if (outcome.kind === "swapped") return outcome.revision;
    if (world.clock.monotonicMs() >= endsAt) {
      throw new LeaseRefused(`the lease of runner ${lease.runner} could not be taken over: ${outcome.kind}`);
    }
    await world.clock.sleep(RETRY_PAUSE_MS);
  }
}
