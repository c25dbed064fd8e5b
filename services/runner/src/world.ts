// What every part of the runner is given: identity, store, clock, pool, lane, catalogue. Nothing here is global.

import type { StoreWorld } from "@holdfast/ledger";
import type { Owner, SessionConfig } from "@holdfast/pool";
import type { Clock, Lane, Log, NewId, Settings, Telemetry } from "@holdfast/runtime";
import type { Capabilities } from "@holdfast/wire";
import type { Catalogue } from "./catalogue/catalogue.ts";
import type { RunnerLease } from "./lease.ts";
import type { PoolLoop } from "./pool-loop.ts";
import type { SessionHost } from "./session/host.ts";

export type RunnerWorld = {
  /** This incarnation, as it stands in the records it owns. */
  readonly self: Owner;
  readonly store: StoreWorld;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly settings: Settings;
  /** What a session without a configuration gets. */
  readonly defaultConfig: SessionConfig;
  readonly catalogue: Catalogue;
  readonly lease: RunnerLease;
  readonly lane: Lane;
  readonly pool: PoolLoop;
  readonly log: Log;
  readonly telemetry: Telemetry;
  /** The optional parts of the contract that this runner has built. */
  readonly capabilities: Capabilities;
  /** Memory that all agents may use together. */
  readonly memoryBudgetBytes: number;
  /** Aborts when the runner ends. */
  readonly ending: AbortSignal;
  /** Lets something go on beside the caller; what it throws is a bug, told of in the log. */
  readonly background: (work: Promise<unknown>) => void;
  readonly forgetIfEmpty: (host: SessionHost) => void;
};
