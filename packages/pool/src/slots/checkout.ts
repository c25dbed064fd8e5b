// A prompt, or a cold continuation, asks for a process of its session; and gives it back when nothing came of it.
//
//   no slot   a seat if there is room (cold), else wait for one, or POOL_FULL
//   starting  TURN_IN_PROGRESS: seated before anything is acquired, so a second request sees it (A1)
//   busy      TURN_IN_PROGRESS
//   waiting   GATES_PENDING: nothing queues behind a human (A9)
//   idle      the same process if the checks of A13 pass (warm), else it is ended and its successor waits for that
//   closing   its successor waits until the teardown is over (A1)
import type { ColdReason, EvictionReason } from "../reasons.ts";
import { type Refusal, refusal } from "../refusal.ts";
import type { Checkout, Named } from "./input.ts";
import { measuredBytes } from "./memory.ts";
import type { CheckoutReply, Done, Ignored } from "./reply.ts";
import { findRoom, type Queued, queueForRoom } from "./room.ts";
import { type Idle, type Process, type SlotKey, type Starting, sessionOf, startClock, type Tick } from "./slot.ts";
import { type Change, DONE, endSlot, ignored, type Pool, rest, type Step, slotOf, withSlot } from "./state.ts";
import { warmCheck } from "./warm.ts";

/** How long a caller that met a full pool does best to wait. */
const POOL_FULL_RETRY_MS = 1_000;

export function checkout(pool: Pool, asked: Checkout, now: Tick): Step<CheckoutReply> {
  const slot = pool.slots.get(asked.key);
  if (slot === undefined) return coldCheckout(pool, asked, now);
  switch (slot.state) {
    case "starting":
    case "busy":
      return refused(pool, turnInProgress(asked.key));
    case "waiting":
      return refused(
        pool,
        gatesPending(
          asked.key,
          slot.gates.map((gate) => gate.gateId),
        ),
      );
    case "idle":
      return idleCheckout(pool, asked, slot, now);
    case "closing":
      if (pool.drain !== null) return refused(pool, draining(asked.key));
      return wait(pool, asked.key, queueForRoom(pool, asked.key, slot.reason, now), slot.reason);
  }
}

function idleCheckout(pool: Pool, asked: Checkout, slot: Idle, now: Tick): Step<CheckoutReply> {
  const check = warmCheck(slot.process, asked);
  if (check.kind === "warm") {
    const clock = startClock(now);
    const prompt = { kind: "due", from: slot } as const;
    const state = withSlot(pool, asked.key, {
      state: "busy",
      process: check.process,
      clock,
      prompt,
      sending: [],
      stoppingSince: null,
    });
    return { state, effects: [], reply: { kind: "warm", instance: slot.process.instance, apply: check.apply } };
  }
  const ended = endSlot(pool, asked.key, slot, check.reason, now);
  const step = wait(ended.state, asked.key, queueForRoom(ended.state, asked.key, check.reason, now), check.reason);
  return { ...step, effects: [...ended.effects, ...step.effects] };
}

function wait(pool: Pool, key: SlotKey, queued: Queued, reason: EvictionReason | null): Step<CheckoutReply> {
  if (queued.kind === "full") return refused(pool, poolFull(key, pool.settings.maxLive));
  return { ...queued.change, reply: { kind: "wait", reason } };
}

function coldCheckout(pool: Pool, asked: Checkout, now: Tick): Step<CheckoutReply> {
  if (pool.drain !== null) return refused(pool, draining(asked.key));
  if (pool.memory !== null && measuredBytes(pool) > pool.memory.budgetBytes)
    return refused(pool, overBudget(asked.key));
  const room = findRoom(pool, asked.key, now);
  if (room.kind !== "seat") return wait(pool, asked.key, room, null);
  const { key, instance } = asked;
  const reason: ColdReason = room.reason ?? "first_turn";
  const seat: Starting = { state: "starting", process: newProcess(asked), since: now };
  return {
    state: withSlot(room.pool, key, seat),
    effects: [{ kind: "start", key, instance }],
    reply: { kind: "cold", instance, reason },
  };
}

function newProcess({ instance, agent, canLoad, limits, config }: Checkout): Process {
  return { instance, agent, canLoad, limits, config, history: null, offers: { models: [], modes: [] }, memoryBytes: 0 };
}

/** The slot is as if it had not been asked for. A start that is returned is released through the same close as any (A1). */
export function checkoutReturned(pool: Pool, named: Named, now: Tick): Step<Done | Ignored> {
  const slot = slotOf(pool, named);
  if (slot === null) return ignored(pool, "stale");
  if (slot.state === "closing") return ignored(pool, "closing");
  if (slot.state === "starting") return { ...endSlot(pool, named.key, slot, "closed", now), reply: DONE };
  if (slot.state !== "busy" || slot.prompt.kind !== "due") return ignored(pool, "not_checked_out");
  return { ...giveBack(pool, named.key, slot.process, slot.prompt.from, now), reply: DONE };
}

/** `from`: the idle slot it was checked out from, whose process is still what it was then. */
export function giveBack(pool: Pool, key: SlotKey, process: Process, from: Idle | null, now: Tick): Change {
  if (from === null) return rest(pool, key, process, now, now);
  return rest(pool, key, { ...from.process, memoryBytes: process.memoryBytes }, from.since, now);
}

function refused(state: Pool, why: Refusal): Step<CheckoutReply> {
  return { state, effects: [], reply: { kind: "refused", refusal: why } };
}

function turnInProgress(key: SlotKey): Refusal {
  const { sessionId } = sessionOf(key);
  return refusal(
    "TURN_IN_PROGRESS",
    `Session ${sessionId} is working on a turn.`,
    "Wait for the turn to end, stop it, or send the prompt with if_busy INTERRUPT.",
    { session_id: sessionId },
  );
}

function gatesPending(key: SlotKey, gateIds: readonly string[]): Refusal {
  const { sessionId } = sessionOf(key);
  return refusal(
    "GATES_PENDING",
    `Session ${sessionId} waits for the answer to ${gateIds.length} gate(s).`,
    "Answer the gates, stop the turn, or send the prompt with if_busy INTERRUPT.",
    { session_id: sessionId, gate_ids: gateIds.join(",") },
  );
}

function draining(key: SlotKey): Refusal {
  const { sessionId } = sessionOf(key);
  return refusal(
    "DRAINING",
    `This runner is shutting down and starts no process for session ${sessionId}.`,
    "Place the session on another runner.",
    { session_id: sessionId },
  );
}

function poolFull(key: SlotKey, maxLive: number): Refusal {
  return noRoom(key, `All ${maxLive} processes of this runner are working or waiting for an answer`);
}

function overBudget(key: SlotKey): Refusal {
  return noRoom(key, "The processes of this runner use all the memory they may");
}

function noRoom(key: SlotKey, why: string): Refusal {
  const { sessionId } = sessionOf(key);
  const full = refusal(
    "POOL_FULL",
    `${why}: there is no room for session ${sessionId}.`,
    "Place the session on another runner, or ask again later.",
    { session_id: sessionId },
  );
  return { ...full, retryAfterMs: POOL_FULL_RETRY_MS };
}
