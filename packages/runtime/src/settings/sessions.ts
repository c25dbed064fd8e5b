// Settings that bound sessions: how long things are kept and may take, how many processes live, who owns them for how
// long. A caller may ask for other times within the server's maxima (the settings whose names end in MAX).

import { duration, integer, size } from "./kinds.ts";
import { setting } from "./setting.ts";

const SECOND_MS = 1_000;
const DAY_MS = 24 * 60 * 60 * SECOND_MS;
const YEAR_MS = 365 * DAY_MS;
const LIVE_MAX = 4_096;
const LEASE_TTL_MIN_MS = 500;
const LEASE_BEAT_MIN_MS = 50;
const DRAIN_GRACE_MAX_MS = 6 * 60 * 60 * SECOND_MS;

const UP_TO_A_DAY = duration({ min: 0, max: DAY_MS });
const BOUND_UP_TO_A_DAY = duration({ min: SECOND_MS, max: DAY_MS });

export const SESSION_SETTINGS = {
  idleTtlMs: setting(
    "HOLDFAST_IDLE_TTL",
    UP_TO_A_DAY,
    "60s",
    "How long a session without a turn keeps its process; 0 keeps nothing between turns.",
  ),
  idleMaxMs: setting("HOLDFAST_IDLE_MAX", UP_TO_A_DAY, "24h", "The longest idle time a caller may ask for."),
  approvalTtlMs: setting(
    "HOLDFAST_APPROVAL_TTL",
    UP_TO_A_DAY,
    "300s",
    "How long a parked session keeps its process; 0 makes a gate cold at once.",
  ),
  approvalMaxMs: setting(
    "HOLDFAST_APPROVAL_MAX",
    UP_TO_A_DAY,
    "24h",
    "The longest approval time a caller may ask for.",
  ),
  approvalExpiryMs: setting(
    "HOLDFAST_APPROVAL_EXPIRY",
    duration({ min: SECOND_MS, max: YEAR_MS }),
    "7d",
    "How long a gate stays answerable, with or without its process. Longer than HOLDFAST_APPROVAL_MAX.",
  ),
  turnLimitMs: setting(
    "HOLDFAST_TURN_LIMIT",
    BOUND_UP_TO_A_DAY,
    "30m",
    "How long a turn may run; the time it waits for people does not count.",
  ),
  turnMaxMs: setting("HOLDFAST_TURN_MAX", BOUND_UP_TO_A_DAY, "4h", "The longest turn a caller may ask for."),
  startLimitMs: setting(
    "HOLDFAST_START_LIMIT",
    duration({ min: 100, max: DAY_MS }),
    "60s",
    "How long an agent may take until its session is ready.",
  ),
  startMaxMs: setting(
    "HOLDFAST_START_MAX",
    duration({ min: 100, max: DAY_MS }),
    "10m",
    "Without effect in this version. The longest start the catalogue may give an agent.",
  ),
  sessionRetentionMs: setting(
    "HOLDFAST_SESSION_RETENTION",
    duration({ min: SECOND_MS, max: 10 * YEAR_MS }),
    "30d",
    "Without effect in this version. A session idle for this long is deleted with its events. Longer than HOLDFAST_APPROVAL_EXPIRY.",
  ),
  maxLive: setting(
    "HOLDFAST_MAX_LIVE",
    integer({ min: 1, max: LIVE_MAX }),
    "16",
    "Live agent processes of one runner, in whatever state.",
  ),
  memoryBudget: setting(
    "HOLDFAST_MEMORY_BUDGET",
    size(),
    "75%",
    "Memory that all agents of one runner may use together, in bytes or as a share of the control group's limit.",
  ),
  leaseTtlMs: setting(
    "HOLDFAST_LEASE_TTL",
    duration({ min: LEASE_TTL_MIN_MS, max: DAY_MS }),
    "10s",
    "Without effect in this version. A runner that gives no proof of life for this long is dead.",
  ),
  leaseBeatMs: setting(
    "HOLDFAST_LEASE_BEAT",
    duration({ min: LEASE_BEAT_MIN_MS, max: DAY_MS }),
    "2s",
    "Without effect in this version. How often a runner proves that it lives. At most a quarter of HOLDFAST_LEASE_TTL.",
  ),
  drainGraceMs: setting(
    "HOLDFAST_DRAIN_GRACE",
    duration({ min: 0, max: DRAIN_GRACE_MAX_MS }),
    "60s",
    "How long running turns may go on after a runner is told to end.",
  ),
};
