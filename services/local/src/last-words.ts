// What a service said last, for people: from its log, which is JSON lines, and, when it could not even read its settings,
// plain text.

/** How much of a log without an error in it is shown. */
const TAIL_LINES = 10;

/** The message of the last error in a log; without one, its last lines. */
export function lastErrorIn(log: string): string {
  const lines = log.split("\n").filter((line) => line !== "");
  const plain = lines.filter((line) => !line.startsWith("{"));
  const told = lines.map(errorOf).filter((message) => message !== null);
  return told.at(-1) ?? (plain.length > 0 ? plain : lines).slice(-TAIL_LINES).join("\n");
}

function errorOf(line: string): string | null {
  if (!line.startsWith("{")) return null;
  try {
    const { level, error, msg } = JSON.parse(line) as { level?: string; error?: { message?: string }; msg?: string };
    return level === "error" ? (error?.message ?? msg ?? null) : null;
  } catch (error) {
    // The last line of a process that was killed may be half a line.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
