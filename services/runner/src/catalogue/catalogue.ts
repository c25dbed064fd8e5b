// The agents this runner can host. Read once, when the runner starts: a catalogue that is wrong stops it with everything
// that is wrong named, and a running one is never changed under its sessions.

import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentEntry, type EntrySurroundings } from "./entry.ts";
import { CatalogueInvalid, parseCatalogue } from "./parse.ts";

export { AgentEntry } from "./entry.ts";

/** Longest catalogue. */
export const CATALOGUE_BYTES = 4 * 1024 * 1024;

/** The scripted agent alone: what a runner has that is told of no catalogue. */
const SCRIPTED_CATALOGUE = fileURLToPath(new URL("../../../../agents/scripted/agents.yaml", import.meta.url));

export class Catalogue {
  readonly #entries: ReadonlyMap<string, AgentEntry>;

  constructor(entries: readonly AgentEntry[]) {
    this.#entries = new Map(entries.map((entry) => [entry.name, entry]));
  }

  /** In the order of the file. */
  get names(): readonly string[] {
    return [...this.#entries.keys()];
  }

  find(name: string): AgentEntry | null {
    return this.#entries.get(name) ?? null;
  }
}

/** `file` null: the scripted agent. Throws CatalogueInvalid, also when the file cannot be read. */
export async function readCatalogue(
  file: string | null,
  surroundings: Omit<EntrySurroundings, "catalogueDirectory">,
): Promise<Catalogue> {
  const path = resolve(file ?? SCRIPTED_CATALOGUE);
  const shapes = parseCatalogue(await textOf(path), path);
  const all = { ...surroundings, catalogueDirectory: dirname(path) };
  return new Catalogue(shapes.map((shape) => new AgentEntry(shape, all)));
}

async function textOf(path: string): Promise<string> {
  let text: Buffer;
  try {
    text = await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new CatalogueInvalid([`${path}: the catalogue cannot be read: ${code}`]);
  }
  if (text.length > CATALOGUE_BYTES) {
    throw new CatalogueInvalid([`${path}: the catalogue is longer than ${CATALOGUE_BYTES} bytes`]);
  }
  return text.toString("utf8");
}
