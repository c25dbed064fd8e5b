// The lane (A17): what happens under one key happens one after the other, in the order it came; keys do not wait for
// each other.
//
//  L1  Of one key at most one task is running.
//  L2  Tasks of one key run in the order of their calls.
//  L3  A task that fails fails its own caller and nobody else; the next one runs.
//  L4  A task runs in the asynchronous context of its caller, not in that of whoever happened to be ahead of it.
//  L5  Of a key without tasks nothing is left.

import { AsyncResource } from "node:async_hooks";

/** `full`: nothing was run, because as many tasks as may wait were waiting. */
export type Passage<T> =
  | { readonly kind: "ran"; readonly value: T }
  | { readonly kind: "full"; readonly waiting: number };

export interface Lane {
  /** Runs a task in its turn, or refuses it at once when the key's lane is full. Rejects with what the task threw. */
  run<T>(key: string, task: () => T | Promise<T>): Promise<Passage<T>>;
  /**
   * Runs a task in its turn, full or not: for inputs whose number is bounded where they come from (a process exits
   * once, a slot has one timer) and which must not be lost.
   */
  runAlways<T>(key: string, task: () => T | Promise<T>): Promise<T>;
  /** Tasks of a key, running and waiting. */
  depth(key: string): number;
  /** Keys that have tasks. */
  readonly size: number;
  /** Resolves when no key has a task. */
  empty(): Promise<void>;
}

/** Tasks that may wait under one key. */
export const LANE_DEPTH = 256;

interface Queue {
  waiting: number;
  tail: Promise<unknown>;
}

export function createLane(depth: number = LANE_DEPTH): Lane {
  const queues = new Map<string, Queue>();
  const enter = async <T>(key: string, task: () => T | Promise<T>): Promise<T> => {
    const queue = queues.get(key) ?? { waiting: 0, tail: Promise.resolve() };
    queues.set(key, queue);
    queue.waiting++;
    const turn = queue.tail.then(AsyncResource.bind(task)).finally(() => {
      if (--queue.waiting === 0) queues.delete(key);
    });
    // The tail only tells when it is over: how it went is the caller's to know.
    queue.tail = turn.then(over, over);
    return turn;
  };
  const depthOf = (key: string): number => queues.get(key)?.waiting ?? 0;
  return {
    async run(key, task) {
      // One more than may wait, for the one that runs.
      const waiting = depthOf(key) - 1;
      if (waiting >= depth) return { kind: "full", waiting };
      return { kind: "ran", value: await enter(key, task) };
    },
    runAlways: enter,
    depth: depthOf,
    get size() {
      return queues.size;
    },
    async empty() {
      while (queues.size > 0) await Promise.all([...queues.values()].map(({ tail }) => tail));
    },
  };
}

function over(): undefined {
  return undefined;
}
