// All settings, read once. The table is the one definition: the reader, the printed form and the documentation are made
// from it.
//
//  - A variable that begins with HOLDFAST_ and is not in the table is an error, for it is a misspelt one.
//  - An empty variable counts as unset, which is what a template with nothing to fill in leaves behind.
//  - Either everything is right, or one error lists everything that is wrong.

import { isInjectedByKubernetes } from "./kubernetes.ts";
import { RELATIONS } from "./relations.ts";
import { SERVICE_SETTINGS } from "./service.ts";
import { SESSION_SETTINGS } from "./sessions.ts";
import type { Setting, SettingName } from "./setting.ts";

export const SETTINGS = Object.freeze({ ...SERVICE_SETTINGS, ...SESSION_SETTINGS });

type Table = typeof SETTINGS;
type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** Every setting's value; times in milliseconds, null where nothing was given and nothing is assumed. */
export type Settings = { readonly [Key in keyof Table]: ValueOf<Table[Key]> };

/** For which service the relations are judged; the launcher is a gateway. */
export type Service = "gateway" | "runner";

export type SettingProblem = { readonly name: string; readonly problem: string };

/** The settings cannot be used. The message has one line for each problem, each beginning with a variable's name. */
export class SettingsInvalid extends Error {
  override readonly name = "SettingsInvalid";
  readonly problems: readonly SettingProblem[];

  constructor(problems: readonly SettingProblem[]) {
    super(["the settings cannot be used:", ...problems.map(({ name, problem }) => `  ${name} ${problem}`)].join("\n"));
    this.problems = problems;
  }
}

const PREFIX = "HOLDFAST_";

/** Reads and judges all settings. Throws SettingsInvalid, which lists every problem at once. */
export function readSettings(
  env: Readonly<Record<string, string | undefined>>,
  service: Service = "gateway",
): Settings {
  const given = variablesOf(env);
  const problems: SettingProblem[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, setting] of settingEntries()) {
    const text = given.get(setting.name) ?? setting.fallback;
    const parsed = text === null ? { success: true as const, data: null } : setting.kind.schema.safeParse(text);
    if (parsed.success) values[key] = parsed.data;
    else problems.push({ name: setting.name, problem: parsed.error.issues[0]?.message ?? "cannot be read" });
    given.delete(setting.name);
  }
  for (const name of given.keys()) problems.push({ name, problem: "is not a setting" });
  problems.push(...brokenRelations(values, service));
  if (problems.length > 0) throw new SettingsInvalid(problems);
  return Object.freeze(values) as Settings;
}

/** One line for each setting, `NAME=value`, with anything secret left out; what is not set is not shown. */
export function describeSettings(settings: Settings): string {
  return settingEntries()
    .filter(([key]) => settings[key] !== null)
    .map(([key, { name, kind }]) => `${name}=${kind.print(settings[key] as NonNullable<unknown>)}`)
    .join("\n");
}

/** The reference table in Markdown, for the documentation and the test that compares the two. */
export function settingsTable(): string {
  const rows = settingEntries().map(
    ([, { name, kind, fallback, description }]) =>
      `| ${name} | ${kind.label} | ${fallback === null ? "" : `\`${fallback}\``} | ${description} |`,
  );
  return ["| setting | kind | default | what it does |", "|---|---|---|---|", ...rows].join("\n");
}

/** The same for a terminal: a name with what holds without it, and below it what it does. */
export function settingsHelp(): string {
  return settingEntries()
    .map(([, { name, fallback, description }]) => {
      return `  ${name}${fallback === null ? "" : ` (${fallback})`}\n      ${description}`;
    })
    .join("\n");
}

/** The names that mean something, for whoever has to check a manifest against them. */
export function settingNames(): readonly SettingName[] {
  return settingEntries().map(([, { name }]) => name);
}

function variablesOf(env: Readonly<Record<string, string | undefined>>): Map<string, string> {
  const given = new Map<string, string>();
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(PREFIX) || value === undefined || value === "") continue;
    if (!isInjectedByKubernetes(name, value)) given.set(name, value);
  }
  return given;
}

function brokenRelations(values: Record<string, unknown>, service: Service): SettingProblem[] {
  return RELATIONS.filter(({ needs }) => needs.every((key) => Object.hasOwn(values, key)))
    .filter(({ holds }) => !holds(values as Settings, service))
    .map(({ blames, problem }) => ({ name: SETTINGS[blames].name, problem }));
}

function settingEntries(): [keyof Settings, Setting<unknown>][] {
  return Object.entries(SETTINGS) as [keyof Settings, Setting<unknown>][];
}
