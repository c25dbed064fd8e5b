// The pair for a test: a gateway and runners as real processes over one sqlite file, in a directory of the test's own.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DescribePoolResponse, RunnerService, SessionService } from "@holdfast/proto";
import { bearerMetadata, createRpcClient, type RpcClient } from "@holdfast/wire";
import { CALL_BOUND_MS, Caller } from "./caller.ts";
import { type CatalogueAgent, catalogueText } from "./catalogue.ts";
import { processesOf } from "./processes.ts";
import { Service } from "./service.ts";
import { type TokenOf, writeTokens } from "./tokens.ts";

export type StackWanted = {
  readonly runners?: number;
  readonly gateways?: number;
  /** HOLDFAST_ settings for all services. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The runners' catalogue; without it they have the scripted agent alone. */
  readonly agents?: readonly CatalogueAgent[];
  /** Whose each token is; without it everybody is the admin of project `default`. */
  readonly tokens?: Readonly<Record<string, TokenOf>>;
};

export class Stack {
  readonly directory: string;
  readonly gateways: Service[] = [];
  readonly runners: Service[] = [];
  private readonly settings: Readonly<Record<string, string>>;
  private readonly clients: RpcClient<typeof SessionService>[] = [];

  private constructor({ settings = {}, agents = [], tokens }: StackWanted) {
    this.directory = mkdtempSync(join(tmpdir(), "holdfast-e2e-"));
    const files: Record<string, string> = {};
    if (agents.length > 0) {
      files.HOLDFAST_AGENTS_FILE = join(this.directory, "agents.yaml");
      writeFileSync(files.HOLDFAST_AGENTS_FILE, catalogueText(agents));
    }
    if (tokens !== undefined) {
      files.HOLDFAST_TOKENS_FILE = join(this.directory, "tokens.json");
      writeTokens(files.HOLDFAST_TOKENS_FILE, tokens);
    }
    this.settings = { ...files, ...settings };
  }

  static async start(wanted: StackWanted = {}): Promise<Stack> {
    const { runners = 1, gateways = 1 } = wanted;
    const stack = new Stack(wanted);
    try {
      for (let index = 1; index <= gateways; index += 1) await stack.addGateway(`gateway-${index}`);
      await Promise.all(Array.from({ length: runners }, (_, index) => stack.addRunner(`runner-${index + 1}`)));
      // They got ready in any order.
      stack.runners.sort((one, other) => one.name.localeCompare(other.name));
      return stack;
    } catch (error) {
      await stack.close();
      throw error;
    }
  }

  async addGateway(name: string): Promise<Service> {
    const env = { HOLDFAST_DATA_DIR: this.directory, HOLDFAST_PORT: "0", ...this.settings };
    const gateway = await Service.start({ service: "gateway", name, env });
    this.gateways.push(gateway);
    return gateway;
  }

  async addRunner(name: string): Promise<Service> {
    const env = {
      HOLDFAST_DATA_DIR: this.directory,
      HOLDFAST_RUNNER_NAME: name,
      HOLDFAST_DRAIN_GRACE: "0",
      ...this.settings,
    };
    const runner = await Service.start({ service: "runner", name, env });
    this.runners.push(runner);
    return runner;
  }

  get gateway(): Service {
    const [gateway] = this.gateways;
    if (gateway === undefined) throw new Error("this stack has no gateway");
    return gateway;
  }

  get runner(): Service {
    const [runner] = this.runners;
    if (runner === undefined) throw new Error("this stack has no runner");
    return runner;
  }

  /** A caller of one gateway, with a token or without. */
  caller(options: { readonly gateway?: Service; readonly token?: string } = {}): Caller {
    const client = createRpcClient(SessionService, { address: (options.gateway ?? this.gateway).address });
    this.clients.push(client);
    return new Caller(client.rpc, options.token === undefined ? undefined : bearerMetadata(options.token));
  }

  /** What a runner says of its pool. */
  async pool(runner = this.runner): Promise<DescribePoolResponse> {
    const client = createRpcClient(RunnerService, { address: runner.address });
    try {
      return await client.rpc.describePool({}, { deadlineMs: Date.now() + CALL_BOUND_MS });
    } finally {
      client.close();
    }
  }

  /** What the scripted agent ran for a session, one entry a command. */
  ledger(
    sessionId: string,
    project = "default",
  ): readonly { readonly command: string; readonly pid: number; readonly toolCallId: string }[] {
    const file = join(this.workOf(sessionId, project), "ledger.jsonl");
    try {
      return readFileSync(file, "utf8")
        .trim()
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  }

  /** The directory where a session's agent works, unless the session names another. */
  workOf(sessionId: string, project = "default"): string {
    return join(this.directoryOf(sessionId, project), "work");
  }

  /** What a session has on its runner's host. */
  directoryOf(sessionId: string, project = "default"): string {
    const name = (text: string) => Buffer.from(text).toString("base64url");
    return join(this.directory, "sessions", `p_${name(project)}`, `s_${name(sessionId)}`);
  }

  /** Agents' processes of this stack that are alive, found through /proc. */
  agents(): readonly number[] {
    return processesOf(join(this.directory, "sessions"));
  }

  /** The same, of one session. */
  agentsOf(sessionId: string, project = "default"): readonly number[] {
    return processesOf(this.directoryOf(sessionId, project));
  }

  async close(): Promise<void> {
    for (const client of this.clients) client.close();
    await Promise.all([...this.gateways, ...this.runners].map((service) => service.end()));
    rmSync(this.directory, { recursive: true, force: true });
  }
}
