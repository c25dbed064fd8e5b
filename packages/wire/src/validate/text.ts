// Checks of single values: ids, keys, names, texts. Each returns nothing; what is wrong goes into the violations.
import { AGENT_NAME_CHARACTERS, KEY_CHARACTERS, MINTED_ID_CHARACTERS, SESSION_ID_CHARACTERS } from "./limits.ts";
import type { Violations } from "./violations.ts";

const SESSION_ID = /^[A-Za-z0-9._:@-]+$/;
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
const AGENT_NAME = /^[A-Za-z0-9._-]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
const CONTROL = /[\x00-\x1f\x7f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: NUL ends a string in a process's arguments and environment.
const NUL = /\x00/;

/** Unicode characters, not UTF-16 units; counted only as far as the limit needs. */
function longerThan(text: string, characters: number): boolean {
  if (text.length <= characters) return false;
  if (text.length > characters * 2) return true;
  return [...text].length > characters;
}

export function bytesOf(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

export function checkSessionId(found: Violations, field: string, id: string): void {
  if (!found.check(id !== "", field, "is required")) return;
  if (!found.check(id.length <= SESSION_ID_CHARACTERS, field, `is longer than ${SESSION_ID_CHARACTERS} characters`))
    return;
  found.check(SESSION_ID.test(id), field, "has characters outside A-Z a-z 0-9 . _ : @ -");
}

/** An id we minted ourselves; the caller sends it back as it got it. */
export function checkMintedId(found: Violations, field: string, id: string): void {
  if (!found.check(id !== "", field, "is required")) return;
  checkText(found, field, id, MINTED_ID_CHARACTERS);
}

/** idempotency_key and request_id: optional, 1..256 printable ASCII characters (D5). */
export function checkKey(found: Violations, field: string, key: string): void {
  if (!found.check(key.length <= KEY_CHARACTERS, field, `is longer than ${KEY_CHARACTERS} characters`)) return;
  found.check(PRINTABLE_ASCII.test(key), field, "has characters that are not printable ASCII");
}

export function checkAgentName(found: Violations, field: string, name: string): void {
  if (!found.check(name.length <= AGENT_NAME_CHARACTERS, field, `is longer than ${AGENT_NAME_CHARACTERS} characters`))
    return;
  found.check(name === "" || AGENT_NAME.test(name), field, "has characters outside A-Z a-z 0-9 . _ -");
}

/** One line of text: no control characters. */
export function checkText(found: Violations, field: string, text: string, characters: number): void {
  if (!found.check(!longerThan(text, characters), field, `is longer than ${characters} characters`)) return;
  found.check(!CONTROL.test(text), field, "has control characters");
}

/** Text of several lines, bounded in bytes. */
export function checkProse(found: Violations, field: string, text: string, bytes: number): void {
  if (!found.check(bytesOf(text) <= bytes, field, `is larger than ${bytes} bytes`)) return;
  found.check(!NUL.test(text), field, "has a NUL character");
}

/** A value for a process's arguments or environment. */
export function checkNoNul(found: Violations, field: string, text: string): void {
  found.check(!NUL.test(text), field, "has a NUL character");
}

/** "" in a request means that the caller did not set it. */
export function orNull(text: string): string | null {
  return text === "" ? null : text;
}
