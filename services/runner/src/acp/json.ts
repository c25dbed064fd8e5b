// JSON as agents send it, read without losing anything that somebody may have to approve.
//
// J1  A number that a double cannot hold (a long id, 1e400) keeps its digits: what is shown and what is compared is what
//     the agent said, not a neighbour of it.
// J2  A value nested so deeply that it cannot be written again is null here, and whoever needed it treats it as malformed.

import { hasLongNumbers } from "../call/long-numbers.ts";

/** The value, numbers exact; undefined when the text is no JSON. */
export function readJson(text: string): unknown {
  try {
    return hasLongNumbers(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The value as a JSON text; null when it has none (J2), undefined or a function among it. */
export function writeJson(value: unknown): string | null {
  try {
    return JSON.stringify(value) ?? null;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Node has these since 21; the language's own typings do not know them yet. */
type SourceContext = { readonly source?: string };
const rawJson = (JSON as unknown as { readonly rawJSON: (text: string) => unknown }).rawJSON;

function keepDigits(_key: string, value: unknown, context?: SourceContext): unknown {
  if (typeof value !== "number" || context?.source === undefined) return value;
  return String(value) === context.source ? value : rawJson(context.source);
}
