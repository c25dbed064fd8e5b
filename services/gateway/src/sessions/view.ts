// Records as callers see them: what they show comes from the record, the log and the caller's rights.
import { gateCalls } from "@holdfast/ledger";
import type { SessionKey, SessionRecord } from "@holdfast/pool";
import type { Session, TurnEvent } from "@holdfast/proto";
import { sessionMessage, snapshotEvent } from "@holdfast/wire";
import { isAdmin } from "../credentials/caller.ts";
import type { Call } from "../rpc/call.ts";
import type { GatewayWorld } from "../world.ts";

/** For lists: gates with previews. */
export async function shortSession(world: GatewayWorld, record: SessionRecord, call: Call): Promise<Session> {
  const { last } = await world.store.events.tail(keyOfRecord(record));
  return sessionMessage(record, { lastSeq: last, showPid: isAdmin(call.caller) });
}

/** The whole calls of its open gates, and the latest turn's closed ones. */
export async function wholeSession(world: GatewayWorld, record: SessionRecord, call: Call): Promise<Session> {
  return sessionMessage(record, await wholeView(world, record, call));
}

/** The first message of a watch when no runner is there to make it: nothing is in progress then. */
export async function snapshotOf(world: GatewayWorld, record: SessionRecord, call: Call): Promise<TurnEvent> {
  const whole = await wholeView(world, record, call);
  return snapshotEvent(record, { ...whole, inProgress: null, nowMs: world.clock.now() });
}

async function wholeView({ store }: GatewayWorld, record: SessionRecord, { caller }: Call) {
  const key = keyOfRecord(record);
  const [{ first, last }, calls] = await Promise.all([store.events.tail(key), gateCalls(store.events, key, record)]);
  return { firstSeq: first, lastSeq: last, calls, closedGates: true, showPid: isAdmin(caller) };
}

function keyOfRecord({ project, sessionId }: SessionRecord): SessionKey {
  return { project, sessionId };
}
