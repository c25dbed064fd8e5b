// `npm start`: the command line and who is talked to, then the launcher.
import { runProgram } from "@holdfast/runtime";
import { CODE_USAGE, helpText, readArguments, usageText } from "./help.ts";
import { startLocal } from "./local.ts";
import { isForMachines } from "./voice.ts";

const asked = readArguments(process.argv.slice(2));
if (asked.kind === "help") {
  process.stdout.write(helpText());
} else if (asked.kind === "unknown") {
  process.stderr.write(usageText(asked.argument));
  process.exitCode = CODE_USAGE;
} else {
  await runProgram({ name: "local", service: "gateway", start: startLocal }, ownEnvironment(process.env));
}

/** What holds for the launcher itself: it serves no metrics, and people are told in words instead of log lines. */
function ownEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = { ...env, HOLDFAST_METRICS_PORT: "" };
  return isForMachines(env) ? own : { ...own, HOLDFAST_LOG: "pretty", HOLDFAST_LOG_LEVEL: "error" };
}
