// The runner's process: `npm run runner`. Settings, one lock on its name, what a predecessor left ended, then the runner.

import { mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import {
  isLoopback,
  lockOrRefuse,
  readGatewayToken,
  runProgram,
  type Settings,
  type Surroundings,
  systemClock,
  tellParent,
} from "@holdfast/runtime";
import { openSqliteStore } from "@holdfast/store";
import { readCatalogue } from "./catalogue/catalogue.ts";
import { endPredecessors, ownerMark } from "./process/index.ts";
import { startRunner } from "./runner.ts";

const PRIVATE_DIRECTORY = 0o700;
/** Beyond the grace: teardown, the last swaps, the lease. */
const CLOSE_MARGIN_MS = 10_000;

await runProgram({ name: "runner", service: "runner", start });

async function start(surroundings: Surroundings): Promise<void> {
  const { settings, log, life } = surroundings;
  const name = settings.runnerName ?? hostname();
  const data = resolve(settings.dataDir);
  mkdirSync(data, { recursive: true, mode: PRIVATE_DIRECTORY });
  const lock = lockOrRefuse(join(data, "runners"), name, `runner ${name}`);
  life.lastAct("lock", () => lock.release());
  const owner = ownerMark(data, name);
  const ended = await endPredecessors(owner, systemClock);
  if (ended.ended > 0) log.warn("cleanup", { runner: name, count: ended.ended }, "ended what a predecessor left");
  if (ended.left.length > 0) throw new Error(stuck(ended.left.map(({ pid }) => pid)));
  const token = await gatewayToken(settings);
  const catalogue = await readCatalogue(settings.agentsFile, {
    dataDirectory: data,
    owner,
    environment: process.env,
    log,
  });
  const store = await openSqliteStore({ file: join(data, "holdfast.db") });
  life.closing("store", () => store.close());
  const address = settings.runnerAddress;
  const runner = await startRunner({
    ...surroundings,
    name,
    store,
    catalogue,
    token,
    listen: { host: settings.host, port: address?.port ?? 0 },
    address: address === null ? null : `${address.host}:${address.port}`,
  });
  life.closing("runner", () => runner.stop());
  life.closing("sessions", () => runner.drain(), settings.drainGraceMs + CLOSE_MARGIN_MS);
  tellParent(life, { kind: "ready", address: runner.self.address });
}

/** Without a token only this machine can call, and is believed. */
async function gatewayToken({ gatewayTokenFile, host }: Settings): Promise<string | null> {
  if (gatewayTokenFile !== null) return readGatewayToken(gatewayTokenFile);
  if (!isLoopback(host)) throw new Error(`a runner on ${host} needs HOLDFAST_GATEWAY_TOKEN_FILE`);
  return null;
}

function stuck(pids: readonly number[]): string {
  return `processes of a former runner of this name cannot be ended: ${pids.join(", ")}; end them, then start again`;
}
