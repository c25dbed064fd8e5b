// WatchSession: a snapshot, the events after a cursor, then what happens from now on, over any number of turns and owners,
// until the caller ends it.
import type { WatchSessionRequest } from "@holdfast/proto";
import { validateWatchSession } from "@holdfast/wire";
import { existingSession } from "../sessions/current.ts";
import { followSession } from "../sessions/follow.ts";
import type { GatewayWorld } from "../world.ts";
import { type Call, type Frames, keyOf } from "./call.ts";

export async function* watchSession(world: GatewayWorld, request: WatchSessionRequest, call: Call): Frames {
  const valid = validateWatchSession(request);
  if ("refusal" in valid) return valid.refusal;
  const { sessionId, afterSeq } = valid.value;
  const key = keyOf(call, sessionId);
  const current = await existingSession(world, key);
  if (current.kind === "refused") return current.refusal;
  const place = world.watchers.enter(key);
  if ("refusal" in place) return place.refusal;
  const followed = followSession(world, key, { afterSeq, snapshot: true }, call);
  try {
    for (;;) {
      const next = await followed.next();
      if (next.done === true) return next.value;
      yield next.value.frame;
    }
  } finally {
    await followed.return(null);
    place.leave();
  }
}
