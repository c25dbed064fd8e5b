// What a log line can tell of, and with which fields: two closed sets, so that a query written today finds the lines of
// tomorrow, and so that there is no field into which a prompt, an argument value or a secret would fit.

/** The events of sessions and answers: every change of state is one line. */
const SESSION_EVENTS = [
  "warm_hit",
  "cold_fall",
  "turn.started",
  "turn.ended",
  "park",
  "continue",
  "gate.opened",
  "gate.closed",
  "gate.refused",
  "answer.accepted",
  "answer.duplicate",
  "answer.conflict",
  "answer.refused",
  "stop",
  "evict",
  "uncertain",
  "recoverable",
  "disconnect",
  "session.closed",
  "session.deleted",
] as const;

/** The events of ownership and delivery. */
const OWNERSHIP_EVENTS = [
  "claim",
  "takeover",
  "settle",
  "deliver",
  "sweep",
  "lease.claimed",
  "lease.lost",
  "lease.dead",
  "drain",
] as const;

/** The events of processes: the agents' and our own. */
const PROCESS_EVENTS = [
  "agent.start",
  "agent.ready",
  "agent.exit",
  "agent.noise",
  "agent.stderr",
  "cleanup",
  "starting",
  "listening",
  "ready",
  "settings",
  "catalogue",
  "credentials",
  "rpc.failed",
  "store.unavailable",
  "record.unreadable",
  "telemetry.problem",
  "closing",
  "closed",
  "crash",
] as const;

export const LOG_EVENTS = [...SESSION_EVENTS, ...OWNERSHIP_EVENTS, ...PROCESS_EVENTS] as const;
export type LogEvent = (typeof LOG_EVENTS)[number];

/** What a line can carry besides its event. Ids, names, counts and closed words; never content. */
export interface LogFields {
  /** From the closed set that belongs to the event. */
  readonly reason?: string | null;
  readonly project?: string;
  readonly session?: string;
  readonly turn?: string;
  readonly execution?: number;
  readonly gate?: string;
  readonly answer?: string;
  readonly command?: string;
  readonly principal?: string;
  readonly channel?: string;
  readonly agent?: string;
  /** The agent's process. */
  readonly pid?: number;
  readonly instance?: string;
  readonly runner?: string;
  readonly incarnation?: string;
  readonly epoch?: number;
  readonly tier?: string;
  readonly outcome?: string;
  readonly disposition?: string;
  readonly attempt?: number;
  readonly rpc?: string;
  readonly status?: string;
  readonly address?: string;
  readonly port?: number;
  readonly path?: string;
  readonly key?: string;
  readonly exit_code?: number | null;
  readonly signal?: string | null;
  readonly count?: number;
  readonly bytes?: number;
  readonly duration_ms?: number;
  /** Already redacted: the end of an agent's stderr, a parser's complaint. */
  readonly detail?: string;
  /** What was thrown. Its name, message and stack are written, with what looks like a secret taken out. */
  readonly error?: unknown;
}
