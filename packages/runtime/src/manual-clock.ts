// A Clock that stands still until it is told to move. Timers fire in the order of their deadlines, then of their making,
// each at its own time; a timer set by one that fires takes part in the same move.

import { type Clock, sleepOn, type Timer } from "./clock.ts";

interface Pending {
  readonly dueMs: number;
  readonly fire: () => void;
}

export class ManualClock implements Clock {
  #wallMs: number;
  #monotonicMs = 0;
  readonly #pending = new Set<Pending>();

  /** @param wallMs what now() answers at first, in milliseconds since 1970 */
  constructor(wallMs = 0) {
    this.#wallMs = wallMs;
  }

  now(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  timer(ms: number, fire: () => void): Timer {
    const pending = { dueMs: this.#monotonicMs + Math.max(ms, 0), fire };
    this.#pending.add(pending);
    return { cancel: () => this.#pending.delete(pending) };
  }

  /** Timers that have neither fired nor been cancelled. */
  get timers(): number {
    return this.#pending.size;
  }

  /** Moves both clocks forward and fires what falls due, then lets what waited for it run on. */
  async advance(ms: number): Promise<void> {
    const targetMs = this.#monotonicMs + ms;
    for (let next = this.#next(targetMs); next !== undefined; next = this.#next(targetMs)) {
      this.#move(next.dueMs);
      this.#pending.delete(next);
      next.fire();
      await settled();
    }
    this.#move(targetMs);
    await settled();
  }

  /** Sets the wall clock alone, as an operator or a time server would. */
  setWall(wallMs: number): void {
    this.#wallMs = wallMs;
  }

  #next(targetMs: number): Pending | undefined {
    let first: Pending | undefined;
    for (const pending of this.#pending) {
      if (pending.dueMs <= targetMs && (first === undefined || pending.dueMs < first.dueMs)) first = pending;
    }
    return first;
  }

  #move(toMs: number): void {
    this.#wallMs += toMs - this.#monotonicMs;
    this.#monotonicMs = toMs;
  }
}

/** One turn of the event loop: every promise that was ready has run. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
