// Following a log: what is there, then what comes. Whoever learns of an append rings the bell for that session; a follow
// that hears it reads on from where it is. The bell carries no data, so a ring too many costs a read and a follow can never
// get an entry twice or out of order.
//
// B1  A follow listens before it reads: what is appended in between is heard.
import type { LogEntry, SessionKey } from "@holdfast/pool";
import { keyName } from "./key.ts";

/** Entries read at once: the most a follow holds in memory for a reader that is slower than the log. */
const FOLLOW_ENTRIES = 64;

/** One follow's ear. A ring that comes while nobody waits is kept until somebody does. */
class Ear {
  #rung = false;
  #wake: (() => void) | null = null;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  async heard(): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#wake = null;
    this.#rung = false;
  }
}

export class Bell {
  readonly #ears = new Map<string, Set<Ear>>();
  #silenced = false;

  /** Something was appended to this session's log. */
  ring(key: SessionKey): void {
    for (const ear of this.#ears.get(keyName(key)) ?? []) ear.ring();
  }

  /** Something may have been appended to any log. */
  ringAll(): void {
    for (const ears of this.#ears.values()) for (const ear of ears) ear.ring();
  }

  /** The store closes: every follow ends. */
  silence(): void {
    this.#silenced = true;
    this.ringAll();
  }

  get silenced(): boolean {
    return this.#silenced;
  }

  listen(key: SessionKey): Ear {
    const name = keyName(key);
    const ears = this.#ears.get(name) ?? new Set();
    const ear = new Ear();
    this.#ears.set(name, ears.add(ear));
    return ear;
  }

  leave(key: SessionKey, ear: Ear): void {
    const ears = this.#ears.get(keyName(key));
    ears?.delete(ear);
    if (ears?.size === 0) this.#ears.delete(keyName(key));
  }
}

/** What a follow needs of its store. */
export type Followed = {
  readonly bell: Bell;
  read(key: SessionKey, after: number, limit: number): Promise<readonly LogEntry[]>;
  /** Looks for appends of other processes until it is disposed of. Called once for each follow. */
  watch(): Promise<AsyncDisposable>;
};

export async function* follow(
  store: Followed,
  key: SessionKey,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<LogEntry, void, undefined> {
  const { bell } = store;
  const over = () => signal.aborted || bell.silenced;
  if (over()) return;
  const ear = bell.listen(key);
  const wakeUp = () => ear.ring();
  signal.addEventListener("abort", wakeUp);
  try {
    await using _watch = await store.watch();
    let last = after;
    while (!over()) {
      const entries = await store.read(key, last, FOLLOW_ENTRIES);
      for (const entry of entries) {
        if (over()) return;
        last = entry.seq;
        yield entry;
      }
      if (entries.length === 0) await ear.heard();
    }
  } finally {
    signal.removeEventListener("abort", wakeUp);
    bell.leave(key, ear);
  }
}
