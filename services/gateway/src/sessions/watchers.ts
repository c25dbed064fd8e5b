// How many watch a session through this gateway (P7).
import { type Refusal, refusal, type SessionKey, WATCHERS_PER_SESSION } from "@holdfast/pool";

export class Watchers {
  private readonly counts = new Map<string, number>();

  /** A place that has to be left again; or the refusal when there is none. */
  enter(key: SessionKey): { readonly leave: () => void } | { readonly refusal: Refusal } {
    const name = JSON.stringify([key.project, key.sessionId]);
    const count = this.counts.get(name) ?? 0;
    if (count >= WATCHERS_PER_SESSION) return { refusal: full(key.sessionId) };
    this.counts.set(name, count + 1);
    let isIn = true;
    const leave = (): void => {
      if (!isIn) return;
      isIn = false;
      const left = (this.counts.get(name) ?? 1) - 1;
      if (left === 0) this.counts.delete(name);
      else this.counts.set(name, left);
    };
    return { leave };
  }

  /** Sessions somebody watches. */
  get size(): number {
    return this.counts.size;
  }
}

function full(sessionId: string): Refusal {
  return refusal(
    "WATCHERS_FULL",
    `session ${sessionId} has ${WATCHERS_PER_SESSION} watchers already`,
    "close another watcher, or try again later",
    { session_id: sessionId },
  );
}
