// Time, names and digests.
export { type Clock, systemClock, type Timer } from "./clock.ts";
export { sameSecret, sha256 } from "./digest.ts";
export { readGatewayToken } from "./gateway-token.ts";
export { type IdKind, type NewId, newId, newSecret, random } from "./ids.ts";
// What happens one after the other.
export { createLane, LANE_DEPTH, type Lane, type Passage } from "./lane.ts";
export { type HeldLock, LockRefused, lockOrRefuse } from "./lock.ts";
// What is told.
export { LOG_EVENTS, type LogEvent, type LogFields } from "./log/events.ts";
export { createLog, type Log, type LogLevel, type LogOptions } from "./log/log.ts";
export { REDACTED, redact, redactKnown } from "./log/redact.ts";
export { ManualClock } from "./manual-clock.ts";
// How a service lives and ends.
export { type ChildNews, isChildNews, tellParent } from "./parent.ts";
export { CLOSE_BOUND_MS, type ProcessHost, type ProcessLife, superviseProcess } from "./process.ts";
// How a service begins.
export { type Program, runProgram, type Surroundings } from "./program.ts";
// What an operator sets.
export { type Address, isLoopback, type Size } from "./settings/kinds.ts";
export {
  describeSettings,
  readSettings,
  type Service,
  type SettingProblem,
  type Settings,
  SettingsInvalid,
  settingNames,
  settingsHelp,
  settingsTable,
} from "./settings/settings.ts";
// Spans and metrics.
export { instrumentsTable, type Labels } from "./telemetry/instruments.ts";
export type {
  AnswerOutcome,
  AnswerPath,
  CheckoutCause,
  CheckoutOutcome,
  DeliveryResult,
  GateOutcome,
  LookupResult,
  SettledDisposition,
  SlotState,
  StoreOperation,
  StoreResult,
} from "./telemetry/labels.ts";
export type { GatesReading, Metrics, PoolReading } from "./telemetry/metrics.ts";
export { type RecordedSpan, type RecordedTelemetry, recordTelemetry } from "./telemetry/recording.ts";
export type { Peer, RpcSpan, RpcTracing } from "./telemetry/rpc.ts";
export type { SessionAttributes, SpanName, SpanShapes } from "./telemetry/spans.ts";
export { startTelemetry, type TelemetryOptions } from "./telemetry/start.ts";
export type { Telemetry } from "./telemetry/telemetry.ts";
export { type Carrier, headersCarrier, metadataCarrier, type Traceparent } from "./telemetry/trace-context.ts";
export type { OpenSpan, SpanOptions, Tracing } from "./telemetry/tracing.ts";
export { VERSION } from "./version.ts";
export { within } from "./within.ts";
