// Credentials: from the header `authorization` to a caller, or to a refusal that says nothing about why.
//
// A1  Without a tokens file every caller is the admin of project "default": settings allow that on loopback only.
// A2  With one, a call needs `Bearer <token>` of the file. The file is read again when it changes; a file that cannot be used
//     leaves the tokens as they were, and the log says so.
// A3  A file that cannot be used at the start is an error: nobody is served by a gateway that does not know its callers.
import { type FSWatcher, unwatchFile, watch, watchFile } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { type Refusal, refusal } from "@holdfast/pool";
import type { Log } from "@holdfast/runtime";
import { bearerToken } from "@holdfast/wire";
import type { Caller } from "./caller.ts";
import {
  findCaller,
  type KnownToken,
  parseTokens,
  TOKEN_CHARACTERS,
  TOKENS_FILE_BYTES,
  TokensInvalid,
} from "./tokens.ts";

export interface Credentials {
  /** The header's value, or undefined when the call has none. */
  authenticate(authorization: string | undefined): Caller | Refusal;
  close(): void;
}

/** How often the file is looked at where the system does not tell of changes (a mounted secret, a network disk). */
const TOKENS_POLL_MS = 2_000;

const LOCAL: Caller = { project: "default", principal: "local", roles: new Set(["admin"]) };

/** A1. */
export function openCredentials(): Credentials {
  return { authenticate: () => LOCAL, close: () => undefined };
}

/** Throws TokensInvalid when the file cannot be used (A3). */
export async function fileCredentials(path: string, log: Log, pollMs = TOKENS_POLL_MS): Promise<Credentials> {
  let tokens = await readTokens(path);
  log.info("credentials", { path, count: tokens.length });
  let reading: Promise<void> = Promise.resolve();
  const readAgain = async (): Promise<void> => {
    try {
      tokens = await readTokens(path);
      log.info("credentials", { path, count: tokens.length }, "tokens read again");
    } catch (error) {
      log.error(
        "credentials",
        { path, count: tokens.length, error },
        "the tokens file cannot be used; the old tokens stay",
      );
    }
  };
  const stopWatching = onChange(path, pollMs, () => {
    reading = reading.then(readAgain);
  });
  return { authenticate: (authorization) => fromHeader(authorization, tokens), close: stopWatching };
}

function fromHeader(authorization: string | undefined, tokens: readonly KnownToken[]): Caller | Refusal {
  if (authorization === undefined) return unknownCredential("the call has no credential");
  const token = authorization.length <= TOKEN_CHARACTERS ? bearerToken(authorization) : null;
  if (token === null) return unknownCredential("the header authorization is not `Bearer <token>`");
  return findCaller(tokens, token) ?? unknownCredential("nobody knows this token");
}

function unknownCredential(why: string): Refusal {
  return refusal("CREDENTIAL_INVALID", `${why}; nothing was read or written`, "send `authorization: Bearer <token>`");
}

async function readTokens(path: string): Promise<readonly KnownToken[]> {
  try {
    const { size } = await stat(path);
    if (size > TOKENS_FILE_BYTES) throw new TokensInvalid(`is larger than ${TOKENS_FILE_BYTES} bytes`);
    return parseTokens(await readFile(path, "utf8"));
  } catch (error) {
    const why = error instanceof TokensInvalid ? error.message : `cannot be read (${systemCode(error)})`;
    throw new TokensInvalid(`tokens file ${path}: ${why}`);
  }
}

function systemCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

/** The directory tells at once, where it can; the poll tells everywhere, also of a link that now leads elsewhere. */
function onChange(path: string, pollMs: number, changed: () => void): () => void {
  watchFile(path, { interval: pollMs, persistent: false }, changed);
  let watcher: FSWatcher | null = null;
  try {
    watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
      if (name === null || name === basename(path)) changed();
    });
    // A watch that breaks later leaves the poll.
    watcher.on("error", () => watcher?.close());
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
  }
  return () => {
    unwatchFile(path, changed);
    watcher?.close();
  };
}
