// One session on this runner: what its lane owns. Everything that happens to the session happens in its lane, one after
// the other (A17): RPCs, the agent's messages, timers, exits. Each is decided, swapped, told and its effects begun before
// the next; starts and teardowns come back as later inputs.
//
// H1  `epoch` is what this runner holds by a successful swap; null: it owns nothing of this session.
// H2  What the record says happened is appended to the log before the next input is handled (D14).
// H3  A swap refused for its epoch or owner deposes the host: its process is ended and nothing more is written.

import {
  type Changed,
  changeRecord,
  type Held,
  logSources,
  type OutboxSources,
  readEvents,
  readRecord,
} from "@holdfast/ledger";
import {
  type EvictionReason,
  type RecordCommand,
  type Refusal,
  type Results,
  type SessionKey,
  type SlotKey,
  slotKey,
  type Writer,
} from "@holdfast/pool";
import type { ContentBlock, TurnEvent } from "@holdfast/proto";
import { contentEvent } from "@holdfast/wire";
import type { StartOutcome } from "../acp/agent.ts";
import { laneFull } from "../refusals.ts";
import { Feed } from "../stream/feed.ts";
import type { RunnerWorld } from "../world.ts";
import { cleaned } from "./clean.ts";
import { Inbox } from "./inbox.ts";
import type { Live } from "./live.ts";
import type { Failure } from "./loss.ts";
import { SessionObserver } from "./observer.ts";
import type { Secrets } from "./secrets.ts";
import { Teller } from "./teller.ts";
import { Waiters } from "./waiters.ts";

/** The turn that runs here. */
export type RunningTurn = {
  readonly turnId: string;
  readonly prompt: readonly ContentBlock[];
  execution: number;
  /** Begins the prompt again on a new process (A18); false when there is no room for one. null: not any more. */
  again: ((reason: EvictionReason) => boolean) | null;
};

/** A start on its way: how to give it up, and what came of it. */
export type StartInHand = {
  readonly instance: string;
  readonly abort: AbortController;
  readonly outcome: Promise<StartOutcome>;
};

export type Refused = { readonly kind: "refused"; readonly refusal: Refusal };

export class SessionHost {
  readonly world: RunnerWorld;
  readonly key: SessionKey;
  readonly slot: SlotKey;
  readonly inbox: Inbox;
  epoch: number | null = null;
  held: Held | null = null;
  readonly teller: Teller;
  feed: Feed;
  live: Live | null = null;
  starting: StartInHand | null = null;
  turn: RunningTurn | null = null;
  /** The prompt that is opening a turn: the swap that opens it tells of the prompt, whole. */
  opening: Pick<RunningTurn, "turnId" | "prompt"> | null = null;
  /** What the live process was started with. */
  secrets: Secrets = new Map();
  /** The values of all secrets the process has, its own and the caller's. */
  secretValues: readonly string[] = [];
  directory = "";
  agentName = "";
  /** Why the process that is going failed: for the turn's error. */
  failure: Failure | null = null;
  readonly observer: SessionObserver;
  /** Checkouts that wait to be asked again. */
  readonly waiting = new Waiters();
  /** Who waits until this runner has no process of the session, not even one that is being ended. */
  readonly emptying = new Waiters();
  /** RPCs that use this host, and what of them reads its feed. */
  users = 0;
  watchers = 0;
  followers = 0;

  constructor(world: RunnerWorld, key: SessionKey) {
    this.world = world;
    this.key = key;
    this.slot = slotKey(key);
    this.inbox = new Inbox();
    this.observer = new SessionObserver(world, key);
    this.feed = this.newFeed(0);
    this.teller = new Teller({
      world,
      key,
      sources: () => this.sources(),
      publish: (event, bytes) => this.feed.publish(event, bytes),
      fenced: () => this.depose("STALE_EPOCH"),
      inLane: (task) => this.inLane(task),
    });
  }

  /** A call's turn in the lane; refused when too many wait there already. */
  async enter<T>(task: () => T | Promise<T>): Promise<T | Refused> {
    const passage = await this.world.lane.run(this.slot, task);
    return passage.kind === "ran" ? passage.value : { kind: "refused", refusal: laneFull(this.key, passage.waiting) };
  }

  /** Runs in the lane, in its turn: for inputs that are bounded where they come from and must not be lost. */
  inLane<T>(task: () => T | Promise<T>): Promise<T> {
    return this.world.lane.runAlways(this.slot, task);
  }

  get writer(): Writer {
    if (this.epoch === null) throw new Error(`session ${this.key.sessionId}: this runner does not own it`);
    return { kind: "owner", incarnation: this.world.self.incarnation, epoch: this.epoch };
  }

