// The gateway. It knows which runner owns which session, and holds no truth of its own: that is in the store, any number of
// gateways share it, and one that dies loses its open streams and nothing else (E9).
//
//   client ── gRPC · gRPC-Web · Connect ──▶ port ──▶ credentials ──▶ rpc/<one file each>
//                                                                      │
//             ┌─────────── read the record, settle a dead owner's ◀────┤  sessions/
//             │                                                        │
//           store ◀── decide and swap: an answer, a Stop ◀─────────────┤  (packages/ledger over packages/pool)
//             │                                                        │
//             └──▶ owner known ──▶ runners/ ──▶ its runner             ├─▶ forward a turn, watch, close
//                  nobody owns it ──▶ placement/ ──▶ a runner claims   └─▶ deliver/ a committed command
//
// Reading order:
//   port/         one port, two stacks, the same handlers
//   credentials/  who calls, and what that allows
//   rpc/          session-service.ts is the table; then respond-approval.ts and run-turn.ts, the two journeys
//   sessions/     the record as it is now; the events of a session through every change of owner
//   deliver/      a committed command on its way
//   placement/    who shall claim a session that nobody owns
//   runners/      connections to runners, and that the right one answers
//   frames/       what is read of an event that is handed on undecoded
import { storeWorld } from "@holdfast/ledger";
import type { Store } from "@holdfast/pool";
import {
  type Clock,
  createLane,
  type Log,
  newId,
  readGatewayToken,
  type Settings,
  type Telemetry,
  within,
} from "@holdfast/runtime";
import { type Capability, rpcEdge } from "@holdfast/wire";
import { fileCredentials, openCredentials } from "./credentials/credentials.ts";
import { Deliveries } from "./deliver/deliveries.ts";
import { bindPort } from "./port/port.ts";
import { sessionService } from "./rpc/session-service.ts";
import { Runners } from "./runners/runners.ts";
import { Watchers } from "./sessions/watchers.ts";
import type { GatewayWorld } from "./world.ts";

/** The optional parts of the contract that this version has built. */
const BUILT: ReadonlySet<Capability> = new Set<Capability>(["secrets"]);

/** Bounds of stopping, one after the other: calls under way, commands on their way. */
const CALLS_GRACE_MS = 1_500;
const DELIVERIES_GRACE_MS = 1_000;

export type GatewayParts = {
  readonly settings: Settings;
  readonly log: Log;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** Called when the port is taken and the credentials are read, so that a gateway that cannot start changes nothing. */
  readonly openStore: () => Promise<Store>;
};

export type Gateway = {
  readonly port: number;
  /** Bounded; resolves when nothing of it is left. */
  close(): Promise<void>;
};

/** Throws when it cannot serve: the port, the credentials or the store cannot be had. Nothing is left open then. */
export async function startGateway({ settings, log, telemetry, clock, openStore }: GatewayParts): Promise<Gateway> {
  const token = settings.gatewayTokenFile === null ? null : await readGatewayToken(settings.gatewayTokenFile);
  const credentials =
    settings.tokensFile === null ? openCredentials() : await fileCredentials(settings.tokensFile, log);
  const stopping = new AbortController();
  const closers: (() => unknown)[] = [credentials.close];
  const close = async (): Promise<void> => {
    stopping.abort();
    for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) await closer();
  };
  try {
    const bound = await bindPort({ host: settings.host, port: settings.port, clock });
    closers.push(() => bound.close(CALLS_GRACE_MS));
    const store = await openStore();
    const runners = new Runners({ clock, telemetry, token });
    const deliveries = new Deliveries();
    // Calls end first, then what they began, then what both stand on.
    closers.splice(
      1,
      0,
      store.close,
      () => runners.close(),
      () => within(clock, DELIVERIES_GRACE_MS, deliveries.empty()),
    );
    const world: GatewayWorld = {
      store,
      changes: createLane(),
      ledger: storeWorld(store, clock, () => newId("operation")),
      clock,
      newId,
      settings,
      log,
      telemetry,
      runners,
      deliveries,
      watchers: new Watchers(),
      capabilities: BUILT,
    };
    bound.serve(sessionService(world, credentials, stopping.signal), rpcEdge(log, telemetry));
    return { port: bound.port, close };
  } catch (error) {
    await close();
    throw error;
  }
}
