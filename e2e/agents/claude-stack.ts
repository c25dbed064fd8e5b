// The pair with the real Claude agent behind it and the scripted model behind that: everything on loopback, in
// directories of one test file's own.
//
//   test ── gateway ── runner ── claude (installed, pinned) ── model endpoint (scripted)

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Caller, TurnSeen } from "../src/caller.ts";
import { Stack } from "../src/stack.ts";
import { claudeCatalogue } from "./catalogue.ts";
import { installClaude } from "./install.ts";
import { type ModelEndpoint, startModelEndpoint } from "./model-endpoint.ts";

type RunTurnMore = NonNullable<Parameters<Caller["turn"]>[2]>;

export class ClaudeStack {
  readonly stack: Stack;
  readonly model: ModelEndpoint;
  readonly caller: Caller;
  /** What the catalogue's secrets file holds. Any value will do for the scripted model; nobody may ever see it. */
  readonly apiKey: string;
  private readonly directory: string;

  private constructor(stack: Stack, model: ModelEndpoint, apiKey: string, directory: string) {
    this.stack = stack;
    this.model = model;
    this.caller = stack.caller();
    this.apiKey = apiKey;
    this.directory = directory;
  }

  static async start(): Promise<ClaudeStack> {
    const { entry } = await installClaude();
    const directory = await mkdtemp(join(tmpdir(), "holdfast-claude-"));
    const model = await startModelEndpoint();
    const apiKey = `key-${crypto.randomUUID()}`;
    const [catalogueFile, apiKeyFile] = [join(directory, "agents.yaml"), join(directory, "api-key")];
    await writeFile(apiKeyFile, `${apiKey}\n`, { mode: 0o600 });
    await writeFile(catalogueFile, claudeCatalogue({ entry, modelUrl: model.url, apiKeyFile }));
    try {
      const stack = await Stack.start({ settings: { HOLDFAST_AGENTS_FILE: catalogueFile } });
      return new ClaudeStack(stack, model, apiKey, directory);
    } catch (error) {
      await model.close();
      await rm(directory, { recursive: true });
      throw error;
    }
  }

  /** A turn of the agent `claude`, to its park or its end. */
  turn(sessionId: string, prompt: string, more: RunTurnMore = {}): Promise<TurnSeen> {
    return this.caller.turn(sessionId, prompt, { agent: "claude", ...more });
  }

  /** The lines of a file in the directory where a session's agent works; none when there is no such file. */
  async lines(sessionId: string, file: string): Promise<readonly string[]> {
    try {
      const text = await readFile(join(this.stack.workOf(sessionId), file), "utf8");
      return text.split("\n").slice(0, -1);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  }

  /** Everything the services have printed. */
  get log(): string {
    return [...this.stack.gateways, ...this.stack.runners].map(({ log }) => log).join("");
  }

  async close(): Promise<void> {
    await this.stack.close();
    await this.model.close();
    await rm(this.directory, { recursive: true });
  }
}
