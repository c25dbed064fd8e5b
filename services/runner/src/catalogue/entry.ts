// One agent of the catalogue, and what has to be there before its process can be started.

import { isAbsolute, resolve } from "node:path";
import type { SessionConfig, SessionKey } from "@holdfast/pool";
import type { Log } from "@holdfast/runtime";
import type { AgentFile, AgentStart } from "../acp/agent.ts";
import {
  createDirectories,
  isReallyWithin,
  isUsableDirectory,
  isWithin,
  LeadsOut,
  makeBelow,
  removeDirectories,
  type SessionDirectories,
  sessionDirectories,
  writeFilesBelow,
} from "./directory.ts";
import { agentEnvironment } from "./environment.ts";
import { fillIn, type Placeholder } from "./placeholders.ts";
import { readSecret, SecretMissing, secretsNamed, withSecrets } from "./secrets.ts";
import type { AgentShape } from "./shape.ts";

/** What every entry of a catalogue shares. */
export type EntrySurroundings = {
  /** Absolute. */
  readonly catalogueDirectory: string;
  readonly dataDirectory: string;
  /** The runner's mark on this host (process/marker.ts). */
  readonly owner: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
};

export type StartRequest = {
  readonly key: SessionKey;
  /** As directoryOf gave it. */
  readonly directory: string;
  readonly config: SessionConfig;
  /** The caller's, by name. */
  readonly secrets: ReadonlyMap<string, { readonly value: string }>;
  /** For the agent's own traces; "" for none. */
  readonly traceparent: string;
};

/** All of a start that the catalogue and the session's configuration decide. */
export type PreparedStart = Omit<AgentStart, "instance" | "load" | "signal" | "listener" | "room">;

/** `undo` takes along what the preparation made; for a start that fails. `message` is for people and holds no secret's value. */
export type Prepared =
  | { readonly kind: "ready"; readonly start: PreparedStart; readonly undo: () => Promise<void> }
  | { readonly kind: "failed"; readonly message: string };

/** A start that cannot be prepared, for a reason that the session's configuration or the catalogue gives. */
class Unprepared extends Error {}

export class AgentEntry {
  readonly name: string;
  /** Its sessions can be brought back. */
  readonly load: boolean;
  readonly #shape: AgentShape;
  readonly #surroundings: EntrySurroundings;

  constructor(shape: AgentShape, surroundings: EntrySurroundings) {
    this.name = shape.name;
    this.load = shape.load;
    this.#shape = shape;
    this.#surroundings = surroundings;
  }

