// Does the committed TypeScript of the contract say what the proto files say?
//
// The generator runs into a folder of its own and the two folders are compared byte by byte, so the checkout stays
// as it was whatever the outcome.

import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { runCommand, type Step, type StepResult } from "./step.ts";

const GENERATED_FOLDER = "proto/gen";

export const generatedStep: Step = {
  name: "generated",
  proves: "proto/gen is what buf generates from proto/",
  run: async (root) => {
    const scratch = await mkdtemp(join(tmpdir(), "holdfast-generated-"));
    try {
      return await compareWithFresh(root, scratch);
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  },
};

async function compareWithFresh(root: string, scratch: string): Promise<StepResult> {
  const { code, output } = await runCommand(root, "buf", ["generate", "--output", scratch]);
  if (code !== 0) return { kind: "failed", output };
  const differences = await differencesBetween(join(root, GENERATED_FOLDER), join(scratch, GENERATED_FOLDER));
  if (differences.length === 0) return { kind: "passed" };
  return { kind: "failed", output: `${differences.join("\n")}\nRun \`npm run generate\` and commit the result.\n` };
}

/** One sentence for each file that is in one folder only, or differs; none when the folders hold the same. */
export async function differencesBetween(committed: string, fresh: string): Promise<readonly string[]> {
  const [held, made] = await Promise.all([filesBelow(committed), filesBelow(fresh)]);
  const differences: string[] = [];
  for (const path of new Set([...held.keys(), ...made.keys()])) {
    if (!made.has(path)) differences.push(`${path} is committed but no longer generated`);
    else if (!held.has(path)) differences.push(`${path} is generated but not committed`);
    else if (held.get(path) !== made.get(path)) differences.push(`${path} differs from what is generated`);
  }
  return differences.sort();
}

async function filesBelow(folder: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(relative(folder, path), await readFile(path, "utf8"));
  }
  return files;
}
