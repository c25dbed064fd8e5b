// Notices what other processes append. One look for all follows of this process: `data_version` changes when another
// connection has committed, and only then are the sessions with new events looked up.
//
// V1  Nobody follows: no looking.
// V2  A follow that begins reads after the look's start, so between the two nothing is missed.
// V3  A look that fails rings every follow: each reads for itself, and fails for itself.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Grown } from "./channel.ts";

/** With a busy thread (BUSY_WAIT_MS) and a slow disk this leaves room to the 100 ms a follow may take. */
export const LOOK_INTERVAL_MS = 25;

export class Watch {
  readonly #grown: Grown;
  readonly #version: StatementSync;
  readonly #position: StatementSync;
  readonly #sessions: StatementSync;
  #follows = 0;
  #timer: NodeJS.Timeout | null = null;
  #seenVersion = 0;
  #seenPosition = 0;

  constructor(db: DatabaseSync, grown: Grown) {
    this.#grown = grown;
    this.#version = db.prepare("PRAGMA data_version");
    this.#position = db.prepare("SELECT seq AS value FROM sqlite_sequence WHERE name = 'events'");
    this.#sessions = db.prepare(
      "SELECT DISTINCT project, session_id AS sessionId FROM events WHERE position > ? AND position <= ?",
    );
  }

  begin(): void {
    if (this.#timer === null) {
      this.#seenVersion = this.#readVersion();
      this.#seenPosition = this.#readPosition();
      this.#timer = setInterval(() => this.#look(), LOOK_INTERVAL_MS);
    }
    this.#follows += 1;
  }

  end(): void {
    this.#follows -= 1;
    if (this.#follows === 0) this.stop();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #look(): void {
    try {
      // Read before the version: with no foreign commit up to here, all events up to here are our own.
      const ownUpTo = this.#readPosition();
      const version = this.#readVersion();
      if (version === this.#seenVersion) this.#seenPosition = ownUpTo;
      else this.#tell(version);
    } catch {
      this.#grown(null);
    }
  }

  #tell(version: number): void {
    // Read after the version: what is committed from now on changes that again.
    const position = this.#readPosition();
    const rows = this.#sessions.all(this.#seenPosition, position);
    this.#seenVersion = version;
    this.#seenPosition = position;
    const keys = rows.map((row) => ({ project: String(row.project), sessionId: String(row.sessionId) }));
    if (keys.length > 0) this.#grown(keys);
  }

  #readVersion(): number {
    return Number(this.#version.get()?.data_version);
  }

  #readPosition(): number {
    return Number(this.#position.get()?.value ?? 0);
  }
}
