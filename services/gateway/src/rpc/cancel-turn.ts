// CancelTurn: a Stop. OK follows the commit; the owner is told at once, and the reply waits a moment for its admission, so that
// who stops and goes finds the session warm.
import { canonicalJson } from "@holdfast/pool";
import type { CancelTurnRequest, CancelTurnResponse } from "@holdfast/proto";
import { sha256, within } from "@holdfast/runtime";
import { cancelTurnResponse, type Reply, validateCancelTurn } from "@holdfast/wire";
import { ADMISSION_WAIT_MS } from "../deliver/deliveries.ts";
import { existingSession } from "../sessions/current.ts";
import { stopTurn } from "../sessions/stop.ts";
import type { GatewayWorld } from "../world.ts";
import { type Call, keyOf } from "./call.ts";

export async function cancelTurn(
  world: GatewayWorld,
  request: CancelTurnRequest,
  call: Call,
): Promise<Reply<CancelTurnResponse>> {
  const valid = validateCancelTurn(request);
  if ("refusal" in valid) return valid;
  const { sessionId, expectedTurn, expectedExecution, idempotencyKey, channel } = valid.value;
  const key = keyOf(call, sessionId);
  const current = await existingSession(world, key);
  if (current.kind === "refused") return current;
  const contentDigest = sha256(canonicalJson({ expectedTurn, expectedExecution }));
  const wish = { expectedTurn, expectedExecution, idempotencyKey, contentDigest, channel, why: "stop" as const };
  const stopped = await stopTurn(world, key, current.held, wish, call);
  if (stopped.kind === "refused") return stopped;
  if (stopped.delivery !== null) await within(world.clock, ADMISSION_WAIT_MS, stopped.delivery);
  return { ok: cancelTurnResponse(stopped.receipt) };
}
