// What holds of the pool after every step. The shell asserts it in production; a pool that is broken must not decide
// whether a tool runs. A failure is a bug of ours, so it is thrown.
//
// I1  No more slots than max_live, whatever their state (A4).
// I2  One process per instance, one slot per session (B1, A1).
// I3  A waiting slot has 1 to OPEN_GATES_PER_SESSION open gates (A6); no gate id is held twice, open or sending.
// I4  The turn clock stands exactly while a slot waits and nothing is sending (A3).
// I5  Only a written prompt has answers in flight or a Stop to settle.
// I6  Every claim is of one session without a live process, and has a seat that will be its own (room.ts, M1).
// I7  A draining pool has no idle slot and no claim (E8).
// I8  Nothing is idle whose idle_ttl is 0 (A3).
import { OPEN_GATES_PER_SESSION } from "../limits.ts";
import { closingSeats, freeSeats } from "./room.ts";
import { instanceOf, type Slot, type SlotKey } from "./slot.ts";
import type { Pool } from "./state.ts";

export class PoolBroken extends Error {
  override readonly name = "PoolBroken";
}

/** Throws PoolBroken with the number of the invariant. */
export function assertPool(pool: Pool): void {
  holds(freeSeats(pool) >= 0, "I1", `${pool.slots.size} slots, ${pool.settings.maxLive} seats`);
  assertDistinct("I2", [...pool.slots.values()].map(instanceOf));
  assertDistinct("I3", [...pool.slots.values()].flatMap(gateIds));
  for (const [key, slot] of pool.slots) assertSlot(pool, key, slot);
  assertClaims(pool);
}

function assertSlot(pool: Pool, key: SlotKey, slot: Slot): void {
  switch (slot.state) {
    case "starting":
    case "closing":
      return;
    case "idle":
      holds(pool.drain === null, "I7", `${key} is idle while draining`);
      holds(slot.process.limits.idleTtlMs > 0, "I8", `${key} is idle with idle_ttl 0`);
      return;
    case "busy": {
      const atRest = slot.sending.length === 0 && slot.stoppingSince === null;
      holds(slot.clock.runs, "I4", `${key} is busy and its clock stands`);
      holds(slot.prompt.kind === "running" || atRest, "I5", `${key} has no prompt, but an answer or a Stop`);
      return;
    }
    case "waiting": {
      const count = slot.gates.length;
      holds(count >= 1 && count <= OPEN_GATES_PER_SESSION, "I3", `${key} waits with ${count} gates`);
      holds(slot.clock.runs === slot.sending.length > 0, "I4", `${key} waits, ${slot.sending.length} sending`);
      return;
    }
  }
}

function assertClaims(pool: Pool): void {
  const { claims } = pool;
  assertDistinct(
    "I6",
    claims.map((claim) => claim.key),
  );
  holds(claims.length <= freeSeats(pool) + closingSeats(pool), "I6", `${claims.length} claims without seats`);
  holds(pool.drain === null || claims.length === 0, "I7", `${claims.length} claims while draining`);
  for (const { key } of claims) {
    const slot = pool.slots.get(key);
    holds(slot === undefined || slot.state === "closing", "I6", `${key} has a claim and a live process`);
  }
}

function gateIds(slot: Slot): readonly string[] {
  if (slot.state !== "busy" && slot.state !== "waiting") return [];
  const open = slot.state === "waiting" ? slot.gates : [];
  return [...open, ...slot.sending].map((gate) => gate.gateId);
}

function assertDistinct(invariant: string, names: readonly string[]): void {
  holds(new Set(names).size === names.length, invariant, `held twice: ${names.join(" ")}`);
}

function holds(truth: boolean, invariant: string, found: string): void {
  if (!truth) throw new PoolBroken(`${invariant}: ${found}`);
}
