// The steps of the check, in the order in which they run.

import { generatedStep } from "./generated.ts";
import { commandStep, type Step } from "./step.ts";
import { sourceFiles } from "./tree.ts";
import { violationsIn } from "./walls.ts";

const wallsStep: Step = {
  name: "walls",
  proves: "no source file breaks a wall of the house (walls.ts lists them)",
  run: async (root) => {
    const files = await sourceFiles(root);
    const violations = files.flatMap(({ path, text }) => violationsIn(path, text));
    if (violations.length === 0) return { kind: "passed" };
    const lines = violations.map(({ path, line, wall, message }) => `${path}:${line} ${wall}: ${message}`);
    return { kind: "failed", output: `${lines.join("\n")}\n` };
  },
};

export const STEPS: readonly Step[] = [
  commandStep("types", "the TypeScript holds together", "tsc", ["--noEmit", "--project", "."]),
  commandStep("biome", "formatting and lint", "biome", ["check", "--error-on-warnings", "."]),
  commandStep("knip", "no file, export or dependency is unused or unlisted", "knip", ["--no-progress"]),
  commandStep("proto-lint", "the contract keeps buf's STANDARD rules", "buf", ["lint"]),
  commandStep("proto-format", "the proto files are formatted", "buf", ["format", "--diff", "--exit-code"]),
  generatedStep,
  wallsStep,
];
