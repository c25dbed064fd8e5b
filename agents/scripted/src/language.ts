// The little language, as data. A prompt's text is a list of lines; each line is one command, and what is no command is
// kept as an echo. Nothing here knows how a command is carried out: that is perform.ts.
//
// 1. Every line gives exactly one command, in order; only blank lines give none.
// 2. A line is never an error: a known word with arguments that do not fit is an echo, like any other text.
// 3. A CMD is passed on byte for byte: what stands after the first word and its blanks, up to the end of the line. Only
//    around the `&&` of a pair blanks are cut off.

/** Longest `sleep` and `ignore-cancel`: what a Node timer can hold, about 24 days. */
const WAIT_MAX_MS = 2 ** 31 - 1;
/** Most message chunks of one `flood`. */
const FLOOD_MAX_CHUNKS = 10_000_000;
/** Most gates one `gates` opens at once. */
const GATES_MAX_COUNT = 1_000;
/** Largest `stderr` and `noise oversized`. */
const OUTPUT_MAX_MIB = 1_024;
/** Longest life of a `grandchild`: one day. */
const GRANDCHILD_MAX_SECONDS = 86_400;
/** Highest exit code a process can end with. */
const EXIT_CODE_MAX = 255;

/** What `noise KIND` can print; noise.ts says what each one does. */
export const NOISE_KINDS = [
  "text",
  "blank",
  "bad-utf8",
  "partial-line",
  "split-line",
  "glued",
  "no-newline",
  "non-object",
  "oversized",
  "unknown-request",
  "unknown-notification",
  "unknown-update",
  "unknown-response",
  "foreign-session",
  "malformed-gate",
  "reused-tool-call",
  "stray-update",
  "stray-gate",
  "prompt-error",
] as const;

export type NoiseKind = (typeof NOISE_KINDS)[number];

/** One line of a prompt, read. Numbers are whole and within the limits above. */
export type Command =
  | { kind: "say"; text: string }
  | { kind: "think"; text: string }
  | { kind: "run"; command: string }
  | { kind: "both"; first: string; second: string }
  | { kind: "both-held"; first: string; second: string }
  | { kind: "batch"; first: string; second: string }
  | { kind: "twice"; command: string }
  | { kind: "gates"; count: number; command: string }
  | { kind: "ask"; question: string }
  | { kind: "sleep"; ms: number }
  | { kind: "flood"; count: number }
  | { kind: "exit"; code: number }
  | { kind: "exit-gated"; command: string }
  | { kind: "ignore-cancel"; ms: number }
  | { kind: "noise"; noise: NoiseKind; sizeMib: number | undefined }
  | { kind: "stderr"; sizeMib: number }
  | { kind: "grandchild"; seconds: number }
  | { kind: "remember"; key: string; value: string }
  | { kind: "recall"; key: string }
  | { kind: "env"; name: string }
  | { kind: "pid" }
  | { kind: "echo"; text: string };

/** Reads a prompt's text. */
export function parsePrompt(text: string): Command[] {
  return text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "")
    .map(parseLine);
}

/** Reads one line that is not blank. */
export function parseLine(line: string): Command {
  const [, word = "", rest = ""] = /^\s*(\S+)(?:\s+(.*))?$/s.exec(line) ?? [];
  return readers.get(word)?.(rest) ?? { kind: "echo", text: line };
}

type Reader = (rest: string) => Command | undefined;

