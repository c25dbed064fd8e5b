// What an agent says, without the values of the secrets it was given: an allowed command may print one, and events are kept
// and shown (acceptance 12). Only known values are taken out; what merely looks like a secret is the agent's to say.
import { redactKnown } from "@holdfast/runtime";

/** The same value with every known secret in its texts replaced. Bytes are left alone. */
export function cleaned<T>(value: T, secrets: readonly string[]): T {
  return secrets.length === 0 ? value : (clean(value, secrets) as T);
}

function clean(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === "string") return redactKnown(value, secrets);
  if (Array.isArray(value)) return value.map((entry) => clean(entry, secrets));
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, name === "$typeName" ? entry : clean(entry, secrets)]),
  );
}
