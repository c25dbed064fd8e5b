// The store contract: records, event log, runner leases. Implementations live in packages/store and pass one suite.
//
// S1  A swap succeeds for exactly one writer at one revision.
// S2  Unknown is an answer of its own (D1): the write may or may not be there, now or later. The caller sends the very same
//     write again, with the same operation id, until the answer is definite; a write that was in already says so.
// S3  A record that cannot be read (damaged, or of a newer format) is named, touched by nobody, and hides no other record.
// S4  The log accepts an append only at the expected last number and from an epoch not below the highest it has seen (D11).
// S5  What was acknowledged is there after a crash of any process.
import type { SessionRecord } from "./record/record.ts";

/** (project, session_id): the only name of a session (A2). */
export type SessionKey = { readonly project: string; readonly sessionId: string };

export type Unknown = { readonly kind: "unknown"; readonly why: string };

export type RecordFound = { readonly kind: "found"; readonly revision: number; readonly record: SessionRecord };
export type RecordUnreadable = { readonly kind: "unreadable"; readonly key: SessionKey; readonly why: string };
export type RecordRead = RecordFound | { readonly kind: "absent" } | RecordUnreadable;

export type SwapOutcome =
  | { readonly kind: "swapped"; readonly revision: number }
  | { readonly kind: "conflict" }
  | { readonly kind: "too_large"; readonly bytes: number }
  | Unknown;

export type RecordPage = {
  readonly entries: readonly (RecordFound | RecordUnreadable)[];
  /** Pass as `after` for the next page; null at the end. */
  readonly next: string | null;
};

export interface RecordStore {
  /** A leader read: never older than the last acknowledged swap. Throws StoreUnavailable. */
  get(key: SessionKey): Promise<RecordRead>;
  /** Compare-and-set; revision 0 creates. `operation` is in the record's own list as well. */
  swap(key: SessionKey, revision: number, record: SessionRecord, operation: string): Promise<SwapOutcome>;
  /** Records by session id, ascending; of every project when project is null (then by project first). `limit` 1..500. */
  list(project: string | null, after: string | null, limit: number): Promise<RecordPage>;
}

/** What an appender gives: `id` is made from what the event tells, so that a second append of it is recognised (D14). */
export type LogEvent = { readonly id: string; readonly body: string };
/** What a reader gets: `seq` starts at 1 and has no gaps. */
export type LogEntry = { readonly seq: number; readonly epoch: number; readonly id: string; readonly body: string };

export type AppendOutcome =
  | { readonly kind: "appended"; readonly last: number }
  /** Somebody else appended; `last` is what the log ends with now. */
  | { readonly kind: "conflict"; readonly last: number }
  /** A higher epoch has written or marked: this writer must stop. */
  | { readonly kind: "fenced"; readonly epoch: number }
  | Unknown;

export type LogTail = { readonly first: number; readonly last: number; readonly epoch: number };

export interface EventLog {
  /** Appends all or none; entry i gets number expectedLast + 1 + i. The same ids at those numbers already: appended. */
  append(key: SessionKey, epoch: number, expectedLast: number, events: readonly LogEvent[]): Promise<AppendOutcome>;
  /** The ownership mark (E5): from now on no lower epoch appends. Not numbered, not shown. `last` is the log's end. */
  mark(key: SessionKey, epoch: number): Promise<Exclude<AppendOutcome, { kind: "conflict" }>>;
  /** first and last number kept (first is last + 1 when empty). Throws StoreUnavailable. */
  tail(key: SessionKey): Promise<LogTail>;
  /** Which of these ids the log holds, anywhere. For a takeover: what is in is not appended again. Throws StoreUnavailable. */
  holds(key: SessionKey, ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Entries after a number, ascending, at most limit (1..1000). Throws StoreUnavailable. */
  read(key: SessionKey, after: number, limit: number): Promise<readonly LogEntry[]>;
  /** Entries after a number, then those that come, until the signal aborts. Across processes within 100 ms. */
  follow(key: SessionKey, after: number, signal: AbortSignal): AsyncIterable<LogEntry>;
}

/** A runner name's proof of life (E2). `dead` and `released` are for ever, until a new incarnation swaps itself in. */
export type Lease = {
  readonly runner: string;
  readonly incarnation: string;
  readonly host: string;
  /** host:port where RunnerService is served. */
  readonly address: string;
  readonly state: "live" | "draining" | "released" | "dead";
  readonly beat: number;
};
export type LeaseFound = { readonly kind: "found"; readonly revision: number; readonly lease: Lease };

export interface LeaseStore {
  get(runner: string): Promise<LeaseFound | { readonly kind: "absent" }>;
  swap(
    runner: string,
    revision: number,
    lease: Lease,
    operation: string,
  ): Promise<Exclude<SwapOutcome, { kind: "too_large" }>>;
  list(): Promise<readonly LeaseFound[]>;
}

export interface Store {
  readonly records: RecordStore;
  readonly events: EventLog;
  readonly leases: LeaseStore;
  /** Ends follows, flushes, closes. Idempotent. */
  close(): Promise<void>;
}
