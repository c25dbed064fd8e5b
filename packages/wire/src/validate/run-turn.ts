// RunTurn's request: what a prompt must be, and the plain value it becomes.
import type { Refusal, TurnLimits } from "@holdfast/pool";
import type { RunTurnRequest } from "@holdfast/proto";
import {
  type FollowName,
  followChoices,
  type IfBusyName,
  ifBusyChoices,
  type OnDisconnectName,
  onDisconnectChoices,
} from "../enums/request.ts";
import { type PlainBlock, toPlainBlock } from "../messages/content.ts";
import { type Capabilities, checkCapability } from "./capabilities.ts";
import { chosen } from "./choice.ts";
import { checkConfig, configTooLarge, plainConfig, type RequestedConfig } from "./config.ts";
import { checkBlocks } from "./content.ts";
import { checkHistory, type PlainHistoryMessage, plainHistory } from "./history.ts";
import { checkLabels, plainMap } from "./labels.ts";
import { PROMPT_BLOCKS } from "./limits.ts";
import { checkSecrets, plainSecrets, type SecretValue } from "./secrets.ts";
import { checkAgentName, checkKey, checkSessionId, orNull } from "./text.ts";
import { type LimitRules, readTurnLimits } from "./turn-limits.ts";
import { type Validated, Violations } from "./violations.ts";

export type RunTurnRules = {
  /** Milliseconds since 1970: what a secret's end is compared with. */
  readonly nowMs: number;
  readonly limits: LimitRules;
  readonly capabilities: Capabilities;
  /** Secrets the agent's catalogue supplies; null where the catalogue is not known: then the names are not checked. */
  readonly catalogueSecretNames: ReadonlySet<string> | null;
};

export type ValidRunTurn = {
  readonly sessionId: string;
  /** Null: the one the session has. */
  readonly agent: string | null;
  /** 1..256 blocks. */
  readonly prompt: readonly PlainBlock[];
  /** Null when the caller sent none. */
  readonly history: readonly PlainHistoryMessage[] | null;
  /** Null: the one the session has. */
  readonly config: RequestedConfig | null;
  readonly secrets: ReadonlyMap<string, SecretValue>;
  readonly labels: Readonly<Record<string, string>>;
  readonly requestId: string | null;
  readonly ifBusy: IfBusyName;
  readonly onDisconnect: OnDisconnectName;
  readonly follow: FollowName;
  /** In milliseconds, the server's defaults where the caller set none. */
  readonly limits: TurnLimits;
};

/** FIELD_INVALID with everything that is wrong; else CONFIG_TOO_LARGE; else the request as a plain value. */
export function validateRunTurn(request: RunTurnRequest, rules: RunTurnRules): Validated<ValidRunTurn> {
  const found = new Violations();
  checkSessionId(found, "session_id", request.sessionId);
  checkAgentName(found, "agent", request.agent);
  if (found.check(request.prompt.length > 0, "prompt", "is required")) {
    const few = found.check(request.prompt.length <= PROMPT_BLOCKS, "prompt", `has more than ${PROMPT_BLOCKS} blocks`);
    if (few) checkBlocks(found, "prompt", request.prompt);
  }
  checkHistory(found, "history", request.history);
  checkSecrets(found, "secrets", request.secrets, rules.nowMs);
  if (request.config !== undefined) checkConfig(found, "config", request.config, resolvableSecrets(request, rules));
  checkLabels(found, "labels", request.labels);
  checkKey(found, "request_id", request.requestId);
  const choices = readChoices(found, request);
  const limits = readTurnLimits(found, "limits", request.limits, rules.limits);
  checkCapabilities(found, request, choices, rules.capabilities);
  const settled = found.settle("RunTurn", () => plainRunTurn(request, choices, limits));
  const tooLarge = "value" in settled ? sizeRefusal(settled.value) : null;
  return tooLarge === null ? settled : { refusal: tooLarge };
}

type Choices = Pick<ValidRunTurn, "ifBusy" | "onDisconnect" | "follow">;

function readChoices(found: Violations, request: RunTurnRequest): Choices {
  return {
    ifBusy: chosen(found, "if_busy", ifBusyChoices, request.ifBusy, "reject"),
    onDisconnect: chosen(found, "on_disconnect", onDisconnectChoices, request.onDisconnect, "detach"),
    follow: chosen(found, "follow", followChoices, request.follow, "until_parked"),
  };
}

function checkCapabilities(found: Violations, request: RunTurnRequest, choices: Choices, has: Capabilities): void {
  checkCapability(found, "history", "history", request.history.length > 0, has);
  checkCapability(found, "secrets", "secrets", Object.keys(request.secrets).length > 0, has);
  checkCapability(found, "if_busy", "interrupt", choices.ifBusy === "interrupt", has);
  checkCapability(found, "on_disconnect", "cancel-on-disconnect", choices.onDisconnect === "cancel", has);
  const rules = request.config?.permissionRules.length ?? 0;
  checkCapability(found, "config.permission_rules", "permission-rules", rules > 0, has);
}

function resolvableSecrets(request: RunTurnRequest, rules: RunTurnRules): ReadonlySet<string> | null {
  if (rules.catalogueSecretNames === null) return null;
  return new Set([...Object.keys(request.secrets), ...rules.catalogueSecretNames]);
}

function plainRunTurn(request: RunTurnRequest, choices: Choices, limits: TurnLimits): ValidRunTurn {
  return {
    sessionId: request.sessionId,
    agent: orNull(request.agent),
    prompt: request.prompt.map(toPlainBlock),
    history: plainHistory(request.history),
    config: request.config === undefined ? null : plainConfig(request.config),
    secrets: plainSecrets(request.secrets),
    labels: plainMap(request.labels),
    requestId: orNull(request.requestId),
    ...choices,
    limits,
  };
}

function sizeRefusal({ config, sessionId }: ValidRunTurn): Refusal | null {
  return config === null ? null : configTooLarge(config, sessionId);
}
