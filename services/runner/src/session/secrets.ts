// A turn's secrets in memory: given to the process that is started with them, compared, never told (C8).
import { sha256 } from "@holdfast/runtime";

/** Milliseconds since 1970; null: does not expire. */
export type Secret = { readonly value: string; readonly expiresAt: number | null };
export type Secrets = ReadonlyMap<string, Secret>;

/** Equal exactly for the same names with the same values. */
export function digestSecrets(secrets: Secrets): string {
  const entries = [...secrets].map(([name, { value }]) => [name, value]).sort();
  return sha256(JSON.stringify(entries));
}

export function expired(secrets: Secrets, now: number): boolean {
  return [...secrets.values()].some(({ expiresAt }) => expiresAt !== null && expiresAt <= now);
}
