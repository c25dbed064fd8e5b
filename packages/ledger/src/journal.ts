// The journal of one session: appends to its event log at one epoch (D11).
//
// J1  Events are numbered without gaps; an append whose outcome is unknown is sent again unchanged until it is definite.
// J2  What a conflict shows to be in the log already, by id, is not appended again (D14), by this append or a later one:
//     two gateways may tell of the same owner-less session at the same epoch.
// J3  A writer that meets a higher epoch stops: Fenced is thrown, and nothing more is written here.
import type { EventLog, LogEvent, SessionKey } from "@holdfast/pool";
import type { TurnEvent } from "@holdfast/proto";
import type { Clock } from "@holdfast/runtime";
import { decodeEvent, encodeEvent } from "@holdfast/wire";
import { isStoreUnavailable } from "./change.ts";

/** An event without its number yet; `id` is made from what it tells. */
export type Draft = { readonly id: string; readonly event: TurnEvent };

/** A numbered event as it stands in the log, and the size of its body there. */
export type Appended = { readonly id: string; readonly event: TurnEvent; readonly bytes: number };
/** Told of every event the moment it is known to be in the log, in order: also when a later one of the batch fails. */
export type OnAppended = (appended: Appended) => void;

/** The session belongs to a higher epoch: this writer is out. */
export class Fenced extends Error {
  override readonly name = "Fenced";
  readonly epoch: number;
  constructor(key: SessionKey, epoch: number) {
    super(`session ${key.sessionId}: the log is at epoch ${epoch}; an older owner writes nothing more`);
    this.epoch = epoch;
  }
}

/** The log gave no definite answer in time. Not written for certain, and not for certain not written. */
export class LogUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}

/** How long one append or mark is sent again before it is given up. */
export const APPEND_BUDGET_MS = 8_000;
/** Events in one append, and their bytes together. */
export const APPEND_EVENTS = 64;
export const APPEND_BYTES = 2 * 1024 * 1024;
const RETRY_PAUSE_MS = 50;

export type JournalWorld = { readonly log: EventLog; readonly clock: Pick<Clock, "monotonicMs" | "sleep"> };

export class Journal {
  private readonly world: JournalWorld;
  private readonly key: SessionKey;
  private readonly onAppended: OnAppended;
  readonly epoch: number;
  private end: number;
  /** What others have appended at this epoch, as conflicts showed it. */
  private readonly met = new Set<string>();

  private constructor(world: JournalWorld, key: SessionKey, epoch: number, end: number, onAppended: OnAppended) {
    this.world = world;
    this.key = key;
    this.epoch = epoch;
    this.end = end;
    this.onAppended = onAppended;
  }

  /** Puts the ownership mark in (E5): from now on no lower epoch appends. */
  static async open(world: JournalWorld, key: SessionKey, epoch: number, onAppended: OnAppended): Promise<Journal> {
    const marked = await definite(world, key, () => world.log.mark(key, epoch));
    if (marked.kind === "fenced") throw new Fenced(key, marked.epoch);
    return new Journal(world, key, epoch, marked.last, onAppended);
  }

  /** The number of the newest event. */
  get last(): number {
    return this.end;
  }

  /** Appends in order. When it throws, a prefix is in (and was told). */
  async append(drafts: readonly Draft[]): Promise<void> {
    let rest = this.unmet(drafts);
    while (rest.length > 0) {
      const batch = this.nextBatch(rest);
      const outcome = await definite(this.world, this.key, () =>
        this.world.log.append(
          this.key,
          this.epoch,
          this.end,
          batch.map(({ entry }) => entry),
        ),
      );
      if (outcome.kind === "fenced") throw new Fenced(this.key, outcome.epoch);
      if (outcome.kind === "conflict") {
        await this.adopt(outcome.last);
        rest = this.unmet(rest);
        continue;
      }
      this.end = outcome.last;
      for (const { event, entry } of batch) this.onAppended({ id: entry.id, event, bytes: sizeOf(entry.body) });
      rest = rest.slice(batch.length);
    }
  }

  private nextBatch(drafts: readonly Draft[]): { event: TurnEvent; entry: LogEvent }[] {
    const batch: { event: TurnEvent; entry: LogEvent }[] = [];
    let bytes = 0;
    for (const { id, event } of drafts.slice(0, APPEND_EVENTS)) {
      const numbered = { ...event, seq: BigInt(this.end + 1 + batch.length) };
      const body = encodeEvent(numbered);
      bytes += sizeOf(body);
      if (batch.length > 0 && bytes > APPEND_BYTES) break;
      batch.push({ event: numbered, entry: { id, body } });
    }
    return batch;
  }

  private unmet(drafts: readonly Draft[]): readonly Draft[] {
    return drafts.filter(({ id }) => !this.met.has(id));
  }

  /** Something is in the log that was not expected: moves on behind it (J2). */
  private async adopt(last: number): Promise<void> {
    const { entries } = await definite(this.world, this.key, () => this.readOn());
    // Events that were acknowledged are gone: to ask again would never end, and nothing can be put in their place.
    if (last < this.end || entries.length === 0) {
      throw new Error(`session ${this.key.sessionId}: the log ends at ${last}, but event ${this.end} was acknowledged`);
    }
    for (const { seq, id, body } of entries) {
      this.end = seq;
      this.onAppended({ id, event: decodeEvent(body), bytes: sizeOf(body) });
      this.met.add(id);
    }
  }

  private async readOn() {
    try {
      return { kind: "read" as const, entries: await this.world.log.read(this.key, this.end, APPEND_EVENTS) };
    } catch (error) {
      if (!isStoreUnavailable(error)) throw error;
      return { kind: "unknown" as const, why: error.message };
    }
  }
}

function sizeOf(body: string): number {
  return Buffer.byteLength(body, "utf8");
}

type Unknowable = { readonly kind: string; readonly why?: string };

/** Sends the same write, or asks the same question, again until the outcome is definite (J1). */
async function definite<T extends Unknowable>(
  world: JournalWorld,
  key: SessionKey,
  send: () => Promise<T>,
): Promise<Exclude<T, { kind: "unknown" }>> {
  const endsAt = world.clock.monotonicMs() + APPEND_BUDGET_MS;
  for (;;) {
    const outcome = await send();
    if (outcome.kind !== "unknown") return outcome as Exclude<T, { kind: "unknown" }>;
    if (world.clock.monotonicMs() >= endsAt) {
      throw new LogUnavailable(`session ${key.sessionId}: the event log gave no definite answer: ${outcome.why}`);
    }
    await world.clock.sleep(RETRY_PAUSE_MS);
  }
}
