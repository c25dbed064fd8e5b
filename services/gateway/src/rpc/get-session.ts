// GetSession: state, owner, latest turn, gates with their whole calls.
import { create } from "@bufbuild/protobuf";
import { type GetSessionRequest, type GetSessionResponse, GetSessionResponseSchema } from "@holdfast/proto";
import { type Reply, validateGetSession } from "@holdfast/wire";
import { existingSession } from "../sessions/current.ts";
import { wholeSession } from "../sessions/view.ts";
import type { GatewayWorld } from "../world.ts";
import { type Call, keyOf } from "./call.ts";

export async function getSession(
  world: GatewayWorld,
  request: GetSessionRequest,
  call: Call,
): Promise<Reply<GetSessionResponse>> {
  const valid = validateGetSession(request);
  if ("refusal" in valid) return valid;
  const current = await existingSession(world, keyOf(call, valid.value.sessionId));
  if (current.kind === "refused") return current;
  const session = await wholeSession(world, current.held.record, call);
  return { ok: create(GetSessionResponseSchema, { session }) };
}
