// How every service begins: settings are read or refused with one clear message, then log, telemetry and the life of the
// process are there before anything else starts.

import { hostname } from "node:os";
import { createLog, type Log } from "./log/log.ts";
import { type ProcessLife, superviseProcess } from "./process.ts";
import { readSettings, type Service, type Settings, SettingsInvalid, settingsHelp } from "./settings/settings.ts";
import { startTelemetry } from "./telemetry/start.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import { VERSION } from "./version.ts";

/** What a service is given to live with. */
export interface Surroundings {
  readonly settings: Settings;
  readonly log: Log;
  readonly telemetry: Telemetry;
  readonly life: ProcessLife;
}

export interface Program {
  /** As logs and telemetry name it: gateway, runner, local. */
  readonly name: string;
  /** By which rules the settings are judged. */
  readonly service: Service;
  readonly start: (surroundings: Surroundings) => Promise<void>;
}

/** The settings are wrong: as for a command line that is wrong. */
const CODE_USAGE = 2;
const CODE_FAILED = 1;
/** Telemetry goes last, for what closes before it is still telling. */
const TELEMETRY_BOUND_MS = 3_000;

/** Runs a service until a signal ends it. What start throws is told of, and everything begun by then is closed. */
export async function runProgram(program: Program, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  readNoArguments(program.name, process.argv.slice(2));
  const settings = settingsOrExit(env, program.service);
  const instance = settings.runnerName ?? hostname();
  // The log is made first: telemetry tells it of its troubles. Lines before telemetry is there have no trace.
  let telemetry: Telemetry | null = null;
  const log = createLog({
    service: program.name,
    version: VERSION,
    format: settings.log,
    level: settings.logLevel,
    trace: () => telemetry?.traceIds() ?? null,
  });
  const life = superviseProcess(log);
  try {
    telemetry = await startTelemetry({ service: program.name, version: VERSION, instance, env, settings, log });
    const { shutdown } = telemetry;
    life.closing("telemetry", shutdown, TELEMETRY_BOUND_MS);
    await program.start({ settings, log, telemetry, life });
  } catch (error) {
    log.error("crash", { error }, `${program.name} could not start`);
    await life.end("start_failed", CODE_FAILED);
  }
}

/** A service is set by its environment alone: an argument is a mistake, unless it asks what can be set. */
function readNoArguments(name: string, args: readonly string[]): void {
  const [argument] = args;
  if (argument === undefined) return;
  if (argument === "--help" || argument === "-h") {
    process.stdout.write(`The ${name} of Holdfast. It is set by environment variables:\n\n${settingsHelp()}\n`);
    process.exit(0);
  }
  process.stderr.write(`unknown argument ${argument}; nothing was started; --help tells what can be set\n`);
  process.exit(CODE_USAGE);
}

function settingsOrExit(env: NodeJS.ProcessEnv, service: Service): Settings {
  try {
    const settings = readSettings(env, service);
    if (settings.natsUrl === null) return settings;
    const problem = "names a store that this version does not have; leave it unset for the embedded one";
    throw new SettingsInvalid([{ name: "HOLDFAST_NATS_URL", problem }]);
  } catch (error) {
    if (!(error instanceof SettingsInvalid)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(CODE_USAGE);
  }
}
