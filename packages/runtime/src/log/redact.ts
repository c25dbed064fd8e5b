// Takes secrets out of text that others wrote (an agent's stderr, an error's message) before anybody sees it.
//
// Two nets: values that are known to be secret, wherever they stand and also as they look inside JSON, a URL or base64;
// and what merely looks like a credential. The second net can take too much and cannot take everything: text that may
// hold content is not logged in the first place.

export const REDACTED = "[redacted]";

/** A known value that was cut at the text's edge is still taken when at least this much of it is there. */
const CUT_SECRET_CHARACTERS = 4;

/** Each matches what comes before the secret as group 1, and the secret as the rest. All run in linear time. */
const LOOKS_SECRET: readonly RegExp[] = [
  // -----BEGIN … PRIVATE KEY----- blocks, closed or cut off.
  /()-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
  // An authorization header's scheme and what follows it.
  /\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi,
  // Well-known prefixes of API keys: OpenAI and Anthropic, GitHub, GitLab, Slack, AWS, Google, npm, Hugging Face.
  /()\b(?:sk-|gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|A[KS]IA(?=[A-Z0-9]{12})|AIza|npm_|hf_)[\w-]{8,}/g,
  // A JSON Web Token.
  /()\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g,
  // user:password@ in a URL.
  /(:\/\/)[^\s/@]+@/g,
  // name=value and "name": "value" where the name says that it is one.
  /((?:api[_-]?key|access[_-]?key|secret|token|passwd|password|authorization|credential)[\w-]{0,20}["']?\s?[:=]\s?["']?)(?!\[redacted\])[^\s"',;&}]{4,}/gi,
];

/** The text with every known secret and everything that looks like one replaced by `[redacted]`. */
export function redact(text: string, secrets: Iterable<string> = []): string {
  const known = [...new Set(secrets)].filter((secret) => secret !== "");
  let clean = takeOutCut(redactKnown(text, known), known);
  for (const pattern of LOOKS_SECRET) {
    clean = clean.replace(pattern, (_, before: string) => `${before}${/\w$/.test(before) ? " " : ""}${REDACTED}`);
  }
  return clean;
}

/** The text with these values replaced, in each of their forms, and nothing else. */
export function redactKnown(text: string, secrets: readonly string[]): string {
  const forms = secrets.filter((secret) => secret !== "").flatMap(formsOf);
  return forms
    .sort((one, other) => other.length - one.length)
    .reduce((clean, form) => clean.replaceAll(form, REDACTED), text);
}

/** A secret as it looks in plain text, in a JSON string, in a URL, in base64. */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()),
    bytes.toString("base64"),
    bytes.toString("base64url"),
  ];
}

/** The end of a secret at the text's beginning and the beginning of one at its end: what a bounded ring leaves. */
function takeOutCut(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    const head = longestCut(secret, (length) => clean.startsWith(secret.slice(-length)));
    if (head > 0) clean = `${REDACTED}${clean.slice(head)}`;
    const tail = longestCut(secret, (length) => clean.endsWith(secret.slice(0, length)));
    if (tail > 0) clean = `${clean.slice(0, -tail)}${REDACTED}`;
  }
  return clean;
}

function longestCut(secret: string, isThere: (length: number) => boolean): number {
  for (let length = secret.length - 1; length >= CUT_SECRET_CHARACTERS; length--) {
    if (isThere(length)) return length;
  }
  return 0;
}
