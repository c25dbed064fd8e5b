// The log: one JSON object a line on stdout, or lines for people. Every line has its event from a closed set.
//
// Lines are written behind the caller's back and never waited for: a reader of stdout that stops reading must not stop
// a runner from renewing its lease. What such a reader leaves behind is bounded, and the newest lines are dropped.

import { type DestinationStream, pino } from "pino";
import { prettyFactory } from "pino-pretty";
import type { LogEvent, LogFields } from "./events.ts";
import { redact } from "./redact.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface Log {
  debug(event: LogEvent, fields?: LogFields, message?: string): void;
  info(event: LogEvent, fields?: LogFields, message?: string): void;
  warn(event: LogEvent, fields?: LogFields, message?: string): void;
  error(event: LogEvent, fields?: LogFields, message?: string): void;
  /** A log whose every line carries these fields as well. */
  with(fields: LogFields): Log;
  /** Writes what is still held back, at once. For the last moment of a process. */
  flush(): void;
}

export interface LogOptions {
  /** Which program writes: gateway, runner, local. */
  readonly service: string;
  readonly version?: string;
  readonly format?: "json" | "pretty";
  readonly level?: LogLevel;
  /** The ids of the current trace, put on every line that has one. */
  readonly trace?: () => { readonly trace_id: string; readonly span_id: string } | null;
  /** Where lines go; stdout unless given. */
  readonly destination?: DestinationStream & { flushSync?: () => void };
}

/** Lines held back for a reader that is slow, in bytes. */
const HELD_BACK_BYTES = 4 * 1024 * 1024;
const STDOUT_FD = 1;

export function createLog(options: LogOptions): Log {
  const destination =
    options.destination ?? pino.destination({ dest: STDOUT_FD, sync: false, maxLength: HELD_BACK_BYTES });
  const stream = options.format === "pretty" ? prettyStream(destination) : destination;
  const logger = pino(
    {
      level: options.level ?? "info",
      base: { service: options.service, ...(options.version === undefined ? {} : { version: options.version }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      mixin: () => options.trace?.() ?? {},
    },
    stream,
  );
  return over(logger, () => destination.flushSync?.());
}

/** Lines for people, rendered as they are written: a stream of its own would lose the last ones of a process. */
function prettyStream(destination: DestinationStream): DestinationStream {
  const render = prettyFactory({
    colorize: process.stdout.isTTY === true,
    ignore: "version,service",
    messageFormat: "{service} {event} {msg}",
  });
  return { write: (line) => destination.write(render(line)) };
}

function over(logger: pino.Logger, flush: () => void): Log {
  const at =
    (level: LogLevel) =>
    (event: LogEvent, fields: LogFields = {}, message?: string): void =>
      logger[level]({ event, ...writable(fields) }, message);
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => over(logger.child(writable(fields)), flush),
    flush,
  };
}

function writable({ error, ...fields }: LogFields): Record<string, unknown> {
  return error === undefined ? fields : { ...fields, error: describeError(error) };
}

function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: redact(String(error)) };
  return {
    name: error.name,
    message: redact(error.message),
    stack: redact(error.stack ?? ""),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}
