import { Outcome } from "@holdfast/proto";
import { fromServiceError } from "@holdfast/wire";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Caller, eventually, type TurnSeen } from "./src/caller.ts";
import { light, quick } from "./src/catalogue.ts";
import { type Holding, Inspector } from "./src/inspector.ts";
import { childrenOf, openFiles, residentBytes } from "./src/processes.ts";
import type { Service } from "./src/service.ts";
import { Stack } from "./src/stack.ts";

const SESSIONS = 1_000;
/** After these a service has made everything that it makes once. */
const SETTLING_SESSIONS = SESSIONS / 4;
const AT_A_TIME = 4;
/** Generous: a guard against hanging, not a measurement. */
const BOUND_MS = 600_000;
/** What is made late and once. A session that is not forgotten is dozens of objects; five each would be noticed. */
const LATE_OBJECTS = 5 * (SESSIONS - SETTLING_SESSIONS);
/** What a process may grow by: its heap is as large as its garbage needs it. */
const RESIDENT_GROWTH_BYTES = 96 * 1024 * 1024;

type Held = Holding & { readonly files: number; readonly residentBytes: number };

describe("a runner and a gateway over many sessions", () => {
  let stack: Stack;
  let caller: Caller;
  beforeAll(async () => {
    stack = await Stack.start({
      settings: { HOLDFAST_IDLE_TTL: "0", NODE_OPTIONS: "--inspect=0" },
      agents: [quick("quick"), light("light"), light("exits", "--at", "initialize:exit")],
    });
    caller = stack.caller();
  });
  afterAll(() => stack.close());

  it("17: slots, timers, listeners and children return to zero after 1,000 sessions (no leak, flat memory)", {
    timeout: BOUND_MS,
  }, async () => {
    await serve(0, SETTLING_SESSIONS);
    const before = await atRest();
    await serve(SETTLING_SESSIONS, SESSIONS);
    // Connections that have just been closed are forgotten a moment later; what leaks stays.
    await eventually("no more is held than before", async () => growth(before, await atRest()), isNone);
    for (const { log } of [stack.runner, stack.gateway]) expect(log).not.toContain("MaxListenersExceededWarning");
  });

  async function serve(from: number, to: number): Promise<void> {
    let next = from;
    const lane = async (): Promise<void> => {
      while (next < to) await session(next++);
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, lane));
  }

  /** Most sessions run one turn; every eighth takes a longer way. */
  async function session(number: number): Promise<void> {
    const id = `session-${number}`;
    switch (number % 32) {
      case 0:
        return allowed(id);
      case 8:
        return stopped(id);
      case 16:
        return ended(id, "light", "die", Outcome.FAILED);
      case 24:
        return ended(id, "exits", "any", Outcome.FAILED);
      default:
        return ended(id, "quick", "any", Outcome.COMPLETED);
    }
  }

  async function ended(id: string, agent: string, prompt: string, outcome: Outcome): Promise<void> {
    expect((await turn(id, prompt, agent)).one("ended").outcome).toBe(outcome);
  }

  /** A runner whose machine is busy may be full, or not answer in time: nothing has run then, and it is asked again. */
  async function turn(id: string, prompt: string, agent = "light"): Promise<TurnSeen> {
    for (;;) {
      try {
        return await caller.turn(id, prompt, { agent });
      } catch (error) {
        const refusal = fromServiceError(error);
        if (refusal?.reason !== "POOL_FULL") throw error;
        await new Promise((resolve) => setTimeout(resolve, refusal.retryAfterMs));
      }
    }
  }

  async function allowed(id: string): Promise<void> {
    const parked = await turn(id, "ask");
    await caller.allow(id, parked.gateId);
    expect((await caller.ended(id, parked.turnId)).one("ended").outcome).toBe(Outcome.COMPLETED);
  }

  async function stopped(id: string): Promise<void> {
    const parked = await turn(id, "ask");
    await caller.stop(id);
    expect((await caller.ended(id, parked.turnId)).one("ended").outcome).toBe(Outcome.CANCELLED);
  }

  async function atRest(): Promise<readonly Held[]> {
    await eventually(
      "no seat is taken",
      () => stack.pool(),
      ({ starting, busy, waiting, idle, closing }) => starting + busy + waiting + idle + closing === 0,
    );
    expect(stack.agents()).toEqual([]);
    return [await heldBy(stack.runner), await heldBy(stack.gateway)];
  }
});

async function heldBy(service: Service): Promise<Held> {
  expect(childrenOf(service.pid)).toEqual([]);
  const inspector = await Inspector.attach(service);
  try {
    const holding = await inspector.holding();
    return { ...holding, files: openFiles(service.pid), residentBytes: residentBytes(service.pid) };
  } finally {
    inspector.close();
  }
}

/** What is more than before, by service and kind, in what its kind is counted in. */
function growth(before: readonly Held[], after: readonly Held[]): readonly Readonly<Record<string, number>>[] {
  return after.map((held, index) => {
    const had = before[index] ?? held;
    const resources = Object.entries(held.resources).map(([kind, count]) => [kind, count - (had.resources[kind] ?? 0)]);
    return Object.fromEntries([
      ...resources,
      ["files", held.files - had.files],
      ["objects above what comes late", held.objects - had.objects - LATE_OBJECTS],
      ["resident bytes above what comes late", held.residentBytes - had.residentBytes - RESIDENT_GROWTH_BYTES],
    ]);
  });
}

function isNone(growths: readonly Readonly<Record<string, number>>[]): boolean {
  return growths.every((grown) => Object.values(grown).every((more) => more <= 0));
}
