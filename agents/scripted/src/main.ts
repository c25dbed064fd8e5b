#!/usr/bin/env node
// Starts the scripted agent on stdin and stdout: flags, signals, connection. stdout carries the protocol and, when a script
// asks for it, noise; everything for people goes to stderr.

import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { ndJsonStream } from "@agentclientprotocol/sdk";
import { scriptedAgent } from "./agent.ts";
import { type Flags, HELP, readFlags } from "./flags.ts";
import { Outlet } from "./outlet.ts";
import { endCommands } from "./shell.ts";

const USAGE_EXIT_CODE = 2;
const FAIL_START_EXIT_CODE = 3;
const SIGTERM_EXIT_CODE = 128 + 15;

const flags = flagsOrExit();
if (flags.help) {
  process.stdout.write(HELP);
} else if (flags.failStart) {
  process.stderr.write("scripted agent: failing to start, as --fail-start says\n");
  process.exitCode = FAIL_START_EXIT_CODE;
} else {
  await serve(flags);
}

async function serve(chosen: Flags): Promise<void> {
  process.on("exit", endCommands);
  process.on("SIGTERM", () => {
    if (chosen.ignoreSigterm) process.stderr.write("scripted agent: SIGTERM ignored\n");
    else process.exit(SIGTERM_EXIT_CODE);
  });
  // Without its client the agent has nobody to work for, and without stderr nobody to complain to.
  process.stdout.on("error", () => process.exit());
  process.stderr.on("error", () => process.exit());

  if (chosen.hangStart) {
    process.stdin.resume();
    return;
  }
  await delay(chosen.slowStartMs);
  const outlet = new Outlet(process.stdout);
  const input = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>;
  const connection = scriptedAgent(chosen, outlet).connect(ndJsonStream(outlet.messages, input));
  await connection.closed;
  process.exit();
}

function flagsOrExit(): Flags {
  try {
    return readFlags(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    process.exit(USAGE_EXIT_CODE);
  }
}
