// One ACP session of this process: its directory, its memory, and the turn that is running.
//
// 1. At most one turn at a time; a second prompt is refused, never queued.
// 2. What load and resume need is on the disk before it is told to anybody.
// 3. Tool call ids count up for the life of the session, over restarts too; two sessions use the same ones.

import { randomUUID } from "node:crypto";
import type { SessionConfigOption, SessionModeState, SessionUpdate } from "@agentclientprotocol/sdk";
import { History } from "./history.ts";
import { emptyMemory, MEMORY_MAX_ENTRIES, type Memory, readMemory, writeMemory } from "./memory.ts";
import type { Turn } from "./turn.ts";

/** In mode `ask` every CMD opens a gate; in mode `read-only` none is asked for and none runs. */
const MODES = [
  { id: "ask", name: "Ask before every command" },
  { id: "read-only", name: "Run no command" },
] as const;

/** The model changes nothing: it is there so that a client can change it. */
const MODELS = [
  { value: "plain", name: "Plain" },
  { value: "fancy", name: "Fancy" },
] as const;

export const MODEL_OPTION_ID = "model";

export class Session {
  readonly id: string;
  readonly directory: string;
  turn: Turn | undefined;
  readonly #memory: Memory;
  readonly #history: History;

  private constructor(directory: string, memory: Memory) {
    this.id = memory.session;
    this.directory = directory;
    this.#memory = memory;
    this.#history = new History(memory.history);
  }

  static create(directory: string): Session {
    const session = new Session(directory, emptyMemory(randomUUID(), MODES[0].id, MODELS[0].value));
    session.#save();
    return session;
  }

  /** Brings a session of an earlier process back; undefined when its directory does not know it. */
  static restore(directory: string, id: string): Session | undefined {
    if (!/^[A-Za-z0-9-]{1,64}$/.test(id)) return undefined;
    const memory = readMemory(directory, id);
    return memory === undefined ? undefined : new Session(directory, memory);
  }

  get history(): readonly SessionUpdate[] {
    return this.#history.updates;
  }

  get modes(): SessionModeState {
    return { currentModeId: this.#memory.mode, availableModes: MODES.map((mode) => ({ ...mode })) };
  }

  get configOptions(): SessionConfigOption[] {
    const options = MODELS.map((model) => ({ ...model }));
    const currentValue = this.#memory.model;
    return [{ type: "select", id: MODEL_OPTION_ID, name: "Model", category: "model", currentValue, options }];
  }

  get readOnly(): boolean {
    return this.#memory.mode === "read-only";
  }

  /** False when there is no such mode. */
  setMode(id: string): boolean {
    if (!MODES.some((mode) => mode.id === id)) return false;
    this.#memory.mode = id;
    this.#save();
    return true;
  }

  /** False when there is no such model. */
  setModel(value: string): boolean {
    if (!MODELS.some((model) => model.value === value)) return false;
    this.#memory.model = value;
    this.#save();
    return true;
  }

  nextToolCallId(): string {
    this.#memory.calls += 1;
    this.#save();
    return `call-${this.#memory.calls}`;
  }

  record(update: SessionUpdate): void {
    this.#history.record(update);
    this.#save();
  }

  /** False when the memory is full. */
  remember(key: string, value: string): boolean {
    const remembered = this.#memory.remembered;
    if (!Object.hasOwn(remembered, key) && Object.keys(remembered).length >= MEMORY_MAX_ENTRIES) return false;
    this.#memory.remembered = { ...remembered, [key]: value };
    this.#save();
    return true;
  }

  recall(key: string): string | undefined {
    return Object.hasOwn(this.#memory.remembered, key) ? this.#memory.remembered[key] : undefined;
  }

  /** From now on this very command needs no gate in this session. A full memory forgets the oldest. */
  allowAlways(command: string): void {
    const others = this.#memory.alwaysAllowed.filter((each) => each !== command);
    this.#memory.alwaysAllowed = [...others, command].slice(-MEMORY_MAX_ENTRIES);
    this.#save();
  }

  isAlwaysAllowed(command: string): boolean {
    return this.#memory.alwaysAllowed.includes(command);
  }

  #save(): void {
    writeMemory(this.directory, { ...this.#memory, history: this.#history.updates });
  }
}
