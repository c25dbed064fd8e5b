// One step of the check: a name, what it proves, and how it finds out.

import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";

/** The longest that one command of a step may take before it counts as failed. */
const COMMAND_LIMIT_MS = 300_000;

/** A step passes in silence; a failure carries what the reader needs to fix it. */
export type StepResult = { readonly kind: "passed" } | { readonly kind: "failed"; readonly output: string };

export interface Step {
  readonly name: string;
  /** One line for --help. */
  readonly proves: string;
  /** `root` is the checkout's absolute path. Rejects only when the step itself is broken. */
  readonly run: (root: string) => Promise<StepResult>;
}

/** What a command left behind: all it printed, and its exit code (null when a signal ended it). */
export interface CommandResult {
  readonly code: number | null;
  readonly output: string;
}

/** Runs one of the checkout's own tools (node_modules/.bin comes first on PATH) and waits for its end. */
export function runCommand(root: string, command: string, args: readonly string[]): Promise<CommandResult> {
  const path = [join(root, "node_modules/.bin"), process.env.PATH].join(delimiter);
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, PATH: path },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: COMMAND_LIMIT_MS,
      killSignal: "SIGKILL",
    });
    const printed: string[] = [];
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (text: string) => printed.push(text));
    }
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (signal !== null) printed.push(`\nended by ${signal} (limit ${COMMAND_LIMIT_MS} ms)\n`);
      resolve({ code, output: printed.join("") });
    });
  });
}

/** A step that is one command: it passes when the command exits with 0. */
export function commandStep(name: string, proves: string, command: string, args: readonly string[]): Step {
  return {
    name,
    proves,
    run: async (root) => {
      const { code, output } = await runCommand(root, command, args);
      return code === 0 ? { kind: "passed" } : { kind: "failed", output };
    },
  };
}
