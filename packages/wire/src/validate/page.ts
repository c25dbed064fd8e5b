// Pages of a list: how many entries, and the opaque token that says where the next page begins.
//
// G1  A token is good for the list, the project and the filter it was made for; any other one is FIELD_INVALID. It is no
//     secret and gives no right: the project always comes from the credential.
// G2  Every gateway makes and reads the same tokens: they hold a place, nothing a gateway remembers.
import { createHash } from "node:crypto";
import { canonicalJson, type Json } from "@holdfast/pool";
import { PAGE_DEFAULT_ENTRIES, PAGE_MAX_ENTRIES, PAGE_TOKEN_CHARACTERS } from "./limits.ts";
import type { Violations } from "./violations.ts";

/** What a token belongs to: `filter` is any plain value that tells two filters apart. */
export type PageScope = { readonly list: "sessions" | "approvals"; readonly project: string; readonly filter: Json };

/** `after`: the entry to go on behind, in the list's own words; null for the first page. */
export type Page = { readonly entries: number; readonly after: string | null };

const MARK_CHARACTERS = 16;
const TOKEN = /^[A-Za-z0-9_-]+$/;

export function encodePageToken(scope: PageScope, after: string): string {
  return Buffer.from(mark(scope, after) + after, "utf8").toString("base64url");
}

/** The place a token names, or null when it is not one of this scope's. */
export function decodePageToken(scope: PageScope, token: string): string | null {
  if (token.length > PAGE_TOKEN_CHARACTERS || !TOKEN.test(token)) return null;
  const text = Buffer.from(token, "base64url").toString("utf8");
  const after = text.slice(MARK_CHARACTERS);
  return after !== "" && text.startsWith(mark(scope, after)) && encodePageToken(scope, after) === token ? after : null;
}

/** 0 takes the default; more than the maximum counts as the maximum. */
export function readPage(
  found: Violations,
  request: { readonly pageSize: number; readonly pageToken: string },
  scope: PageScope,
): Page {
  found.check(request.pageSize >= 0, "page_size", "must not be negative");
  const entries = request.pageSize === 0 ? PAGE_DEFAULT_ENTRIES : Math.min(request.pageSize, PAGE_MAX_ENTRIES);
  if (request.pageToken === "") return { entries, after: null };
  const after = decodePageToken(scope, request.pageToken);
  found.check(after !== null, "page_token", "is not a token of this list with this filter");
  return { entries, after };
}

function mark({ list, project, filter }: PageScope, after: string): string {
  const text = canonicalJson([list, project, filter, after]);
  return createHash("sha256").update(text).digest("base64url").slice(0, MARK_CHARACTERS);
}
