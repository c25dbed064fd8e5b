// Times a caller may set for a turn, each within the server's maximum. Absent takes the server's default; 0 is a value of
// its own for the two times to live (A3: it keeps nothing), and not for the turn limit.
import { type Duration, durationMs } from "@bufbuild/protobuf/wkt";
import type { TurnLimits } from "@holdfast/pool";
import type { Limits } from "@holdfast/proto";
import type { Violations } from "./violations.ts";

/** In milliseconds. `defaults` must lie within `maxima`. */
export type LimitRules = { readonly defaults: TurnLimits; readonly maxima: TurnLimits };

const NANOS_PER_SECOND = 1_000_000_000;
const DURATION_MAX_SECONDS = 315_576_000_000n;

export function readTurnLimits(
  found: Violations,
  field: string,
  limits: Limits | undefined,
  rules: LimitRules,
): TurnLimits {
  const { defaults, maxima } = rules;
  return {
    turnLimitMs: readMs(found, `${field}.turn_limit`, limits?.turnLimit, 1, maxima.turnLimitMs) ?? defaults.turnLimitMs,
    idleTtlMs: readMs(found, `${field}.idle_ttl`, limits?.idleTtl, 0, maxima.idleTtlMs) ?? defaults.idleTtlMs,
    approvalTtlMs:
      readMs(found, `${field}.approval_ttl`, limits?.approvalTtl, 0, maxima.approvalTtlMs) ?? defaults.approvalTtlMs,
  };
}

function readMs(
  found: Violations,
  field: string,
  duration: Duration | undefined,
  minMs: number,
  maxMs: number,
): number | null {
  if (duration === undefined) return null;
  if (!found.check(isDuration(duration), field, "is not a duration")) return null;
  const ms = durationMs(duration);
  if (!found.check(ms >= minMs, field, minMs === 0 ? "must not be negative" : "must be positive")) return null;
  return found.check(ms <= maxMs, field, `is longer than the server's maximum of ${maxMs / 1_000} s`)
    ? Math.round(ms)
    : null;
}

function isDuration({ seconds, nanos }: Duration): boolean {
  if (seconds > DURATION_MAX_SECONDS || seconds < -DURATION_MAX_SECONDS) return false;
  if (nanos <= -NANOS_PER_SECOND || nanos >= NANOS_PER_SECOND) return false;
  return seconds === 0n || nanos === 0 || seconds > 0n === nanos > 0;
}
