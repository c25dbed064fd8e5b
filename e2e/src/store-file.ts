// The stack's sqlite file, seen by a bystander: how often a record was written, and a lock under which nothing is.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { changeRecord, storeWorld } from "@holdfast/ledger";
import type { RecordCommand } from "@holdfast/pool";
import { newId, systemClock } from "@holdfast/runtime";
import { openSqliteStore } from "@holdfast/store";

/** How long the lock waits for a write that is under way. */
const LOCK_WAIT_MS = 5_000;

export class StoreFile {
  private readonly file: string;

  /** Of the stack in this directory. */
  constructor(directory: string) {
    this.file = join(directory, "holdfast.db");
  }

  /** Grows with every write of the session's record, and with nothing else. */
  revision(sessionId: string, project = "default"): number {
    using db = new DatabaseSync(this.file, { readOnly: true });
    const row = db.prepare("SELECT revision FROM records WHERE project = ? AND session_id = ?").get(project, sessionId);
    if (row === undefined) throw new Error(`no record of ${project}/${sessionId}`);
    return Number(row.revision);
  }

  /** Changes a record as a gateway does: for what no RPC asks for yet. */
  async change(sessionId: string, project: string, command: RecordCommand): Promise<void> {
    const store = await openSqliteStore({ file: this.file });
    try {
      const world = storeWorld(store, systemClock, () => newId("operation"));
      const changed = await changeRecord(world, { project, sessionId }, command, { kind: "gateway" });
      if (changed.kind === "refused") throw new Error(`${project}/${sessionId}: ${changed.refusal.message}`);
    } finally {
      await store.close();
    }
  }

  /** From now on nobody writes; reads go on. Disposing of the lock lets them write again. */
  lock(): Disposable {
    const db = new DatabaseSync(this.file, { timeout: LOCK_WAIT_MS });
    db.exec("BEGIN IMMEDIATE");
    return { [Symbol.dispose]: () => db.close() };
  }
}
