// What a killed runner left on this host: its agents, which nobody listens to any more. The next incarnation of the same
// runner ends them before it takes any session (A16, E3): all of them, and nothing else.

import type { Clock } from "@holdfast/runtime";
import { type Ending, endProcesses } from "./ending.ts";
import { Kin } from "./kin.ts";
import { markers } from "./marker.ts";
import { readProcessTable } from "./table.ts";

/** `owner`: the mark of this runner (marker.ts). Bounded as ending.ts says. */
export function endPredecessors(owner: string, clock: Clock): Promise<Ending> {
  const kin = new Kin(markers.owner(owner), []);
  return endProcesses(() => kin.search(readProcessTable()), clock);
}
