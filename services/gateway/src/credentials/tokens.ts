// The tokens file: JSON, `{ "tokens": [ { "sha256", "project", "principal", "roles" } ] }`. It holds digests of tokens, never a
// token. Everything wrong with it is said at once, by path; a value of it is never repeated.
import { timingSafeEqual } from "node:crypto";
import { sha256 } from "@holdfast/runtime";
import { z } from "zod";
import { type Caller, ROLES } from "./caller.ts";

/** Tokens one file may hold: every call is compared with all of them. */
export const TOKENS = 1_024;
export const TOKENS_FILE_BYTES = 1024 * 1024;
/** A token presented by a caller. */
export const TOKEN_CHARACTERS = 4_096;
const NAME_CHARACTERS = 128;

const WORD = /^[A-Za-z0-9][A-Za-z0-9._:@/-]*$/;
const name = z
  .string()
  .max(NAME_CHARACTERS, `is longer than ${NAME_CHARACTERS} characters`)
  .regex(WORD, "must begin with a letter or digit, and have only A-Z a-z 0-9 . _ : @ / -");

const fileShape = z.strictObject({
  tokens: z
    .array(
      z.strictObject({
        sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hexadecimal digits"),
        project: name,
        principal: name,
        roles: z.array(z.enum(ROLES, `must be one of ${ROLES.join(", ")}`)).min(1, "must name at least one role"),
      }),
    )
    .max(TOKENS, `has more than ${TOKENS} entries`)
    .refine((tokens) => new Set(tokens.map((token) => token.sha256)).size === tokens.length, "has a token twice"),
});

/** Digest of a token, and whose it is. */
export type KnownToken = { readonly digest: Buffer; readonly caller: Caller };

export class TokensInvalid extends Error {
  override readonly name = "TokensInvalid";
}

/** Throws TokensInvalid with one line for each thing that is wrong. */
export function parseTokens(text: string): readonly KnownToken[] {
  const parsed = fileShape.safeParse(parseJson(text));
  if (!parsed.success) {
    throw new TokensInvalid(parsed.error.issues.map(({ path, message }) => `${pathText(path)} ${message}`).join("; "));
  }
  return parsed.data.tokens.map(({ sha256: digest, project, principal, roles }) => ({
    digest: Buffer.from(digest, "hex"),
    caller: { project, principal, roles: new Set(roles) },
  }));
}

/** Compares with every token and never stops early: how long it takes tells nothing about the token. */
export function findCaller(tokens: readonly KnownToken[], token: string): Caller | null {
  const digest = Buffer.from(sha256(token), "hex");
  let found: Caller | null = null;
  for (const known of tokens) if (timingSafeEqual(known.digest, digest)) found = known.caller;
  return found;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // JSON.parse's own message quotes the text, which may hold what was never meant to be shown.
    if (error instanceof SyntaxError) throw new TokensInvalid("is not JSON");
    throw error;
  }
}

function pathText(path: readonly PropertyKey[]): string {
  const text = path.map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`)).join("");
  return text === "" ? "the file" : text.replace(/^\./, "");
}
