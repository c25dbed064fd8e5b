// What the agent said and the lane has not handled yet. Bounded: when it is full the agent is not read from (B4), so a slow
// store makes the agent wait instead of this process grow.

/** Messages of one agent that may wait. */
export const INBOX_MESSAGES = 1_024;
/** Their size together. */
export const INBOX_BYTES = 4 * 1024 * 1024;

export class Inbox {
  private items: { readonly bytes: number; readonly handle: () => Promise<void> | void }[] = [];
  private bytes = 0;
  private waiting: (() => void)[] = [];

  /** Says whether it was empty: then somebody has to see to it. */
  put(bytes: number, handle: () => Promise<void> | void): boolean {
    this.items.push({ bytes, handle });
    this.bytes += bytes;
    return this.items.length === 1;
  }

  /** All there is, in order. */
  take(): readonly (() => Promise<void> | void)[] {
    const taken = this.items;
    this.items = [];
    this.bytes = 0;
    const woken = this.waiting;
    this.waiting = [];
    for (const wake of woken) wake();
    return taken.map(({ handle }) => handle);
  }

  get isEmpty(): boolean {
    return this.items.length === 0;
  }

  /** Resolves when another message may come. */
  room(): Promise<void> {
    if (this.items.length < INBOX_MESSAGES && this.bytes < INBOX_BYTES) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}
