// DeleteSession and WatchApprovals: rpcs of the contract that this version has not built. They say so to who may call them.
import type { Reply } from "@holdfast/wire";
import { type Frames, notBuilt } from "./call.ts";

export async function deleteSession(): Promise<Reply<never>> {
  return { refusal: notBuilt("DeleteSession") };
}

// biome-ignore lint/correctness/useYield: a stream that is refused before its first message.
export async function* watchApprovals(): Frames {
  return notBuilt("WatchApprovals");
}
