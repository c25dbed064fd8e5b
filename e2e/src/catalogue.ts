// Agents for a test's own catalogue (HOLDFAST_AGENTS_FILE).
import { fileURLToPath } from "node:url";

/** One entry of the catalogue as it stands in the file. */
export type CatalogueAgent = {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly load?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** By name: the file of the value, and the variable it goes to. */
  readonly secrets?: Readonly<Record<string, { readonly file: string; readonly env: string }>>;
};

const SCRIPTED = fileURLToPath(new URL("../../agents/scripted/src/main.ts", import.meta.url));
const LIGHT = fileURLToPath(new URL("light-agent.ts", import.meta.url));
const QUICK = fileURLToPath(new URL("quick-agent.sh", import.meta.url));

/** The scripted agent, with flags (agents/scripted/README.md). */
export function scripted(name: string, ...flags: string[]): CatalogueAgent {
  return { name, command: process.execPath, args: [SCRIPTED, ...flags], load: !flags.includes("--no-load") };
}

/** The light agent, with flags (light-agent.ts). */
export function light(name: string, ...flags: string[]): CatalogueAgent {
  return { name, command: process.execPath, args: [LIGHT, ...flags] };
}

/** The quick agent: ends every turn at once, and starts in next to no time. */
export function quick(name: string): CatalogueAgent {
  return { name, command: "sh", args: [QUICK] };
}

/** YAML is a superset of JSON. */
export function catalogueText(agents: readonly CatalogueAgent[]): string {
  return JSON.stringify({ agents });
}
