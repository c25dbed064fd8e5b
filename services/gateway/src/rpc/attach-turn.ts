// RunTurn sent again with its request_id (D15): no prompt, but the events of the turn that the first one opened, from the log
// and then live. It ends as RunTurn does.
//
// T1  Following UNTIL_PARKED it ends with `parked` when the park is due (ParkWatch, A19). Whether the turn is parked, the record
//     says: it is looked at when a gate opens or is over, when the park is due, and every PARK_QUIET_MS in any case.
import { fromBinary } from "@bufbuild/protobuf";
import { type Gate, PARK_QUIET_MS, ParkWatch, type Refusal, type RequestMark, type SessionKey } from "@holdfast/pool";
import { WatchSessionResponseSchema } from "@holdfast/proto";
import { within } from "@holdfast/runtime";
import { parkedEvent, parkNote, type ValidRunTurn } from "@holdfast/wire";
import { type EventCase, frameOf } from "../frames/head.ts";
import { existingSession } from "../sessions/current.ts";
import { type Followed, followSession } from "../sessions/follow.ts";
import type { GatewayWorld } from "../world.ts";
import { type Call, type Frames, keyOf } from "./call.ts";

const GATE_NEWS: ReadonlySet<EventCase | null> = new Set<EventCase>(["gateOpened", "gateAnswered", "gateClosed"]);

export async function* attachTurn(world: GatewayWorld, valid: ValidRunTurn, mark: RequestMark, call: Call): Frames {
  const key = keyOf(call, valid.sessionId);
  const { clock } = world;
  const { turnId } = mark;
  const left = new AbortController();
  const signal = AbortSignal.any([call.signal, left.signal]);
  const followed = followSession(world, key, { afterSeq: mark.afterSeq, snapshot: false }, { ...call, signal });
  const park = new ParkWatch(mark.afterSeq, clock.monotonicMs());
  let lookAt = clock.monotonicMs();
  let next = followed.next();
  try {
    for (;;) {
      const now = clock.monotonicMs();
      if (valid.follow === "until_parked" && now >= lookAt) {
        const look = await parkOf(world, key, turnId);
        if ("refusal" in look) return look.refusal;
        const due = park.due(look.gates, look.last, now);
        if (due !== null && due <= now) {
          const gateIds = look.gates.map(({ gateId }) => gateId);
          yield frameOf(parkedEvent({ turnId, execution: look.execution, at: clock.now() }, gateIds));
          return null;
        }
        lookAt = Math.min(due ?? Number.POSITIVE_INFINITY, now + PARK_QUIET_MS);
      }
      const arrived = valid.follow === "until_parked" ? await within(clock, lookAt - now, next) : await next;
      if (arrived === null) continue;
      if (arrived.done === true) return arrived.value;
      const { frame, head } = arrived.value;
      next = followed.next();
      const isShown = isOfTurn(arrived.value, turnId, valid);
      park.note(noteOf(arrived.value, isShown), clock.monotonicMs());
      if (!isShown) continue;
      if (GATE_NEWS.has(head.event)) lookAt = now;
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
function isOfTurn({ head }: Followed, turnId: string, { follow }: ValidRunTurn): boolean {
  if (head.turnId !== turnId || head.event === "prompt") return false;
  return head.event !== "parked" || follow === "until_ended";
}

/** Only what tells of a gate is decoded. */
function noteOf({ frame, head }: Followed, isShown: boolean) {
  const event = GATE_NEWS.has(head.event) ? fromBinary(WatchSessionResponseSchema, frame).event : undefined;
  return event === undefined ? { seq: head.seq, isShown, gate: null } : parkNote(event, isShown);
}

type Park = { readonly gates: readonly Gate[]; readonly execution: number; readonly last: number };

/** The gates that the parked turn waits for, none while it is not parked; and the newest event there is. */
async function parkOf(
  world: GatewayWorld,
  key: SessionKey,
  turnId: string,
): Promise<Park | { readonly refusal: Refusal }> {
  const current = await existingSession(world, key);
  if (current.kind === "refused") return current;
  const { turn, execution, gates } = current.held.record;
  const { last } = await world.store.events.tail(key);
  const isParked = turn?.turnId === turnId && execution?.state === "parked";
  const pending = isParked ? gates.filter(({ state }) => state.kind === "pending") : [];
  return { gates: pending, execution: execution?.number ?? 0, last };
}
