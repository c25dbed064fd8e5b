// The command line. Every flag makes one thing about the process different, so that a host's handling of it can be tested.

import { parseArgs } from "node:util";

/** Longest `--slow-start`: ten minutes. */
const SLOW_START_MAX_MS = 600_000;
/** Largest protocol version ACP's schema knows. */
const PROTOCOL_VERSION_MAX = 65_535;

export type Flags = {
  help: boolean;
  /** Ends with exit code 3 and a line on stderr before anything is read. */
  failStart: boolean;
  /** Reads everything and answers nothing, until stdin is closed or a signal comes. */
  hangStart: boolean;
  /** Waits that long before anything is read, in milliseconds. */
  slowStartMs: number;
  /** The protocol version to answer `initialize` with; undefined: the one spoken. */
  protocolVersion: number | undefined;
  /** Offers neither `session/load` nor `session/resume`. */
  noLoad: boolean;
  /** Sends the second half of a load's replay after the load was answered. */
  lateReplay: boolean;
  /** Opens a gate as soon as a session exists, before its first prompt. */
  earlyGate: boolean;
  /** SIGTERM does nothing. */
  ignoreSigterm: boolean;
};

export const HELP = `An ACP agent that does what its prompt says, without a model. Speaks ACP on stdin and stdout.

  node agents/scripted/src/main.ts [flags]

  --help                 print this
  --fail-start           end at once with exit code 3 and a line on stderr
  --hang-start           read everything, answer nothing
  --slow-start MS        wait before reading anything
  --protocol-version N   answer initialize with this version
  --no-load              offer neither session/load nor session/resume
  --late-replay          send half of a load's replay after its response
  --early-gate           ask permission before the first prompt
  --ignore-sigterm       end on SIGKILL or the end of stdin only

The prompts' language is in agents/scripted/README.md.
`;

/** Reads the command line. Throws an Error whose message is for the person who typed it. */
export function readFlags(args: readonly string[]): Flags {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: "boolean", default: false },
      "fail-start": { type: "boolean", default: false },
      "hang-start": { type: "boolean", default: false },
      "slow-start": { type: "string", default: "0" },
      "protocol-version": { type: "string" },
      "no-load": { type: "boolean", default: false },
      "late-replay": { type: "boolean", default: false },
      "early-gate": { type: "boolean", default: false },
      "ignore-sigterm": { type: "boolean", default: false },
    },
  });
  const version = values["protocol-version"];
  return {
    help: values.help,
    failStart: values["fail-start"],
    hangStart: values["hang-start"],
    slowStartMs: wholeNumber("--slow-start", values["slow-start"], SLOW_START_MAX_MS),
    protocolVersion:
      version === undefined ? undefined : wholeNumber("--protocol-version", version, PROTOCOL_VERSION_MAX),
    noLoad: values["no-load"],
    lateReplay: values["late-replay"],
    earlyGate: values["early-gate"],
    ignoreSigterm: values["ignore-sigterm"],
  };
}

function wholeNumber(flag: string, text: string, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > max) throw new Error(`${flag} takes a whole number up to ${max}, not '${text}'`);
  return value;
}
