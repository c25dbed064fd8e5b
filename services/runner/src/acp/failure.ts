// What went wrong with an agent, in a sentence for people. Redacted by whoever tells it.

import { RequestError } from "@agentclientprotocol/sdk";
import { writeJson } from "./json.ts";

/** Longest description; what an agent attaches to an error may be anything. */
const DESCRIPTION_CHARACTERS = 1_000;

/** A start that cannot go on, for a reason that is the agent's or the catalogue's. */
export class StartProblem extends Error {}

export function describeFailure(error: unknown): string {
  return describe(error).slice(0, DESCRIPTION_CHARACTERS);
}

function describe(error: unknown): string {
  if (error instanceof RequestError) {
    const data = error.data === undefined ? null : writeJson(error.data);
    return `the agent answered with error ${error.code}: ${error.message}${data === null ? "" : ` ${data}`}`;
  }
  return error instanceof Error ? error.message : String(error);
}
