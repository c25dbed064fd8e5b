// Adds up what the stages of a run left behind: `node tally.ts FOLDER STAGE ...` prints `N passed, N failed` as its
// last line and exits with 0 only when something passed and nothing failed.
//
// A stage leaves two files in FOLDER: STAGE.exit, its exit code, and STAGE.json, its report (vitest's JSON, or
// {passed, failed}). T1: a stage that left no readable report, or that exited with another code than 0 although its
// report names no failure, counts as one failure. So nothing that went wrong can be counted as nothing.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export interface Count {
  readonly passed: number;
  readonly failed: number;
}

/** What a stage left: its exit code's text and its report's text, null where there is no such file. */
export interface StageFiles {
  readonly exit: string | null;
  readonly report: string | null;
}

/** One stage's count (T1). */
export function countOf({ exit, report }: StageFiles): Count {
  const count = report === null ? undefined : countReported(report);
  if (count === undefined) return { passed: 0, failed: 1 };
  if (exit?.trim() !== "0" && count.failed === 0) return { passed: count.passed, failed: 1 };
  return count;
}

/** The report's own numbers; undefined for anything that is no report. */
function countReported(report: string): Count | undefined {
  const parsed = parseObject(report);
  if (parsed === undefined) return undefined;
  const passed = parsed.numPassedTests ?? parsed.passed;
  const failed = parsed.numFailedTests ?? parsed.failed;
  if (typeof passed !== "number" || typeof failed !== "number") return undefined;
  return { passed, failed };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

async function main(folder: string, stages: readonly string[]): Promise<number> {
  const total = { passed: 0, failed: 0 };
  for (const stage of stages) {
    const [exit, report] = await Promise.all(["exit", "json"].map((kind) => textOf(join(folder, `${stage}.${kind}`))));
    const count = countOf({ exit: exit ?? null, report: report ?? null });
    console.log(`${stage}: ${count.passed} passed, ${count.failed} failed`);
    total.passed += count.passed;
    total.failed += count.failed;
  }
  console.log(`${total.passed} passed, ${total.failed} failed`);
  return total.failed === 0 && total.passed > 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [folder, ...stages] = process.argv.slice(2);
  if (folder === undefined) throw new Error("usage: tally.ts FOLDER STAGE ...");
  process.exitCode = await main(folder, stages);
}
