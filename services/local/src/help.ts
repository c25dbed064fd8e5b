// The command line: there is little to say on it, for everything is set by environment variables.
import { settingsHelp } from "@holdfast/runtime";

/** As shells have it for a command line that is wrong. */
export const CODE_USAGE = 2;

export type Asked =
  | { readonly kind: "start" }
  | { readonly kind: "help" }
  | { readonly kind: "unknown"; readonly argument: string };

export function readArguments(args: readonly string[]): Asked {
  if (args.some((argument) => argument === "--help" || argument === "-h")) return { kind: "help" };
  const [argument] = args;
  return argument === undefined ? { kind: "start" } : { kind: "unknown", argument };
}

export function usageText(argument: string): string {
  return `unknown argument ${argument}; nothing was started\n  npm start             starts Holdfast\n  npm start -- --help   tells what can be set\n`;
}

export function helpText(): string {
  return `Holdfast keeps AI agents alive while a human decides, and routes every answer back to the process that asked.

  npm start             starts a gateway and runners on this machine, prints their addresses and a tour to paste
  npm start -- --help   prints this

Ctrl-C ends everything it started; a second Ctrl-C does not wait. The data stays for the next start.
Exit codes: 0 it was told to end, 1 it could not start or a part of it failed, ${CODE_USAGE} the settings or arguments are wrong.

It is set by environment variables, for example: HOLDFAST_PORT=7421 HOLDFAST_DATA_DIR=/var/lib/holdfast npm start
Logs go to files in the data directory. With HOLDFAST_LOG=pretty they come here instead, and with HOLDFAST_LOG=json
there is nothing but JSON lines, for machines: no tour.

Settings:

${settingsHelp()}
`;
}
