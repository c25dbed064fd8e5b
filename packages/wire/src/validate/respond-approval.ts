// RespondApproval's request: one decision on one gate.
import type { Verdict } from "@holdfast/pool";
import type { RespondApprovalRequest } from "@holdfast/proto";
import { verdicts } from "../enums/gate.ts";
import { type Capabilities, checkCapability } from "./capabilities.ts";
import { CHANNEL_CHARACTERS, DIGEST_CHARACTERS, NOTE_BYTES } from "./limits.ts";
import { checkSecrets, plainSecrets, type SecretValue } from "./secrets.ts";
import { checkKey, checkMintedId, checkProse, checkSessionId, checkText, orNull } from "./text.ts";
import { type Validated, Violations } from "./violations.ts";

export type RespondApprovalRules = { readonly nowMs: number; readonly capabilities: Capabilities };

export type ValidRespondApproval = {
  readonly sessionId: string;
  readonly gateId: string;
  readonly choice: { readonly optionId: string } | { readonly verdict: Verdict };
  /** Null: not compared. One that is no digest at all is DIGEST_MISMATCH later, not an invalid field. */
  readonly digest: string | null;
  /** "" when there is none. Not used with an allowance; whether an option allows is only known at the gate. */
  readonly note: string;
  readonly idempotencyKey: string | null;
  readonly secrets: ReadonlyMap<string, SecretValue>;
  /** "" when the caller said nothing. */
  readonly channel: string;
};

export function validateRespondApproval(
  request: RespondApprovalRequest,
  rules: RespondApprovalRules,
): Validated<ValidRespondApproval> {
  const found = new Violations();
  checkSessionId(found, "session_id", request.sessionId);
  checkMintedId(found, "gate_id", request.gateId);
  const choice = readChoice(found, request.decision);
  checkText(found, "digest", request.digest, DIGEST_CHARACTERS);
  checkProse(found, "note", request.note, NOTE_BYTES);
  checkKey(found, "idempotency_key", request.idempotencyKey);
  checkSecrets(found, "secrets", request.secrets, rules.nowMs);
  checkCapability(found, "secrets", "secrets", Object.keys(request.secrets).length > 0, rules.capabilities);
  checkText(found, "channel", request.channel, CHANNEL_CHARACTERS);
  return found.settle("RespondApproval", () => ({
    sessionId: request.sessionId,
    gateId: request.gateId,
    choice,
    digest: orNull(request.digest),
    note: request.note,
    idempotencyKey: orNull(request.idempotencyKey),
    secrets: plainSecrets(request.secrets),
    channel: request.channel,
  }));
}

function readChoice(found: Violations, decision: RespondApprovalRequest["decision"]): ValidRespondApproval["choice"] {
  if (decision.case === "optionId") {
    checkMintedId(found, "option_id", decision.value);
    return { optionId: decision.value };
  }
  if (decision.case === undefined) {
    found.add("decision", "needs one of option_id, verdict");
    return { optionId: "" };
  }
  const verdict = verdicts.fromWire(decision.value);
  if (verdict !== null) return { verdict };
  found.add("verdict", `is not one of ${verdicts.names.join(", ")}`);
  return { optionId: "" };
}
