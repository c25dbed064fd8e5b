// RunTurn sent again with its request_id (D15): no prompt, but the events of the turn that the first one opened, from the log
// and then live. It ends as RunTurn does.
import type { Refusal, RequestMark, SessionKey } from "@holdfast/pool";
import { parkedEvent, type ValidRunTurn } from "@holdfast/wire";
import { frameOf } from "../frames/head.ts";
import { existingSession } from "../sessions/current.ts";
import { type Followed, followSession } from "../sessions/follow.ts";
import type { GatewayWorld } from "../world.ts";
import { type Call, type Frame, type Frames, keyOf } from "./call.ts";
import { within } from "./wait.ts";

/** After this long without an event the record is asked whether the turn is parked (A19). */
export const QUIET_MS = 250;

export async function* attachTurn(world: GatewayWorld, valid: ValidRunTurn, mark: RequestMark, call: Call): Frames {
  const key = keyOf(call, valid.sessionId);
  const { turnId } = mark;
  const left = new AbortController();
  const signal = AbortSignal.any([call.signal, left.signal]);
  const followed = followSession(world, key, { afterSeq: mark.afterSeq, snapshot: false }, { ...call, signal });
  let next = followed.next();
  let seen = mark.afterSeq;
  try {
    for (;;) {
      const arrived = await within(world.clock, QUIET_MS, next);
      if (arrived === null) {
        const parked = valid.follow === "until_parked" ? await parkedFrame(world, key, turnId, seen) : null;
        if (parked === null) continue;
        if ("refusal" in parked) return parked.refusal;
        yield parked.frame;
        return null;
      }
      if (arrived.done === true) return arrived.value;
      const { frame, head } = arrived.value;
      next = followed.next();
      seen = head.seq || seen;
      if (!isShown(arrived.value, turnId, valid)) continue;
      yield frame;
      if (head.event === "ended") return null;
    }
  } finally {
    left.abort();
    await Promise.allSettled([next]);
    await followed.return(null);
  }
}

/** Its own prompt is not told to the one who sent it; a stream that ends with the park tells it once, at the end. */
function isShown({ head }: Followed, turnId: string, { follow }: ValidRunTurn): boolean {
  if (head.turnId !== turnId || head.event === "prompt") return false;
  return head.event !== "parked" || follow === "until_ended";
}

/** Null while the turn is not parked, or while events of it are still to come. */
async function parkedFrame(
  world: GatewayWorld,
  key: SessionKey,
  turnId: string,
  seen: number,
): Promise<{ readonly frame: Frame } | { readonly refusal: Refusal } | null> {
  const current = await existingSession(world, key);
  if (current.kind === "refused") return current;
  const { turn, execution, gates } = current.held.record;
  if (turn?.turnId !== turnId || execution?.state !== "parked") return null;
  if ((await world.store.events.tail(key)).last > seen) return null;
  const pending = gates.filter(({ state }) => state.kind === "pending").map(({ gateId }) => gateId);
  const place = { turnId, execution: execution.number, at: world.clock.now() };
  return { frame: frameOf(parkedEvent(place, pending)) };
}
