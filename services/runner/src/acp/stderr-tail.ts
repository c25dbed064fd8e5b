// The end of what an agent printed for people, fit to be shown to them.

import { redact } from "@holdfast/runtime";
import type { ProcessTree } from "../process/index.ts";

/** How much of it is told. */
export const STDERR_TAIL_CHARACTERS = 4_000;

export function stderrTail(tree: ProcessTree | null, secrets: readonly string[]): string {
  return redact(tree?.stderr.text() ?? "", secrets).slice(-STDERR_TAIL_CHARACTERS);
}
