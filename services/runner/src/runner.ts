// The runner: hosts ACP agents, one process per session, and is the only one who writes to them. This file is its story.
//
//   world.ts            what every part is given
//   lease.ts            proof of life; ownership counts only while it is held
//   pool-loop.ts        the pool's shell: one state, one timer, effects begun
//   session/hosts.ts    the sessions that are here; session/host.ts: one of them, and its lane
//   session/begin-turn.ts, start.ts, prompt.ts, content.ts, gates.ts, answers.ts, stops.ts, settle.ts, loss.ts
//                       what can happen to a session, in the order of its life
//   stream/             what its readers are told
//   acp/, process/      the agent behind all this; catalogue/: which agents there are
//   rpc/                RunnerService, one file per RPC
//
//   gateway            runner (lane of the session)                    store             agent
//   RunTurn ---------> checkout, open_turn -------------------------> swap (claim)
//                      start ------------------------------------------------------------> spawn, session/new
//                      ready, prompt --------------------------------> swap -------------> session/prompt
//           <--------- started, messages <------------------------------------------------ updates
//                      call into the log, then the gate -------------> append, swap <----- request_permission
//           <--------- gate_opened ... parked
//   RespondApproval -> admit ----------------------------------------> swap (sending)
//           <--------- admitted      write ---------------------------------------------> selected
//           <--------- continued, tool_call_update ... ended <-- swap <------------------- prompt result
//
// Starting: what a killed predecessor left on this host is ended, then the lease is taken over, then calls are served (E3).
// Ending: nothing new is started, turns may finish within the grace, every process is gone before its session is released,
// the lease is released last (E8).
import { hostname } from "node:os";
import { ServerCredentials } from "@grpc/grpc-js";
import { storeWorld } from "@holdfast/ledger";
import { describePool, isDrained, type Owner, type SessionConfig, type Store } from "@holdfast/pool";
import { RunnerService } from "@holdfast/proto";
import {
  type Clock,
  createLane,
  type Log,
  newId,
  type Settings,
  type Surroundings,
  systemClock,
} from "@holdfast/runtime";
import {
  buildGrpcServer,
  type Capabilities,
  type GrpcServer,
  grpcService,
  listenGrpc,
  MAX_ROUTED_REQUEST_BYTES,
  rpcEdge,
  stopGrpc,
} from "@holdfast/wire";
import type { Catalogue } from "./catalogue/catalogue.ts";
import { RunnerLease } from "./lease.ts";
import { MemoryWatch, memoryBudget } from "./memory.ts";
import { PoolLoop } from "./pool-loop.ts";
import type { GatewayToken } from "./rpc/gate-keeper.ts";
import { runnerHandlers } from "./rpc/service.ts";
import { SessionHosts } from "./session/hosts.ts";
import type { RunnerWorld } from "./world.ts";

/** The optional parts of the contract that a runner has built. */
const CAPABILITIES: Capabilities = new Set(["secrets"] as const);

export type RunnerWanted = Surroundings & {
  readonly name: string;
  readonly store: Store;
  readonly catalogue: Catalogue;
  readonly token: GatewayToken;
  /** Where RunnerService listens; port 0 takes a free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** `host:port` as gateways reach it; null: as it listens. */
  readonly address: string | null;
};

export type Runner = {
  readonly self: Owner;
  /** Nothing new from now on; resolves when every process is gone or the grace and the teardown are over. */
  readonly drain: () => Promise<void>;
  /** Releases the lease, stops serving. */
  readonly stop: () => Promise<void>;
};

/** Teardown of the last processes, after the grace. */
const TEARDOWN_BOUND_MS = 6_000;
/** What calls under way may still take when the server stops. */
const SERVER_BOUND_MS = 1_000;
const DRAIN_LOOK_MS = 20;