const readers = new Map<string, Reader>([
  ["say", (rest) => filled(rest, (text) => ({ kind: "say", text }))],
  ["think", (rest) => filled(rest, (text) => ({ kind: "think", text }))],
  ["run", (rest) => filled(rest, (command) => ({ kind: "run", command }))],
  ["both", (rest) => pair(rest, (first, second) => ({ kind: "both", first, second }))],
  ["both-held", (rest) => pair(rest, (first, second) => ({ kind: "both-held", first, second }))],
  ["batch", (rest) => pair(rest, (first, second) => ({ kind: "batch", first, second }))],
  ["twice", (rest) => filled(rest, (command) => ({ kind: "twice", command }))],
  ["gates", (rest) => counted(rest, (count, command) => ({ kind: "gates", count, command }))],
  ["ask", (rest) => filled(rest, (question) => ({ kind: "ask", question }))],
  ["sleep", (rest) => whole(rest, WAIT_MAX_MS, (ms) => ({ kind: "sleep", ms }))],
  ["flood", (rest) => whole(rest, FLOOD_MAX_CHUNKS, (count) => ({ kind: "flood", count }))],
  ["exit", (rest) => whole(rest, EXIT_CODE_MAX, (code) => ({ kind: "exit", code }))],
  ["exit-gated", (rest) => filled(rest, (command) => ({ kind: "exit-gated", command }))],
  ["ignore-cancel", (rest) => whole(rest, WAIT_MAX_MS, (ms) => ({ kind: "ignore-cancel", ms }))],
  ["noise", noise],
  ["stderr", (rest) => whole(rest, OUTPUT_MAX_MIB, (sizeMib) => ({ kind: "stderr", sizeMib }))],
  ["grandchild", (rest) => whole(rest, GRANDCHILD_MAX_SECONDS, (seconds) => ({ kind: "grandchild", seconds }))],
  ["remember", (rest) => named(rest, (key, value) => ({ kind: "remember", key, value }))],
  ["recall", (rest) => single(rest, (key) => ({ kind: "recall", key }))],
  ["env", (rest) => single(rest, (name) => ({ kind: "env", name }))],
  ["pid", (rest) => (rest.trim() === "" ? { kind: "pid" } : undefined)],
]);

function filled(rest: string, make: (text: string) => Command): Command | undefined {
  return rest.trim() === "" ? undefined : make(rest);
}

/** `CMD1 && CMD2`, cut at the first `&&`: the second command may hold further ones, the first cannot. */
function pair(rest: string, make: (first: string, second: string) => Command): Command | undefined {
  const cut = rest.indexOf("&&");
  if (cut < 0) return undefined;
  const first = rest.slice(0, cut).trim();
  const second = rest.slice(cut + 2).trim();
  return first === "" || second === "" ? undefined : make(first, second);
}

function whole(rest: string, max: number, make: (value: number) => Command): Command | undefined {
  const value = wholeNumber(rest.trim(), max);
  return value === undefined ? undefined : make(value);
}

function wholeNumber(digits: string, max: number): number | undefined {
  if (!/^\d{1,10}$/.test(digits)) return undefined;
  const value = Number(digits);
  return value <= max ? value : undefined;
}

function named(rest: string, make: (name: string, value: string) => Command): Command | undefined {
  const [, name, value] = /^(\S+)\s+(\S.*)$/s.exec(rest) ?? [];
  return name === undefined || value === undefined ? undefined : make(name, value);
}

function counted(rest: string, make: (count: number, command: string) => Command): Command | undefined {
  const [, digits = "", command] = /^(\S+)\s+(\S.*)$/s.exec(rest) ?? [];
  const count = wholeNumber(digits, GATES_MAX_COUNT);
  return command === undefined || !count ? undefined : make(count, command);
}

function single(rest: string, make: (word: string) => Command): Command | undefined {
  const word = rest.trim();
  return /^\S+$/.test(word) ? make(word) : undefined;
}

/** `noise KIND`, and `noise oversized [MIB]`, the only kind with a size. */
function noise(rest: string): Command | undefined {
  const [kind = "", size, ...more] = rest.trim().split(/\s+/);
  const known = NOISE_KINDS.find((each) => each === kind);
  if (known === undefined || more.length > 0) return undefined;
  if (size === undefined) return { kind: "noise", noise: known, sizeMib: undefined };
  const sizeMib = wholeNumber(size, OUTPUT_MAX_MIB);
  return known === "oversized" && sizeMib !== undefined ? { kind: "noise", noise: known, sizeMib } : undefined;
}
