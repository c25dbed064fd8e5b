// The whole product on one machine, behind `npm start`: a gateway and runners as child processes over one embedded store.
//
//   launcher ── port free? ── lock on the data directory ── token, logs
//     ├── gateway     one port for everyone
//     ├── runner-1    agents, one process per session
//     └── runner-2
//
// L1  A start that cannot work (the port is taken, another launcher has the data directory, the settings are wrong) says so
//     and changes nothing.
// L2  The gateway comes first: a port that was taken meanwhile ends the start before a runner touches anything.
// L3  A child that ends by itself ends the whole, with what it last said: half a product is none.
// L4  Ending asks every child at once and waits for all; children live in their own process groups, so a Ctrl-C of the
//     terminal reaches only the launcher, and they end by themselves when the launcher is gone.
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  LockRefused,
  lockOrRefuse,
  newSecret,
  type ProcessLife,
  type Settings,
  type Surroundings,
} from "@holdfast/runtime";
import { Child, ChildFailed } from "./child.ts";
import { PortRefused, refuseTakenPort } from "./port.ts";
import { isForMachines, logLines, type Voice, wordsFor } from "./voice.ts";

const RUNNER_HOST = "127.0.0.1";
const PRIVATE_FILE = 0o600;
/** Longer than the children's own bounds. */
const CLOSE_BOUND_MS = 20_000;
const CODE_FAILED = 1;

export async function startLocal({ settings, life, log }: Surroundings): Promise<void> {
  const voice = isForMachines(process.env) ? logLines(log) : wordsFor(process.stdout, process.stderr);
  try {
    await startAll(settings, life, voice);
  } catch (error) {
    // A Ctrl-C while it starts is no failure of what it interrupted.
    if (life.ending.aborted) return;
    if (!isRefusal(error)) throw error;
    voice.refused(error);
    await life.end("start_failed", CODE_FAILED);
  }
}

async function startAll(settings: Settings, life: ProcessLife, voice: Voice): Promise<void> {
  const data = resolve(settings.dataDir);
  await refuseTakenPort(settings.host, settings.port);
  const lock = lockOrRefuse(data, "launcher", `the data directory ${data}`);
  life.lastAct("lock", () => lock.release());
  const tokenFile = join(data, "gateway-token");
  writeFileSync(tokenFile, `${newSecret()}\n`, { mode: PRIVATE_FILE });

  const children: Child[] = [];
  const endAll = async (): Promise<void> => {
    voice.ending();
    await Promise.all(children.map((child) => child.end()));
    voice.ended();
  };
  life.closing("children", endAll, CLOSE_BOUND_MS);
  const launch = async (name: string, service: string, env: Record<string, string>): Promise<string> => {
    life.ending.throwIfAborted();
    const child = new Child({ name, service, data, env: { HOLDFAST_GATEWAY_TOKEN_FILE: tokenFile, ...env } });
    children.push(child);
    const address = await child.ready();
    voice.began(name, address);
    void child.gone().then((how) => {
      if (life.ending.aborted) return;
      voice.lost(name, how, child.lastError());
      void life.end("child_gone", CODE_FAILED);
    });
    return address;
  };

  voice.starting();
  const address = await launch("gateway", "gateway", {});
  const numbers = Array.from({ length: settings.runners }, (_, index) => index + 1);
  await Promise.all(numbers.map((number) => launch(`runner-${number}`, "runner", runnerEnvironment(number))));
  voice.ready({ address, data, needsToken: settings.tokensFile !== null });
}

/** Runners beside each other: what only one process of a machine can have is not the same for two of them. */
function runnerEnvironment(number: number): Record<string, string> {
  const metrics = process.env.HOLDFAST_METRICS_PORT ?? "";
  return {
    HOLDFAST_RUNNER_NAME: `runner-${number}`,
    // Only the gateway beside it calls a runner, wherever that listens itself.
    HOLDFAST_HOST: RUNNER_HOST,
    HOLDFAST_RUNNER_ADDRESS: "",
    HOLDFAST_METRICS_PORT: Number(metrics) > 0 ? `${Number(metrics) + number}` : metrics,
  };
}

/** What is for people to set right, and tells them how; anything else is a bug and keeps its stack. */
function isRefusal(error: unknown): error is Error {
  return error instanceof PortRefused || error instanceof LockRefused || error instanceof ChildFailed;
}
