// Process trees: read tree.ts, then ending.ts.

export { type Ending, KILL_BOUND_MS, TERM_BOUND_MS } from "./ending.ts";
export { markers, ownerMark } from "./marker.ts";
export { SharedTable } from "./memory.ts";
export { endPredecessors } from "./orphans.ts";
export { STDERR_RING_BYTES } from "./stderr.ts";
export { type ChildExit, ProcessTree, startTree, type TreeStart } from "./tree.ts";
export { isDoneWithin } from "./within.ts";