  /** Decides and swaps, at the epoch held (or as the claimant given), then tells what came of it (H2, H3). */
  async change<C extends RecordCommand>(
    command: C,
    by: Writer = this.writer,
    budgetMs?: number,
  ): Promise<Changed<Results[C["type"]]>> {
    await this.flush();
    const before = this.held?.record ?? null;
    const changed = await changeRecord(this.world.store, this.key, command, by, {
      held: this.held,
      appended: this.teller.appended,
      ...(budgetMs === undefined ? {} : { budgetMs }),
    });
    if (changed.held !== null) this.held = changed.held;
    if (changed.held !== null && (this.epoch !== null || changed.kind === "written")) {
      this.observer.recorded(before, changed.held.record);
    }
    if (changed.kind === "refused") {
      if (by.kind === "owner" && isDeposed(changed.refusal.reason)) this.depose(changed.refusal.reason);
      return changed;
    }
    if (changed.kind === "written") this.teller.forgetDropped(changed.held.record);
    if (by.kind === "claimant" && changed.kind === "written") await this.takeOver(changed.held);
    await this.teller.tell(changed.held.record);
    return changed;
  }

  /** The record as it is now: others write to it, too (answers, Stops). */
  async refresh(): Promise<void> {
    const read = await readRecord(this.world.store.records, this.key);
    if (read.kind === "unreadable") this.world.log.error("record.unreadable", { ...this.named });
    if (read.kind !== "read" || read.held === null) return;
    const before = this.held?.record ?? null;
    this.held = read.held;
    if (this.epoch !== null) this.observer.recorded(before, read.held.record);
  }

  /** Holds again what the record says this incarnation holds (E1): its process counts as gone. */
  async adopt(held: Held): Promise<void> {
    this.held = held;
    await this.takeOver(held);
    await this.teller.tell(held.record);
  }

  /** E5: the mark is in before anything is appended; what the outbox holds comes before anything new. */
  private async takeOver(held: Held): Promise<void> {
    await this.teller.open(held);
    this.epoch = held.record.epoch;
    this.feed = this.newFeed(this.teller.last ?? 0);
  }

  /** Content of the running turn, for the log. */
  keep(event: TurnEvent["event"]): void {
    if (this.turn !== null) this.teller.keep(this.eventOf(event));
  }

  /** Appends the content kept so far, after whatever the record has to tell. */
  async flush(): Promise<void> {
    await this.teller.flush(this.held?.record ?? null);
  }

  /** Told to whoever reads now; not kept. */
  say(event: TurnEvent["event"], bytes: number): void {
    this.feed.publish(this.eventOf(event), bytes);
  }

  /** What the agent says, without what nobody may see. */
  clean<T>(said: T): T {
    return cleaned(said, this.secretValues);
  }

  private eventOf(event: TurnEvent["event"]): TurnEvent {
    const turnId = this.turn?.turnId ?? "";
    return contentEvent(
      { turnId, execution: this.turn?.execution ?? 0, at: this.world.clock.now() },
      this.clean(event),
    );
  }

  private sources(): OutboxSources {
    const fromLog = logSources(this.world.store.log, this.key);
    return {
      prompt: (turnId) => [this.opening, this.turn].find((turn) => turn?.turnId === turnId)?.prompt ?? null,
      call: fromLog.call,
      // The process knows the turn it works on; of a turn before that the log knows.
      unfinished: async (record, turnId) =>
        this.live !== null && this.turn?.turnId === turnId
          ? this.live.unfinished.closing(record, turnId)
          : fromLog.unfinished(record, turnId),
    };
  }

  private newFeed(last: number): Feed {
    return new Feed((after, limit) => readEvents(this.world.store.log, this.key, after, limit), last);
  }

  /** The session is another's (H3). */
  depose(why: string): void {
    if (this.epoch === null) return;
    this.world.log.warn("lease.lost", { reason: why, epoch: this.epoch, ...this.named });
    this.leave();
    const instance = this.instance;
    if (instance !== null) this.world.pool.step({ kind: "close", key: this.slot, instance, reason: "owner_lost" });
  }

  /** Owns nothing of the session any more: readers get what is left and end. */
  leave(): void {
    this.epoch = null;
    this.teller.close();
    this.observer.left();
    this.feed.close();
  }

  /** For log lines. */
  get named(): { readonly project: string; readonly session: string } {
    return { project: this.key.project, session: this.key.sessionId };
  }

  /** The process that is alive or being made. */
  get instance(): string | null {
    return this.live?.agent.instance ?? this.starting?.instance ?? null;
  }

  /** Whether a process of this instance is the one that lives now: what comes from another is stale. */
  isCurrent(instance: string): boolean {
    return this.live?.agent.instance === instance;
  }

  get hasSlot(): boolean {
    return this.world.pool.state.slots.has(this.slot);
  }

  /** Whether nothing of the session is here, and nobody is at it. */
  get isEmpty(): boolean {
    return this.epoch === null && this.instance === null && !this.hasSlot && this.users === 0;
  }
}

function isDeposed(reason: string): boolean {
  return reason === "STALE_EPOCH" || reason === "NOT_OWNER";
}
