// One real service as a child process of a test.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { isChildNews } from "@holdfast/runtime";

export type ServiceWanted = {
  readonly service: "gateway" | "runner" | "local";
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
};

/** Generous: a guard against hanging, not a measurement. */
const READY_BOUND_MS = 60_000;
const LOG_BYTES = 2_000_000;

export class Service {
  readonly name: string;
  private readonly wanted: ServiceWanted;
  private child: ChildProcess;
  private printed = "";
  address = "";

  private constructor(wanted: ServiceWanted) {
    this.wanted = wanted;
    this.name = wanted.name;
    this.child = this.spawn();
  }

  static async start(wanted: ServiceWanted): Promise<Service> {
    const service = new Service(wanted);
    await service.untilReady();
    return service;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** What it logged, all incarnations. */
  get log(): string {
    return this.printed;
  }

  /** Log lines as objects. */
  get lines(): readonly Record<string, unknown>[] {
    return this.printed
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Sends a signal and waits for the end. */
  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, "exit");
    this.child.kill(signal);
    await exited;
  }

  async restart(): Promise<void> {
    this.child = this.spawn();
    await this.untilReady();
  }

  private spawn(): ChildProcess {
    const main = fileURLToPath(new URL(`../../services/${this.wanted.service}/src/main.ts`, import.meta.url));
    const child = spawn(process.execPath, [main], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", ...this.wanted.env },
    });
    const keep = (chunk: Buffer) => {
      this.printed = (this.printed + chunk.toString()).slice(-LOG_BYTES);
    };
    child.stdout?.on("data", keep);
    child.stderr?.on("data", keep);
    return child;
  }

  private async untilReady(): Promise<void> {
    const { child } = this;
    const ready = Promise.withResolvers<string>();
    child.on("message", (news) => {
      if (isChildNews(news)) ready.resolve(news.address);
    });
    child.on("exit", (code, signal) =>
      ready.reject(new Error(`${this.name} ended ${code ?? signal}\n${this.printed}`)),
    );
    const bound = setTimeout(
      () => ready.reject(new Error(`${this.name} was not ready\n${this.printed}`)),
      READY_BOUND_MS,
    );
    try {
      this.address = await ready.promise;
    } finally {
      clearTimeout(bound);
    }
  }
}
