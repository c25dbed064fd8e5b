// Literal credentials are refused where a secret can be named instead: what is in a config is kept in the record and the log.
//
// A literal counts as a credential when
//  - its name has a word of CREDENTIAL_WORDS (words are split at anything that is no letter or digit, and at camelCase
//    humps), unless the last word is FILE, PATH, DIR or URL: those tell where a credential is, not what it is; or
//  - its text begins with an authentication scheme (`Bearer …`, `Basic …`), whatever it is called.
// So `API_KEY`, `x-api-key`, `githubToken`, `Authorization` and `Cookie` are; `MAX_TOKENS`, `KEYBOARD`, `TOKEN_FILE` are not.
// It cannot find a credential that calls itself something else; the docs say so.

const CREDENTIAL_WORDS = new Set([
  "KEY",
  "APIKEY",
  "TOKEN",
  "SECRET",
  "PASSWORD",
  "PASSWD",
  "PASSPHRASE",
  "CREDENTIAL",
  "CREDENTIALS",
  "AUTHORIZATION",
  "AUTH",
  "COOKIE",
]);
const PLACE_WORDS = new Set(["FILE", "PATH", "DIR", "URL"]);
const AUTHENTICATION_SCHEME = /^\s*(?:bearer|basic|digest|token)\s+\S/i;
const FLAG = /^--?([A-Za-z][A-Za-z0-9_.-]*)(=?)/;

/** Whether a name says that its value is a credential. */
export function namesCredential(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toUpperCase()
    .split(/[^A-Z0-9]+/)
    .filter((word) => word !== "");
  if (PLACE_WORDS.has(words.at(-1) ?? "")) return false;
  return words.some((word) => CREDENTIAL_WORDS.has(word));
}

/** Whether a literal is a credential, by its name or by its own shape. "" is none. */
export function isLiteralCredential(name: string, literal: string): boolean {
  return literal !== "" && (namesCredential(name) || AUTHENTICATION_SCHEME.test(literal));
}

/** Indexes of arguments that hold a credential: `--token=x`, or what follows `--token`. */
export function credentialArguments(args: readonly string[]): readonly number[] {
  const found: number[] = [];
  for (const [index, arg] of args.entries()) {
    const flag = FLAG.exec(arg);
    if (flag === null || !namesCredential(flag[1] ?? "")) {
      if (AUTHENTICATION_SCHEME.test(arg)) found.push(index);
    } else if (flag[2] === "=") {
      if (arg.length > flag[0].length) found.push(index);
    } else if (index + 1 < args.length && !args[index + 1]?.startsWith("-")) {
      found.push(index + 1);
    }
  }
  return found;
}

/** A URL with user info, or with a query parameter named like a credential. */
export function urlHoldsCredential(url: URL): boolean {
  if (url.username !== "" || url.password !== "") return true;
  return [...url.searchParams].some(([name, value]) => value !== "" && namesCredential(name));
}
