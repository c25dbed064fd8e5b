// `npm run check`: everything that can be known without running the product.
//
// Runs every step (or the named ones) to its end, tells each one's time, shows what the failed ones printed, and
// exits with 0 only when all passed. With --report FILE it also leaves {passed, failed} there as JSON.

import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import type { Step } from "./step.ts";
import { STEPS } from "./steps.ts";

const ROOT = join(import.meta.dirname, "../..");
const EXIT_USAGE = 2;

function usage(): string {
  const width = Math.max(...STEPS.map(({ name }) => name.length));
  const steps = STEPS.map(({ name, proves }) => `  ${name.padEnd(width)}  ${proves}`);
  return ["npm run check [-- [--report FILE] STEP ...]", "", "Steps, all of them by default:", ...steps].join("\n");
}

async function passes(step: Step): Promise<boolean> {
  const startedAt = performance.now();
  const result = await step.run(ROOT);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${result.kind === "passed" ? "ok    " : "FAILED"} ${step.name} (${seconds} s)`);
  if (result.kind === "failed") console.log(result.output.trimEnd());
  return result.kind === "passed";
}

async function check(steps: readonly Step[], report: string | undefined): Promise<number> {
  let failed = 0;
  for (const step of steps) if (!(await passes(step))) failed += 1;
  const passed = steps.length - failed;
  console.log(failed === 0 ? `All ${passed} steps passed.` : `${failed} of ${steps.length} steps failed.`);
  if (report !== undefined) {
    await mkdir(dirname(report), { recursive: true });
    await writeFile(report, `${JSON.stringify({ passed, failed })}\n`);
  }
  return failed === 0 ? 0 : 1;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { help: { type: "boolean" }, report: { type: "string" } },
  });
  if (values.help) {
    console.log(usage());
    return 0;
  }
  const unknown = positionals.filter((name) => !STEPS.some((step) => step.name === name));
  if (unknown.length > 0) {
    console.error(`No such step: ${unknown.join(", ")}\n\n${usage()}`);
    return EXIT_USAGE;
  }
  const chosen = positionals.length === 0 ? STEPS : STEPS.filter(({ name }) => positionals.includes(name));
  return check(chosen, values.report);
}

process.exitCode = await main();
