// What one session tells: from the record's outbox and from the agent's content into the log, and from there to its
// readers. Holds for as long as this runner owns the session.
//
// T1  What the record says happened is appended before any content that comes after it (D14).
// T2  A log that does not answer is asked again later; nothing is lost meanwhile, and beyond CONTENT_EVENTS that wait the
//     agent is not read from (B4).
// T3  A higher epoch in the log ends the telling for good (D11).
import {
  appendOutbox,
  type Draft,
  Fenced,
  type Held,
  isStoreUnavailable,
  Journal,
  type OutboxSources,
} from "@holdfast/ledger";
import type { SessionKey, SessionRecord } from "@holdfast/pool";
import type { TurnEvent } from "@holdfast/proto";
import type { RunnerWorld } from "../world.ts";
import { Waiters } from "./waiters.ts";

/** When the log is asked again after it gave no answer. */
const TELL_RETRY_MS = 1_000;
/** Content that may wait for the log before the agent has to. */
const CONTENT_EVENTS = 1_024;

export type TellerParts = {
  readonly world: RunnerWorld;
  readonly key: SessionKey;
  /** Where the large parts of state events come from. */
  readonly sources: () => OutboxSources;
  readonly publish: (event: TurnEvent, bytes: number) => void;
  /** The log belongs to a higher epoch. */
  readonly fenced: () => void;
  readonly inLane: (task: () => Promise<void>) => Promise<void>;
};

export class Teller {
  private readonly parts: TellerParts;
  private journal: Journal | null = null;
  private record: SessionRecord | null = null;
  /** Outbox events known to be in the log: the next swap drops them. */
  private readonly inLog = new Set<string>();
  private content: Draft[] = [];
  private count = 0;
  private retrying = false;
  private readonly room = new Waiters();

  constructor(parts: TellerParts) {
    this.parts = parts;
  }

  /** E5: the mark is in before anything is appended. Throws what the log throws; then nothing is open. */
  async open({ record }: Held): Promise<void> {
    const { world, key, publish } = this.parts;
    this.close();
    const journal = await Journal.open(world.store, key, record.epoch, ({ id, event, bytes }) => {
      this.inLog.add(id);
      publish(event, bytes);
    });
    const ids = record.outbox.map(({ id }) => id);
    for (const id of await world.store.log.holds(key, ids)) this.inLog.add(id);
    this.journal = journal;
  }

  /** Nothing more is told. */
  close(): void {
    this.journal = null;
    this.record = null;
    this.inLog.clear();
    this.content = [];
    this.room.wake();
  }

  /** The number of the newest event; null while nothing is open. */
  get last(): number | null {
    return this.journal?.last ?? null;
  }

  /** Ids for the next swap to drop from the outbox. */
  get appended(): readonly string[] {
    return [...this.inLog];
  }

  /** Whether all content so far is in the log. */
  get isFlushed(): boolean {
    return this.content.length === 0;
  }

  /** A swap is in: what it dropped need not be remembered. */
  forgetDropped(record: SessionRecord): void {
    const kept = new Set(record.outbox.map(({ id }) => id));
    for (const id of this.inLog) if (!kept.has(id)) this.inLog.delete(id);
  }

  /** Appends what the record has to tell. What cannot be appended now stays in the outbox. */
  async tell(record: SessionRecord): Promise<void> {
    const { journal } = this;
    this.record = record;
    if (journal === null) return;
    await this.appending(() => appendOutbox(journal, record, this.parts.sources(), this.inLog));
  }

  /** Content for the log: appended with what follows it, before anything else is told. */
  keep(event: TurnEvent): void {
    if (this.journal === null) return;
    this.count += 1;
    this.content.push({ id: `content:${this.journal.epoch}.${this.count}`, event });
  }

  async flush(record: SessionRecord | null): Promise<void> {
    if (this.journal === null || this.content.length === 0) return;
    if (record !== null) await this.tell(record);
    const { journal, content } = this;
    if (journal === null) return;
    this.content = [];
    const done = await this.appending(() => journal.append(content));
    // Content is not in the outbox: once it is appended, nothing has to be dropped.
    const left = done ? [] : content.filter(({ id }) => !this.inLog.has(id));
    for (const { id } of content) this.inLog.delete(id);
    if (this.journal !== null) this.content = [...left, ...this.content];
    if (this.content.length <= CONTENT_EVENTS) this.room.wake();
  }

  /** Resolves when the log has caught up so far that more may come. */
  hasRoom(): Promise<void> {
    return this.content.length <= CONTENT_EVENTS ? Promise.resolve() : this.room.wait();
  }

  private async appending(append: () => Promise<void>): Promise<boolean> {
    try {
      await append();
      return true;
    } catch (error) {
      if (error instanceof Fenced) this.parts.fenced();
      else if (isStoreUnavailable(error)) this.tryAgain(error);
      else throw error;
      return false;
    }
  }

  private tryAgain(error: Error): void {
    const { world, key, inLane } = this.parts;
    const { project, sessionId: session } = key;
    world.log.warn("store.unavailable", { reason: "event_log", detail: error.message, project, session });
    if (this.retrying) return;
    this.retrying = true;
    const again = async () => {
      await world.clock.sleep(TELL_RETRY_MS, world.ending);
      this.retrying = false;
      await inLane(async () => {
        await this.flush(this.record);
        if (this.record !== null) await this.tell(this.record);
      });
    };
    world.background(again());
  }
}
