// What the launcher says of itself: words for people at a terminal, or, with HOLDFAST_LOG=json, log lines and nothing else.
import type { Log } from "@holdfast/runtime";
import { type Tour, tour } from "./tour.ts";

export interface Voice {
  starting(): void;
  /** One part of it is there. */
  began(name: string, address: string): void;
  ready(whole: Tour): void;
  /** A part ended by itself; `why` is its last error, or null. */
  lost(name: string, how: string, why: string | null): void;
  refused(error: Error): void;
  ending(): void;
  /** Nothing of it runs any more. */
  ended(): void;
}

export function isForMachines(env: NodeJS.ProcessEnv): boolean {
  return env.HOLDFAST_LOG === "json";
}

const NAME_COLUMNS = 10;

export function wordsFor(out: { write(text: string): unknown }, err: { write(text: string): unknown }): Voice {
  return {
    starting: () => void out.write("Holdfast starts.\n\n"),
    began: (name, address) => void out.write(`  ${name.padEnd(NAME_COLUMNS)} ${address}\n`),
    ready: (whole) => void out.write(tour(whole)),
    lost: (name, how, why) =>
      void err.write(`\n${name} ended ${how}${why === null ? "" : `: ${why}`}\nEverything else is ended, too.\n`),
    refused: (error) => void err.write(`\nHoldfast did not start: ${error.message}\n`),
    ending: () => void out.write("\nHoldfast ends.\n"),
    ended: () => void out.write("Nothing is left running.\n"),
  };
}

export function logLines(log: Log): Voice {
  return {
    starting: () => log.info("starting"),
    began: (name, address) => log.info("listening", { key: name, address }),
    ready: ({ address, data }) => log.info("ready", { address, path: data }),
    lost: (name, how, why) =>
      log.error("crash", { key: name, ...(why === null ? {} : { detail: why }) }, `${name} ended ${how}`),
    refused: (error) => log.error("crash", { error }, "could not start"),
    // The life of the process logs its own end.
    ending: () => undefined,
    ended: () => undefined,
  };
}
