// Documents as they lie in a store: one line of canonical JSON (keys sorted, so that equal values have equal bytes and an
// operator can read and compare them) that begins its life with a `format` number.
//
//  F1  A document of a newer format is refused by that number alone; nothing else of it is looked at.
//  F2  What is refused is named with the place and kind of the damage, never with the values found there.
//  F3  What was decoded is the very value that was stored: fields we do not know stay in it, for the next writer.
//  F4  What we cannot decode we do not encode.
import { configure } from "safe-stable-stringify";
import type { z } from "zod";

const canonical = configure({ strict: true, circularValue: Error });

export type Decoded<T> =
  | { readonly kind: "read"; readonly value: T }
  /** `why` completes the sentence "it cannot be read: …". */
  | { readonly kind: "unreadable"; readonly why: string };

/** Throws when the value does not have the shape: writing it would make a document nobody can read (F4). */
export function encodeDocument<T>(shape: z.ZodType<T>, value: object, name: string): string {
  const checked = shape.safeParse(value);
  if (!checked.success) throw new TypeError(`${name} cannot be written: ${firstIssue(checked.error)}`);
  const text = canonical(value);
  if (text === undefined) throw new TypeError(`${name} cannot be written: it is not JSON`);
  return text;
}

export function decodeDocument<T>(shape: z.ZodType<T>, newest: number, text: unknown): Decoded<T> {
  if (typeof text !== "string") return unreadable("it is not text");
  const parsed = parse(text);
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    return unreadable("it is not a JSON object; it is damaged or cut short");
  }
  const format = "format" in parsed ? parsed.format : undefined;
  if (typeof format !== "number" || !Number.isInteger(format) || format < 1) {
    return unreadable("format is not a number from 1");
  }
  if (format > newest) return unreadable(`format ${format} is newer than ${newest}`);
  const checked = shape.safeParse(parsed);
  if (!checked.success) return unreadable(firstIssue(checked.error));
  // Not `checked.data`, which lacks the fields we do not know (F3).
  return { kind: "read", value: parsed as T };
}

/** undefined stands for text that is not JSON: the parser's own message would quote the document (F2). */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function unreadable(why: string): { readonly kind: "unreadable"; readonly why: string } {
  return { kind: "unreadable", why };
}

function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return "its shape is wrong";
  const place = issue.path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
  return `${place.replace(/^\./, "")}: ${issue.message}`;
}
