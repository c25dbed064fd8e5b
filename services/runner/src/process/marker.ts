// The two variables that every process of an agent carries, so that it can be found whatever it did to get away.

import { resolve } from "node:path";
import { sha256 } from "@holdfast/runtime";
import type { Marker } from "./table.ts";

const INSTANCE_VARIABLE = "ACP_HOST_PROCESS";
const OWNER_VARIABLE = "ACP_HOST_OWNER";

export const markers = {
  /** Carried by the processes of one tree. */
  instance: (value: string): Marker => ({ name: INSTANCE_VARIABLE, value }),
  /** Carried by the processes of all trees of one runner, whichever incarnation started them. */
  owner: (value: string): Marker => ({ name: OWNER_VARIABLE, value }),
  environment: (instance: string, owner: string): Readonly<Record<string, string>> => ({
    [INSTANCE_VARIABLE]: instance,
    [OWNER_VARIABLE]: owner,
  }),
  /** Nobody else may set these. */
  names: [INSTANCE_VARIABLE, OWNER_VARIABLE] as readonly string[],
};

/** Names a runner on its host for as long as its data directory exists: the same after a restart, no other runner's. */
export function ownerMark(dataDirectory: string, runnerName: string): string {
  return sha256(JSON.stringify([resolve(dataDirectory), runnerName]));
}
