// The life of a service's process: how it ends, and that it does.
//
//  R1  The first SIGINT or SIGTERM runs the registered closers, the last registered first, each within its bound; one
//      that fails or takes too long is told of and never keeps the next one from running.
//  R2  A second signal ends the process at once.
//  R3  A bug (an exception or rejection nobody handled) is told of and ends the process with code 1: what the process
//      holds in memory is no longer known to be true, and everything acknowledged is in the store.
//  R4  Whatever way the process ends, short of SIGKILL, the last acts run: synchronous, so that nothing can come between.

import { systemClock } from "./clock.ts";
import type { Log } from "./log/log.ts";
import { within } from "./within.ts";

/** The part of a process that decides about its end. `process` is one. */
export interface ProcessHost {
  on(event: "SIGINT" | "SIGTERM", listener: (signal: NodeJS.Signals) => void): unknown;
  on(event: "uncaughtException" | "unhandledRejection", listener: (reason: unknown) => void): unknown;
  on(event: "exit", listener: () => void): unknown;
  exit(code: number): never;
}

export interface ProcessLife {
  /** Aborts when the end begins, with the reason as text. */
  readonly ending: AbortSignal;
  /** Registers what has to be closed. `boundMs` is how long it may take. */
  closing(name: string, close: () => void | Promise<void>, boundMs?: number): void;
  /** Registers an act for R4. It must not throw and not wait. */
  lastAct(name: string, act: () => void): void;
  /** Ends the process as a signal would. Resolves never, unless the host's exit returns. */
  end(reason: string, code?: number): Promise<void>;
}

/** How long a closer may take that names no bound of its own. */
export const CLOSE_BOUND_MS = 5_000;

const CODE_FAILED = 1;
/** A process ended by a signal answers 128 and the signal's number, by the shells' convention. */
const SIGNAL_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143 };

interface Closer {
  readonly name: string;
  readonly close: () => void | Promise<void>;
  readonly boundMs: number;
}

/** Takes over the process' end. Once per process. */
export function superviseProcess(log: Log, host: ProcessHost = process): ProcessLife {
  const closers: Closer[] = [];
  const lastActs: { name: string; act: () => void }[] = [];
  const ending = new AbortController();

  const end = async (reason: string, code = 0): Promise<void> => {
    if (ending.signal.aborted) return;
    ending.abort(reason);
    log.info("closing", { reason });
    let worst = code;
    for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) {
      if (!(await isClosed(closer, log))) worst = Math.max(worst, CODE_FAILED);
    }
    log.info("closed", { reason, exit_code: worst });
    log.flush();
    host.exit(worst);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (ending.signal.aborted) host.exit(SIGNAL_CODES[signal] ?? CODE_FAILED);
    void end(signal);
  };
  const onBug = (error: unknown): void => {
    log.error("crash", { error });
    log.flush();
    host.exit(CODE_FAILED);
  };

  host.on("SIGINT", onSignal);
  host.on("SIGTERM", onSignal);
  host.on("uncaughtException", onBug);
  host.on("unhandledRejection", onBug);
  host.on("exit", () => {
    for (const { name, act } of lastActs.reverse()) runLastAct(name, act, log);
  });
  return {
    ending: ending.signal,
    closing: (name, close, boundMs = CLOSE_BOUND_MS) => void closers.push({ name, close, boundMs }),
    lastAct: (name, act) => void lastActs.push({ name, act }),
    end,
  };
}

async function isClosed({ name, close, boundMs }: Closer, log: Log): Promise<boolean> {
  try {
    const closed = Promise.resolve(close()).then(() => true);
    if ((await within(systemClock, boundMs, closed)) !== null) return true;
    log.warn("closing", { reason: "timeout", key: name, duration_ms: boundMs }, `${name} did not close in time`);
    return false;
  } catch (error) {
    log.error("closing", { reason: "failed", key: name, error }, `${name} failed to close`);
    return false;
  }
}

/** A last act that throws would turn the exit code and hide the others. */
function runLastAct(name: string, act: () => void, log: Log): void {
  try {
    act();
  } catch (error) {
    log.error("closing", { reason: "failed", key: name, error }, `the last act of ${name} failed`);
    log.flush();
  }
}
