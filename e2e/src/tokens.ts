// Tokens for a stack whose callers are known by name.
import { writeFileSync } from "node:fs";
import { sha256 } from "@holdfast/runtime";

export type TokenOf = { readonly project: string; readonly principal: string; readonly roles: readonly string[] };

/** Writes the tokens file (HOLDFAST_TOKENS_FILE): by token, whose it is. */
export function writeTokens(file: string, tokens: Readonly<Record<string, TokenOf>>): void {
  const entries = Object.entries(tokens).map(([token, of]) => ({ sha256: sha256(token), ...of }));
  writeFileSync(file, JSON.stringify({ tokens: entries }), { mode: 0o600 });
}
