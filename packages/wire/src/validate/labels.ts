// Labels: up to 16, key of 1..63 characters, value of at most 256, for the inbox's filters.
import { LABELS } from "@holdfast/pool";
import { LABEL_KEY_CHARACTERS, LABEL_VALUE_CHARACTERS } from "./limits.ts";
import { checkText } from "./text.ts";
import { atKey, type Violations } from "./violations.ts";

export function checkLabels(found: Violations, field: string, labels: Readonly<Record<string, string>>): void {
  const entries = Object.entries(labels);
  if (!found.check(entries.length <= LABELS, field, `has more than ${LABELS} entries`)) return;
  for (const [key, value] of entries) {
    const at = atKey(field, key);
    if (found.check(key !== "", at, "must have a key")) checkText(found, at, key, LABEL_KEY_CHARACTERS);
    checkText(found, at, value, LABEL_VALUE_CHARACTERS);
  }
}

/** A copy without a prototype's surprises (`__proto__` is a legal key). */
export function plainMap<T>(entries: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(entries));
}
