// What every part of the gateway is given. Nothing here is truth: the store has that, and any number of gateways share it
// (E9).
import type { StoreWorld } from "@holdfast/ledger";
import type { Store } from "@holdfast/pool";
import type { Clock, Lane, Log, NewId, Settings, Telemetry } from "@holdfast/runtime";
import type { Capabilities } from "@holdfast/wire";
import type { Deliveries } from "./deliver/deliveries.ts";
import type { Runners } from "./runners/runners.ts";
import type { Watchers } from "./sessions/watchers.ts";

export type GatewayWorld = {
  readonly store: Store;
  /** One session's changes from this gateway come one after the other: they would only lose swaps to each other. */
  readonly changes: Lane;
  /** The same store, for changing records. */
  readonly ledger: StoreWorld;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly settings: Settings;
  readonly log: Log;
  readonly telemetry: Telemetry;
  readonly runners: Runners;
  readonly deliveries: Deliveries;
  readonly watchers: Watchers;
  /** The optional parts that this gateway and its runners have built. */
  readonly capabilities: Capabilities;
};
