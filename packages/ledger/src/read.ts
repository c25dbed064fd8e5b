// Reading a session's events.
import type { EventLog, SessionKey, SessionRecord } from "@holdfast/pool";
import type { ToolCall, TurnEvent } from "@holdfast/proto";
import { decodeEvent } from "@holdfast/wire";

/** Events after a number, ascending, at most `limit` (1 to 1,000). Throws StoreUnavailable. */
export async function readEvents(log: EventLog, key: SessionKey, after: number, limit: number): Promise<TurnEvent[]> {
  const entries = await log.read(key, after, limit);
  return entries.map(({ body }) => decodeEvent(body));
}

/** The whole call that a gate asks about (D3), or null when the log no longer has it. */
export async function readCall(log: EventLog, key: SessionKey, callSeq: number): Promise<ToolCall | null> {
  const [event] = await readEvents(log, key, callSeq - 1, 1);
  if (event === undefined || Number(event.seq) !== callSeq) return null;
  return event.event.case === "toolCall" || event.event.case === "toolCallUpdate" ? event.event.value : null;
}

/** The whole calls of a record's gates, by gate id; a call that the log no longer has is left out. */
export async function gateCalls(
  log: EventLog,
  key: SessionKey,
  { gates }: SessionRecord,
): Promise<ReadonlyMap<string, ToolCall>> {
  const read = gates.map(async ({ gateId, callSeq }) => [gateId, await readCall(log, key, callSeq)] as const);
  const found = await Promise.all(read);
  return new Map(found.flatMap(([gateId, call]) => (call === null ? [] : [[gateId, call]])));
}

/** Entries read at once: an entry may have EVENT_BYTES. */
const PAGE_EVENTS = 64;

/** Every event after a number, page by page. */
export async function* eventsAfter(log: EventLog, key: SessionKey, after: number): AsyncGenerator<TurnEvent> {
  let cursor = after;
  for (;;) {
    const page = await readEvents(log, key, cursor, PAGE_EVENTS);
    for (const event of page) {
      cursor = Number(event.seq);
      yield event;
    }
    if (page.length < PAGE_EVENTS) return;
  }
}
