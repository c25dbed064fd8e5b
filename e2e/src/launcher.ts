// `npm start` as a user runs it: npm from the system, the settings in the environment, a terminal's process group.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { SessionService } from "@holdfast/proto";
import { createRpcClient, type RpcClient } from "@holdfast/wire";
import { Caller, eventually } from "./caller.ts";
import { processesOf, processesWith } from "./processes.ts";

/** Where a user stands: the checkout. */
export const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
/** What it prints last. */
const READY = "Ctrl-C ends everything";
const CLIENT_NAME = /services\/(local|gateway|runner)\/src\/main\.ts/;

export type LauncherWanted = {
  readonly directory: string;
  /** HOLDFAST_ settings. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
};

/** A user's PATH, without what npm or a test's runner put in front of it. */
export function userPath(): string {
  const entries = (process.env.PATH ?? "").split(delimiter);
  return entries.filter((entry) => !entry.includes("node_modules")).join(delimiter);
}

export class Launcher {
  readonly directory: string;
  private readonly npm: ChildProcess;
  private readonly exited: Promise<unknown>;
  private readonly clients: RpcClient<typeof SessionService>[] = [];
  stdout = "";
  stderr = "";

  private constructor({ directory, settings = {}, args = [] }: LauncherWanted) {
    this.directory = directory;
    const env = { HOLDFAST_PORT: "0", HOLDFAST_DATA_DIR: directory, ...settings };
    this.npm = spawn("npm", ["start", "--silent", ...(args.length === 0 ? [] : ["--", ...args])], {
      cwd: CHECKOUT,
      // As a terminal does: a group that Ctrl-C reaches as a whole.
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: userPath(), HOME: process.env.HOME ?? "", TMPDIR: process.env.TMPDIR ?? "/tmp", ...env },
    });
    this.npm.stdout?.on("data", (chunk: Buffer) => {
      this.stdout += chunk.toString();
    });
    this.npm.stderr?.on("data", (chunk: Buffer) => {
      this.stderr += chunk.toString();
    });
    this.exited = once(this.npm, "close");
  }

  /** Resolves when it has told everything. */
  static async start(wanted: LauncherWanted): Promise<Launcher> {
    const launcher = new Launcher(wanted);
    await eventually(
      "npm start is ready",
      () => [launcher.npm.exitCode, launcher.stdout, launcher.stderr],
      ([code]) => code !== null || launcher.isReady,
    );
    if (!launcher.isReady) throw new Error(`npm start did not start\n${launcher.stdout}${launcher.stderr}`);
    return launcher;
  }

  /** One that is expected to end by itself, run to its end. */
  static async run(wanted: LauncherWanted): Promise<Launcher> {
    const launcher = new Launcher(wanted);
    await launcher.exited;
    return launcher;
  }

  private get isReady(): boolean {
    return (
      this.stdout.includes(READY) ||
      /"event":"ready".*"service":"local"|"service":"local".*"event":"ready"/.test(this.stdout)
    );
  }

  get exitCode(): number | null {
    return this.npm.exitCode;
  }

  /** host:port, as printed. */
  get address(): string {
    const [, address = ""] = /gateway\s+(\S+:\d+)$/m.exec(this.stdout) ?? [];
    return address;
  }

  caller(): Caller {
    const client = createRpcClient(SessionService, { address: this.address });
    this.clients.push(client);
    return new Caller(client.rpc, undefined);
  }

  /** The pid of one of the programs it consists of. */
  pid(service: "local" | "gateway" | "runner"): number {
    const [pid, ...others] = this.processes().filter((each) => serviceOf(each) === service);
    if (pid === undefined || (others.length > 0 && service !== "runner"))
      throw new Error(`no one ${service} is running`);
    return pid;
  }

  /** Everything that began with it and is alive: npm, the services, agents and what they started. */
  processes(): readonly number[] {
    const own = processesWith((entry) => entry === `HOLDFAST_DATA_DIR=${this.directory}`);
    return [...new Set([...own, ...this.agents()])];
  }

  agents(): readonly number[] {
    return processesOf(join(this.directory, "sessions"));
  }

  /** Ctrl-C: the whole group of the terminal gets it. Resolves to how long it took until nothing was left. */
  async interrupt(): Promise<number> {
    const from = performance.now();
    const { pid } = this.npm;
    if (pid !== undefined && !this.isOver) process.kill(-pid, "SIGINT");
    await this.untilNothingIsLeft();
    return performance.now() - from;
  }

  async untilNothingIsLeft(): Promise<void> {
    await eventually(
      "nothing of npm start is left",
      () => this.processes(),
      (left) => left.length === 0,
    );
    await this.exited;
  }

  /** For a test's end, however it went: what a failed one left behind does not stay. */
  async close(): Promise<void> {
    for (const client of this.clients) client.close();
    if (this.isOver) for (const pid of this.processes()) kill(pid);
    await this.interrupt();
  }

  private get isOver(): boolean {
    return this.npm.exitCode !== null || this.npm.signalCode !== null;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    // It went by itself in between.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function serviceOf(pid: number): string | undefined {
  try {
    return CLIENT_NAME.exec(readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[1] ?? "")?.[1];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
