// One service as a child process: its log goes to a file (or to our stdout, when HOLDFAST_LOG asks for it), and it tells by
// Node's channel when it is ready.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isChildNews } from "@holdfast/runtime";
import { lastErrorIn } from "./last-words.ts";

export type ChildWanted = {
  readonly name: string;
  /** The folder under services/. */
  readonly service: string;
  readonly data: string;
  readonly env: Readonly<Record<string, string>>;
};

/** How long a service may take until it is ready. */
const READY_BOUND_MS = 60_000;
/** After SIGTERM; a runner's grace and teardowns are within it. */
const END_BOUND_MS = 15_000;
/** Turns that run when the launcher is told to end: people at a terminal do not wait a minute. */
const LOCAL_DRAIN_GRACE = "500ms";

/** The service did not come up. The message says why, as far as the service said it, and where its log is. */
export class ChildFailed extends Error {
  override readonly name = "ChildFailed";
}

export class Child {
  private readonly name: string;
  /** Null: its log goes where ours goes. */
  private readonly logFile: string | null;
  private readonly process: ChildProcess;
  private readonly exited: Promise<unknown>;

  constructor({ name, service, data, env }: ChildWanted) {
    this.name = name;
    this.logFile = (process.env.HOLDFAST_LOG ?? "") === "" ? freshLog(data, name) : null;
    const main = fileURLToPath(new URL(`../../${service}/src/main.ts`, import.meta.url));
    const own = this.logFile === null ? null : openSync(this.logFile, "w");
    const out = own ?? "inherit";
    this.process = spawn(process.execPath, [main], {
      // A group of its own: a terminal's Ctrl-C is the launcher's to pass on.
      detached: true,
      stdio: ["ignore", out, out, "ipc"],
      env: {
        HOLDFAST_DRAIN_GRACE: LOCAL_DRAIN_GRACE,
        ...process.env,
        HOLDFAST_DATA_DIR: data,
        ...env,
      },
    });
    if (own !== null) closeSync(own);
    this.exited = once(this.process, "exit");
  }

  /** Resolves to its address. Rejects with ChildFailed. */
  async ready(): Promise<string> {
    const news = Promise.withResolvers<string>();
    this.process.on("message", (message) => {
      if (isChildNews(message)) news.resolve(message.address);
    });
    const bound = setTimeout(() => news.reject(this.failed(`was not ready in ${READY_BOUND_MS} ms`)), READY_BOUND_MS);
    void this.exited.then(() => news.reject(this.failed(`ended ${this.how()}`)));
    try {
      return await news.promise;
    } finally {
      clearTimeout(bound);
    }
  }

  /** Resolves when it is gone, with how it went. */
  async gone(): Promise<string> {
    await this.exited;
    return this.how();
  }

  /** SIGTERM, a bound, SIGKILL. Resolves when it is gone. */
  async end(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const bound = setTimeout(() => this.process.kill("SIGKILL"), END_BOUND_MS);
    this.process.kill("SIGTERM");
    await this.exited;
    clearTimeout(bound);
  }

  /** Its last error and where to read more; null when its log went where ours goes. */
  lastError(): string | null {
    if (this.logFile === null) return null;
    return `${lastErrorIn(readFileSync(this.logFile, "utf8"))}\n  its log: ${this.logFile}`;
  }

  private how(): string {
    const { exitCode, signalCode } = this.process;
    return signalCode === null ? `with code ${exitCode}` : `by ${signalCode}`;
  }

  private failed(how: string): ChildFailed {
    const why = this.lastError();
    return new ChildFailed(`${this.name} ${how}${why === null ? "" : `: ${why}`}`);
  }
}

/** The log of the start before is kept beside it. */
function freshLog(data: string, name: string): string {
  mkdirSync(join(data, "logs"), { recursive: true });
  const file = join(data, "logs", `${name}.log`);
  if (existsSync(file)) renameSync(file, join(data, "logs", `${name}.before.log`));
  return file;
}
