// Memory is the real limit of a runner (A5): how much its agents may use, and how much they do.
import { totalmem } from "node:os";
import type { SlotKey } from "@holdfast/pool";
import type { Settings, Timer } from "@holdfast/runtime";
import type { PoolLoop } from "./pool-loop.ts";
import type { SessionHost } from "./session/host.ts";
import type { RunnerWorld } from "./world.ts";

/** How often the process trees are measured. */
export const MEASURE_MS = 5_000;
/** Above this share of the limit waiting sessions go, rather than let the kernel choose. */
const HIGH_PERCENT = 90;
const WHOLE_PERCENT = 100;

/** The limit of the control group this process is in, or of the machine. */
export function memoryLimitBytes(): number {
  const constrained = process.constrainedMemory();
  const machine = totalmem();
  return constrained > 0 && constrained < machine ? constrained : machine;
}

export function memoryBudget(size: Settings["memoryBudget"]): number {
  return size.kind === "bytes" ? size.bytes : Math.floor((memoryLimitBytes() * size.percent) / WHOLE_PERCENT);
}

type MeasuredWorld = Pick<RunnerWorld, "clock" | "memoryBudgetBytes"> & { readonly pool: Pick<PoolLoop, "step"> };
type MeasuredHosts = { readonly all: () => readonly Pick<SessionHost, "slot" | "live">[] };

/** Measures for as long as the runner lives. */
export class MemoryWatch {
  private readonly world: MeasuredWorld;
  private readonly hosts: MeasuredHosts;
  private readonly highBytes = Math.floor((memoryLimitBytes() * HIGH_PERCENT) / WHOLE_PERCENT);
  private timer: Timer | null = null;

  constructor(world: MeasuredWorld, hosts: MeasuredHosts) {
    this.world = world;
    this.hosts = hosts;
    this.arm();
  }

  stop(): void {
    this.timer?.cancel();
    this.timer = null;
  }

  private arm(): void {
    this.timer = this.world.clock.timer(MEASURE_MS, () => {
      this.measure();
      this.arm();
    });
  }

  private measure(): void {
    const usage = new Map<SlotKey, number>();
    for (const host of this.hosts.all()) if (host.live !== null) usage.set(host.slot, host.live.agent.memoryBytes());
    if (usage.size === 0) return;
    const { memoryBudgetBytes: budgetBytes } = this.world;
    this.world.pool.step({ kind: "memory", usage, budgetBytes, highBytes: this.highBytes });
  }
}
