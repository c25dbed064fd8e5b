// Those who wait for one thing that happens now and then.

export class Waiters {
  private readonly waiting = new Set<() => void>();
  private count = 0;

  /** Resolves at the next `wake`, or when the signal aborts. */
  wait(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.waiting.delete(done);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      this.waiting.add(done);
      signal?.addEventListener("abort", done, { once: true });
      if (signal?.aborted) done();
    });
  }

  /** How often `wake` was called: who decides first and waits then sees what came in between. */
  get wakes(): number {
    return this.count;
  }

  wake(): void {
    this.count += 1;
    for (const done of [...this.waiting]) done();
  }

  get size(): number {
    return this.waiting.size;
  }
}