  /** Where a session works: `workingDirectory` is relative to its own directory, or absolute; "" is its own. Absolute. */
  directoryOf(key: SessionKey, workingDirectory: string): string {
    return resolve(this.#directories(key).work, workingDirectory);
  }

  /** Whether a session may work there by name; links are looked at when it starts. */
  mayWorkIn(key: SessionKey, directory: string): boolean {
    return [this.#directories(key).work, ...this.#roots()].some((base) => isWithin(base, directory));
  }

  isUsable(directory: string): Promise<boolean> {
    return isUsableDirectory(directory);
  }

  /** Whether the agent takes a system prompt. A session that has one and an agent that does not cannot start. */
  get takesSystemPrompt(): boolean {
    return this.#shape.system_prompt === "append";
  }

  /** Names of secrets that a start of this configuration needs and that nobody has (C8). */
  missingSecrets(config: SessionConfig, secrets: ReadonlyMap<string, unknown>): readonly string[] {
    return secretsNamed(config.mcpServers).filter((name) => !secrets.has(name) && !(name in this.#shape.secrets));
  }

  /** Makes the directories, reads the secrets, writes the files. Repeatable; when it fails, what it made is gone (A1). */
  async prepare(request: StartRequest): Promise<Prepared> {
    const directories = this.#directories(request.key);
    let isNew = false;
    const undo = async (): Promise<void> => {
      if (isNew) await this.#remove(directories);
    };
    try {
      isNew = await createDirectories(directories);
      return { kind: "ready", start: await this.#prepare(request, directories), undo };
    } catch (error) {
      await undo();
      const isOurs = error instanceof Unprepared || error instanceof SecretMissing || error instanceof LeadsOut;
      if (isOurs) return { kind: "failed", message: error.message };
      const { code, path } = error as NodeJS.ErrnoException;
      if (code === undefined) throw error;
      return { kind: "failed", message: `the session's directory cannot be prepared: ${code} ${path ?? ""}`.trimEnd() };
    }
  }

  /** What cannot be removed is told of and changes nothing: the start has failed either way. */
  async #remove(directories: SessionDirectories): Promise<void> {
    try {
      await removeDirectories(directories);
    } catch (error) {
      this.#surroundings.log.warn("cleanup", { reason: "directory", error, agent: this.name });
    }
  }

  async #prepare(
    { key, directory, config, secrets, traceparent }: StartRequest,
    directories: SessionDirectories,
  ): Promise<PreparedStart> {
    if (config.systemPrompt !== "" && !this.takesSystemPrompt) {
      throw new Unprepared(`agent ${this.name} takes no system prompt`);
    }
    await this.#makeWorkplace(key, directory);
    const own = await this.#ownSecrets();
    const fill = (text: string) => fillIn(text, this.#values(directories, directory));
    await this.#writeFiles(directories.home, directory, fill);
    const values = new Map([...own.values, ...[...secrets].map(([name, { value }]) => [name, value] as const)]);
    return {
      owner: this.#surroundings.owner,
      agentName: this.name,
      command: fill(this.#shape.command),
      args: this.#shape.args.map(fill),
      env: agentEnvironment(
        this.#surroundings.environment,
        directories,
        traceparent === "" ? {} : { TRACEPARENT: traceparent },
        Object.fromEntries(Object.entries(this.#shape.env).map(([name, value]) => [name, fill(value)])),
        own.env,
      ),
      directory,
      mcpServers: config.mcpServers.map((server) => withSecrets(server, values)),
      model: config.model || this.#shape.model,
      mode: config.mode || this.#shape.mode,
      systemPrompt: config.systemPrompt,
      secrets: [...values.values()],
      log: this.#surroundings.log,
    };
  }

  /** A session's own directories are made; those below a root must be there. No link leads out of either. */
  async #makeWorkplace(key: SessionKey, directory: string): Promise<void> {
    const { work } = this.#directories(key);
    if (isWithin(work, directory)) {
      await makeBelow(work, directory);
      return;
    }
    for (const root of this.#roots()) {
      if (isWithin(root, directory) && (await isReallyWithin(root, directory))) return;
    }
    throw new Unprepared(`agent ${this.name} may not work in ${directory}: it is below none of its roots`);
  }

  async #ownSecrets() {
    const values = new Map<string, string>();
    const env: Record<string, string> = {};
    for (const [name, { file, env: variable }] of Object.entries(this.#shape.secrets)) {
      const value = await readSecret(name, this.#fromCatalogue(file));
      values.set(name, value);
      env[variable ?? name] = value;
    }
    return { values, env };
  }

  async #writeFiles(home: string, directory: string, fill: (text: string) => string): Promise<void> {
    const files = this.#shape.files.map(({ path, content }) => ({
      path: resolve(home, fill(path)),
      content: fill(content),
    }));
    const below = (base: string): readonly AgentFile[] => files.filter(({ path }) => isWithin(base, path));
    const stray = files.find(({ path }) => !isWithin(home, path) && !isWithin(directory, path));
    if (stray !== undefined) throw new Unprepared(`the file ${stray.path} is neither below the home nor the directory`);
    await writeFilesBelow(home, below(home));
    await writeFilesBelow(directory, below(directory));
  }

  #directories(key: SessionKey): SessionDirectories {
    return sessionDirectories(this.#surroundings.dataDirectory, key);
  }

  #roots(): readonly string[] {
    return this.#shape.roots.map((root) => this.#fromCatalogue(root)).filter(isAbsolute);
  }

  /** For what is read before there is a session: relative to the catalogue's file. */
  #fromCatalogue(path: string): string {
    const { catalogueDirectory } = this.#surroundings;
    const unknown = { home: "", directory: "", tmp: "" };
    return resolve(
      catalogueDirectory,
      fillIn(path, { ...unknown, catalogue: catalogueDirectory, node: process.execPath }),
    );
  }

  #values({ home, tmp }: SessionDirectories, directory: string): Readonly<Record<Placeholder, string>> {
    return { catalogue: this.#surroundings.catalogueDirectory, node: process.execPath, home, directory, tmp };
  }
}
