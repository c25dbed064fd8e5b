// One prompt, from its arrival to its stop reason, seen from its cancel.
//
// 1. A cancel is noticed once and for ever; the stop reason of a turn that noticed one is `cancelled`.
// 2. Normally it takes effect at once. While `ignore-cancel` lasts it takes effect when that time is over, and the turn
//    does not end before.

import type { StopReason } from "@agentclientprotocol/sdk";

export class Turn {
  readonly #stop = new AbortController();
  #cancelled = false;
  #deaf: NodeJS.Timeout | undefined;
  readonly #afterwards: (() => Promise<void>)[] = [];

  /** Aborts when the cancel takes effect: nothing may start after that. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** The client wants the turn to end: `session/cancel`, or a gate answered `cancelled`. */
  cancel(): void {
    this.#cancelled = true;
    if (this.#deaf === undefined) this.#stop.abort();
  }

  /** Cancels have no effect for that long from now. A later call replaces an earlier one. */
  ignoreCancel(ms: number): void {
    clearTimeout(this.#deaf);
    this.#deaf = setTimeout(() => {
      this.#deaf = undefined;
      if (this.#cancelled) this.#stop.abort();
    }, ms);
  }

  /** Something to do when the prompt has been answered already: what an agent should not do. */
  afterwards(deed: () => Promise<void>): void {
    this.#afterwards.push(deed);
  }

  /** The script is through, or stopped. Gives the stop reason, after the time in which cancels are ignored if one came. */
  async settle(): Promise<StopReason> {
    if (this.#cancelled && !this.signal.aborted) {
      await new Promise<void>((resolve) => this.signal.addEventListener("abort", () => resolve(), { once: true }));
    }
    clearTimeout(this.#deaf);
    return this.#cancelled ? "cancelled" : "end_turn";
  }

  /** Called once the answer to the prompt is on its way. */
  async doAfterwards(): Promise<void> {
    for (const deed of this.#afterwards) await deed();
  }
}
