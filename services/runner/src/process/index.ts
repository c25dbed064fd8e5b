// Process trees: read tree.ts, then ending.ts.

export { markers, ownerMark } from "./marker.ts";
export { SharedTable } from "./memory.ts";
export { endPredecessors } from "./orphans.ts";
export { ProcessTree, startTree } from "./tree.ts";
export { isDoneWithin } from "./within.ts";
