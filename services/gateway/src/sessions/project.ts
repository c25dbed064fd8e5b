// The sessions of a project, page by page and settled (E10). A record that cannot be read hides no other one: it is told of
// in the log, by name, and passed over.
import { heldOf } from "@holdfast/ledger";
import type { SessionRecord } from "@holdfast/pool";
import type { GatewayWorld } from "../world.ts";
import { settled } from "./current.ts";

/** Records read at once when all are wanted. */
const SCAN_RECORDS = 200;

/** `next`: where to go on, in the store's own words; null at the end. */
export type SessionsPage = { readonly records: readonly SessionRecord[]; readonly next: string | null };

/** `limit` counts records read, readable or not. Throws StoreUnavailable. */
export async function sessionsPage(
  world: GatewayWorld,
  project: string,
  after: string | null,
  limit: number,
): Promise<SessionsPage> {
  const page = await world.store.records.list(project, after, limit);
  const records: SessionRecord[] = [];
  for (const entry of page.entries) {
    if (entry.kind === "unreadable") {
      passOver(world, entry.key.project, entry.key.sessionId, entry.why);
      continue;
    }
    const { sessionId } = entry.record;
    const now = await settled(world, { project, sessionId }, heldOf(entry));
    if (now.kind === "found") records.push(now.held.record);
    else passOver(world, project, sessionId, now.refusal.message);
  }
  return { records, next: page.next };
}

/** All of them, in the order of their ids; ends early when the signal aborts. */
export async function* allSessions(
  world: GatewayWorld,
  project: string,
  signal: AbortSignal,
): AsyncGenerator<SessionRecord> {
  let after: string | null = null;
  do {
    const page: SessionsPage = await sessionsPage(world, project, after, SCAN_RECORDS);
    yield* page.records;
    after = page.next;
  } while (after !== null && !signal.aborted);
}

export function hasLabels({ labels }: SessionRecord, wanted: Readonly<Record<string, string>>): boolean {
  return Object.entries(wanted).every(([key, value]) => labels[key] === value);
}

function passOver(world: GatewayWorld, project: string, session: string, detail: string): void {
  world.log.error("record.unreadable", { project, session, detail }, "passed over in a list");
}