/** The predecessor's processes on this host have been ended by the caller (A16, E3). */
export async function startRunner(wanted: RunnerWanted): Promise<Runner> {
  const hosts = new SessionHosts();
  const clock = systemClock;
  const { settings, log, telemetry } = wanted;
  const ending = new AbortController();
  // The server listens before the lease names its address; it serves from the moment it is healthy.
  const held: { world: RunnerWorld | null } = { world: null };
  const world = (): RunnerWorld => held.world ?? notYet();
  const server = serve(wanted, world, hosts);
  const port = await listenGrpc(
    server.server,
    wanted.listen.host,
    wanted.listen.port,
    ServerCredentials.createInsecure(),
  );
  const self: Owner = {
    runner: wanted.name,
    incarnation: newId("incarnation"),
    address: wanted.address ?? `${wanted.listen.host}:${port}`,
  };
  const lease = await claimLease(wanted.store, clock, self);
  const pool = new PoolLoop(clock, settings.maxLive, settings.startLimitMs, (effect) => hosts.begin(effect));
  held.world = {
    self,
    store: storeWorld(wanted.store, clock, () => newId("operation")),
    clock,
    newId,
    settings,
    defaultConfig: defaultConfig(settings),
    catalogue: wanted.catalogue,
    lease,
    lane: createLane(),
    pool,
    log,
    telemetry,
    capabilities: CAPABILITIES,
    memoryBudgetBytes: memoryBudget(settings.memoryBudget),
    ending: ending.signal,
    background: (work) => void work.catch((error: unknown) => tellBug(log, ending.signal, error)),
    forgetIfEmpty: (host) => hosts.forgetIfEmpty(host),
  };
  hosts.open(held.world);
  telemetry.metrics.knowAgents(wanted.catalogue.names);
  telemetry.metrics.watchPool(() => {
    const { states, maxLive, memoryBytes } = describePool(pool.state);
    return { sessions: states, capacity: maxLive, memoryBytes };
  });
  const memory = new MemoryWatch(held.world, hosts);
  server.health.setServing(true);
  log.info("ready", { runner: self.runner, incarnation: self.incarnation, address: self.address });
  return {
    self,
    drain: () => drain(world(), server),
    async stop() {
      ending.abort(new Error("the runner ends"));
      memory.stop();
      pool.close();
      try {
        await lease.release();
      } finally {
        await stopGrpc(server, AbortSignal.timeout(SERVER_BOUND_MS));
      }
    },
  };
}

function serve(wanted: RunnerWanted, world: () => RunnerWorld, hosts: SessionHosts): GrpcServer {
  const { token, log, telemetry } = wanted;
  const service = {
    get world() {
      return world();
    },
    hosts,
    token,
  };
  const edge = rpcEdge(log, telemetry);
  return buildGrpcServer([grpcService(RunnerService, runnerHandlers(service), edge, MAX_ROUTED_REQUEST_BYTES)]);
}

function claimLease(store: Store, clock: Clock, self: Owner): Promise<RunnerLease> {
  const { runner, incarnation, address } = self;
  const lease = { runner, incarnation, address, host: hostname(), state: "live", beat: 0 } as const;
  return RunnerLease.claim({ leases: store.leases, clock, newId }, lease);
}

/** E8: not ready, nothing new, turns may finish within the grace, every process is gone. Never waits for a human. */
async function drain({ pool, clock, settings, lease, log, lane }: RunnerWorld, { health }: GrpcServer): Promise<void> {
  log.info("drain", { count: pool.state.slots.size });
  health.setServing(false);
  const endsAt = clock.monotonicMs() + settings.drainGraceMs + TEARDOWN_BOUND_MS;
  pool.step({ kind: "drain", graceMs: settings.drainGraceMs });
  try {
    await lease.drain();
  } catch (error) {
    // Nobody may be told, and the processes have to go all the same (E8).
    log.error("drain", { reason: "lease", error });
  }
  while (!isDrained(pool.state) && clock.monotonicMs() < endsAt) await clock.sleep(DRAIN_LOOK_MS);
  if (!isDrained(pool.state)) log.warn("drain", { reason: "timeout", count: pool.state.slots.size });
  await lane.empty();
}

function defaultConfig({ turnLimitMs, idleTtlMs, approvalTtlMs }: Settings): SessionConfig {
  return {
    model: "",
    mode: "",
    systemPrompt: "",
    mcpServers: [],
    workingDirectory: "",
    permissionRules: [],
    limits: { turnLimitMs, idleTtlMs, approvalTtlMs },
  };
}

/** What goes on beside a call and fails is a bug, except what the end of the runner cut off. */
function tellBug(log: Log, ending: AbortSignal, error: unknown): void {
  if (!ending.aborted) log.error("crash", { reason: "background", error });
}

function notYet(): never {
  throw new Error("a call came before the runner was ready");
}
