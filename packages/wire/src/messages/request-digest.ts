// What a RunTurn request says, as a digest: tells a retry with the same request_id from a reused one (D5, D15).
import { createHash } from "node:crypto";
import { create, toJson } from "@bufbuild/protobuf";
import { canonicalJson } from "@holdfast/pool";
import { Follow, IfBusy, OnDisconnect, type RunTurnRequest, RunTurnRequestSchema } from "@holdfast/proto";

/**
 * SHA-256, 64 lower-case hexadecimal digits, of a checked request. Left out is how the caller wants to be served this time
 * (follow, if_busy, on_disconnect, request_id): a retry may ask for that differently. Of secrets the names count and never
 * the values: the digest is stored.
 */
export function runTurnDigest(request: RunTurnRequest): string {
  const said = create(RunTurnRequestSchema, {
    sessionId: request.sessionId,
    agent: request.agent,
    prompt: request.prompt,
    history: request.history,
    config: request.config,
    labels: request.labels,
    limits: request.limits,
    requestId: "",
    ifBusy: IfBusy.UNSPECIFIED,
    onDisconnect: OnDisconnect.UNSPECIFIED,
    follow: Follow.UNSPECIFIED,
  });
  const secrets = Object.keys(request.secrets).sort();
  const text = canonicalJson([toJson(RunTurnRequestSchema, said), secrets]);
  return createHash("sha256").update(text).digest("hex");
}
