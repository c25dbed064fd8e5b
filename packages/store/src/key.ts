// Session keys as one string, and their order: the order of their bytes, project first, which is also sqlite's.
import type { SessionKey } from "@holdfast/pool";

/** A name for maps; two keys have the same name exactly when they are the same key. */
export function keyName(key: SessionKey): string {
  return JSON.stringify([key.project, key.sessionId]);
}

export function compareKeys(one: SessionKey, other: SessionKey): number {
  return compareText(one.project, other.project) || compareText(one.sessionId, other.sessionId);
}

export function compareText(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
