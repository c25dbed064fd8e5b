// The events of one session, wherever they come from: its owner while it has one, the log while it has none. Owners change;
// the reader sees every durable event once and in order (P9), and the live ones while an owner tells them.
//
//   record ──▶ living owner ──▶ its WatchSession, as it comes ──┐
//     ▲    └─▶ none ──▶ the log, until there is an owner ───────┤
//     └──────────────── ended, broken, or a second passed ◀─────┘
//
// W1  An event is given once: numbers at or below the cursor are passed over, and a gap ends the source it came from.
// W2  A source that breaks is not asked again before the log was: a broken way never turns into a busy loop.
// W3  Ends with null only when the signal aborts; otherwise with why it cannot go on.
import { type Refusal, refusal, type SessionKey } from "@holdfast/pool";
import { decodeEvent } from "@holdfast/wire";
import { type FrameHead, frameHead, frameOf } from "../frames/head.ts";
import type { Call, Frame } from "../rpc/call.ts";
import { framesOf } from "../runners/channel.ts";
import { onBehalfOf, routeTo } from "../runners/route.ts";
import type { GatewayWorld } from "../world.ts";
import { existingSession, type FoundSession, type LivingOwner } from "./current.ts";
import { snapshotOf } from "./view.ts";

/** How long the log is followed before the record is looked at again for an owner. */
export const OWNER_LOOK_MS = 1_000;

export type Followed = { readonly frame: Frame; readonly head: FrameHead };
export type Following = AsyncGenerator<Followed, Refusal | null, undefined>;

type Cursor = { seq: number; hasSnapshot: boolean };
/** `moved`: the record is to be read again. */
type SourceEnd =
  | { readonly kind: "moved" }
  | { readonly kind: "broken" }
  | { readonly kind: "over"; readonly refusal: Refusal };

/** `snapshot`: the first item is one. `afterSeq` 0: from the first event kept. */
export async function* followSession(
  world: GatewayWorld,
  key: SessionKey,
  from: { readonly afterSeq: number; readonly snapshot: boolean },
  call: Call,
): Following {
  const start = await startOf(world, key, from.afterSeq);
  if ("refusal" in start) return start.refusal;
  const cursor: Cursor = { seq: start.seq, hasSnapshot: !from.snapshot };
  let isBroken = false;
  while (!call.signal.aborted) {
    const current = await existingSession(world, key);
    if (current.kind === "refused") return current.refusal;
    const { owner } = current;
    const source: AsyncGenerator<Followed, SourceEnd, undefined> =
      owner.kind === "alive" && !isBroken
        ? fromOwner(world, key, owner, current, cursor, call)
        : fromLog(world, key, current, cursor, call);
    const end = yield* source;
    if (end.kind === "over") return end.refusal;
    isBroken = end.kind === "broken";
  }
  return null;
}

async function startOf(
  world: GatewayWorld,
  key: SessionKey,
  afterSeq: number,
): Promise<{ readonly seq: number } | { readonly refusal: Refusal }> {
  const { first, last } = await world.store.events.tail(key);
  if (afterSeq === 0) return { seq: first - 1 };
  if (afterSeq < first - 1) return { refusal: cursorExpired(key, first) };
  return afterSeq > last ? { refusal: cursorAhead(key, last) } : { seq: afterSeq };
}

async function* fromOwner(
  world: GatewayWorld,
  key: SessionKey,
  { owner }: LivingOwner,
  { held }: FoundSession,
  cursor: Cursor,
  call: Call,
): AsyncGenerator<Followed, SourceEnd, undefined> {
  const reached = await world.runners.reach(owner, call.signal);
  if (reached.kind !== "reached") return { kind: "broken" };
  const route = routeTo(onBehalfOf(call.caller), owner, held.record.epoch);
  const request = { sessionId: key.sessionId, afterSeq: BigInt(cursor.seq) };
  const frames = framesOf(reached.channel.bytes.watchSession({ route, request }, { signal: call.signal }));
  let hasTold = false;
  try {
    for (;;) {
      const next = await frames.next();
      if (next.done === true) return endOf(next.value, hasTold);
      const passed = pass(next.value, cursor);
      if (passed === "gap") return { kind: "broken" };
      if (passed === null) continue;
      hasTold ||= passed.head.event !== "snapshot";
      yield passed;
    }
  } finally {
    await frames.return({ kind: "over" });
  }
}

