// One setting: an environment variable, what it may hold, what holds without it, and what it is for.

import type { Kind } from "./kinds.ts";

export type SettingName = `HOLDFAST_${string}`;

/** `fallback` is text of the same kind, so that the documentation shows what an operator would write; null: none. */
export interface Setting<T> {
  readonly name: SettingName;
  readonly kind: Kind<NonNullable<T>>;
  readonly fallback: string | null;
  /** One sentence or two, for the reference table. */
  readonly description: string;
}

/** A setting that always has a value. */
export function setting<T>(name: SettingName, kind: Kind<T>, fallback: string, description: string): Setting<T> {
  return { name, kind: kind as Kind<NonNullable<T>>, fallback, description };
}

/** A setting that is null unless it is given. */
export function optional<T>(name: SettingName, kind: Kind<T>, description: string): Setting<T | null> {
  return { name, kind: kind as Kind<NonNullable<T>>, fallback: null, description };
}
