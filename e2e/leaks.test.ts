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
/** What is made late and once. A session that is not forgotten is dozens of objects. */
const LATE_OBJECTS = (SESSIONS - SETTLING_SESSIONS) / 2;
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
    const after = await atRest();
    expectNoMore(after.runner, before.runner);
    expectNoMore(after.gateway, before.gateway);
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

  /** A runner whose machine is busy may be full, or not answer in time: nothing has run then. */
  async function turn(id: string, prompt: string, agent = "light"): Promise<TurnSeen> {
    for (;;) {
      try {
        return await caller.turn(id, prompt, { agent });
      } catch (error) {
        if (fromServiceError(error)?.reason !== "POOL_FULL") throw error;
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

  async function atRest(): Promise<{ readonly runner: Held; readonly gateway: Held }> {
    await eventually(
      "no seat is taken",
      () => stack.pool(),
      ({ starting, busy, waiting, idle, closing }) => starting + busy + waiting + idle + closing === 0,
    );
    expect(stack.agents()).toEqual([]);
    return { runner: await heldBy(stack.runner), gateway: await heldBy(stack.gateway) };
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

function expectNoMore(after: Held, before: Held): void {
  for (const [kind, count] of Object.entries(after.resources)) {
    expect(count, kind).toBeLessThanOrEqual(before.resources[kind] ?? 0);
  }
  expect(after.files).toBeLessThanOrEqual(before.files);
  expect(after.objects - before.objects).toBeLessThan(LATE_OBJECTS);
  expect(after.residentBytes - before.residentBytes).toBeLessThan(RESIDENT_GROWTH_BYTES);
}