/** W1. Null: seen already, or a snapshot nobody asked for. */
function pass(frame: Frame, cursor: Cursor): Followed | "gap" | null {
  const head = frameHead(frame);
  if (head === null) return "gap";
  if (head.event === "snapshot") {
    if (cursor.hasSnapshot) return null;
    cursor.hasSnapshot = true;
  }
  if (head.seq > 0) {
    if (head.seq <= cursor.seq) return null;
    if (head.seq > cursor.seq + 1) return "gap";
    cursor.seq = head.seq;
  }
  return { frame, head };
}

type OwnerEnd = { readonly kind: "over" | "unreachable" } | { readonly kind: "refused"; readonly refusal: Refusal };

function endOf(end: OwnerEnd, hasTold: boolean): SourceEnd {
  if (end.kind !== "refused") return end.kind === "over" && hasTold ? { kind: "moved" } : { kind: "broken" };
  switch (end.refusal.reason) {
    case "WATCHERS_FULL":
    case "CURSOR_EXPIRED":
    case "RECORD_UNREADABLE":
      return { kind: "over", refusal: end.refusal };
    default:
      // The owner is another one, is leaving, or cannot serve now: the record will tell.
      return { kind: "broken" };
  }
}

async function* fromLog(
  world: GatewayWorld,
  key: SessionKey,
  { held }: FoundSession,
  cursor: Cursor,
  call: Call,
): AsyncGenerator<Followed, SourceEnd, undefined> {
  if (!cursor.hasSnapshot) {
    cursor.hasSnapshot = true;
    const frame = frameOf(await snapshotOf(world, held.record, call));
    yield { frame, head: { seq: 0, turnId: held.record.turn?.turnId ?? "", event: "snapshot" } };
  }
  const look = new AbortController();
  const timer = world.clock.timer(OWNER_LOOK_MS, () => look.abort());
  try {
    const until = AbortSignal.any([call.signal, look.signal]);
    for await (const entry of world.store.events.follow(key, cursor.seq, until)) {
      if (entry.seq > cursor.seq + 1) return { kind: "over", refusal: cursorExpired(key, entry.seq) };
      cursor.seq = entry.seq;
      const event = decodeEvent(entry.body);
      yield { frame: frameOf(event), head: { seq: entry.seq, turnId: event.turnId, event: event.event.case ?? null } };
      // Written at a higher epoch: somebody owns the session now.
      if (entry.epoch > held.record.epoch) return { kind: "moved" };
    }
    return { kind: "moved" };
  } finally {
    timer.cancel();
    look.abort();
  }
}

function cursorExpired({ sessionId }: SessionKey, first: number): Refusal {
  return refusal(
    "CURSOR_EXPIRED",
    `session ${sessionId}: events up to the cursor are no longer kept; the first one held is ${first}`,
    "watch from 0, or read the session",
    { session_id: sessionId, first_seq: `${first}` },
  );
}

/** Taking it would hide the events that are still to get those numbers. */
function cursorAhead({ sessionId }: SessionKey, last: number): Refusal {
  const description = `is beyond the session's last event, ${last}`;
  return {
    ...refusal(
      "FIELD_INVALID",
      `session ${sessionId}: after_seq ${description}`,
      "use a number that this session gave",
      {
        session_id: sessionId,
        last_seq: `${last}`,
      },
    ),
    violations: [{ field: "after_seq", description }],
  };
}
