// The pool's shell: one state, one timer. Steps are synchronous; effects are begun here and come back as later inputs.
//
// P1  A state that breaks an invariant is never taken: the step throws, and the pool is what it was.
// P2  The timer stands at the next deadline after every step, and nowhere once the loop is closed.
import {
  assertPool,
  createPool,
  nextDeadline,
  type Pool,
  type PoolEffect,
  type PoolInput,
  type Replies,
  step,
} from "@holdfast/pool";
import type { Clock, Timer } from "@holdfast/runtime";

export class PoolLoop {
  private readonly clock: Clock;
  private readonly begin: (effect: PoolEffect) => void;
  private pool: Pool;
  private timer: Timer | null = null;
  private closed = false;

  /** `begin` starts an effect and returns; it never calls `step` before it has returned. */
  constructor(clock: Clock, maxLive: number, startLimitMs: number, begin: (effect: PoolEffect) => void) {
    this.clock = clock;
    this.begin = begin;
    this.pool = createPool(maxLive, startLimitMs);
  }

  get state(): Pool {
    return this.pool;
  }

  step<Input extends PoolInput>(input: Input): Replies[Input["kind"]] {
    const stepped = step(this.pool, input, this.clock.monotonicMs());
    assertPool(stepped.state);
    this.pool = stepped.state;
    this.arm();
    for (const effect of stepped.effects) this.begin(effect);
    return stepped.reply;
  }

  close(): void {
    this.closed = true;
    this.timer?.cancel();
    this.timer = null;
  }

  private arm(): void {
    this.timer?.cancel();
    const due = this.closed ? null : nextDeadline(this.pool);
    this.timer =
      due === null ? null : this.clock.timer(due - this.clock.monotonicMs(), () => this.step({ kind: "tick" }));
  }
}
