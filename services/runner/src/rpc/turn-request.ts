// The public RunTurn request as the lane takes it. The gateway has checked it; what fails here is refused all the same.
import type { ContentBlock, RunTurnRequest } from "@holdfast/proto";
import { type FollowName, type RunTurnRules, runTurnDigest, type Validated, validateRunTurn } from "@holdfast/wire";
import type { TurnRequest } from "../session/begin-turn.ts";
import type { RunnerWorld } from "../world.ts";

export type TurnWanted = { readonly sessionId: string; readonly follow: FollowName; readonly request: TurnRequest };

export function turnRequest(world: RunnerWorld, message: RunTurnRequest): Validated<TurnWanted> {
  const checked = validateRunTurn(message, rulesOf(world));
  if ("refusal" in checked) return checked;
  const { sessionId, follow, agent, config, limits, labels, requestId, onDisconnect, secrets } = checked.value;
  const request: TurnRequest = {
    requestId,
    contentDigest: runTurnDigest(message),
    agent,
    prompt: message.prompt,
    text: message.prompt
      .map(textOf)
      .filter((text) => text !== "")
      .join("\n"),
    hasAttachments: message.prompt.some(({ block }) => block.case !== "text"),
    config,
    limits,
    secrets: new Map([...secrets].map(([name, { value, expiresAtMs }]) => [name, { value, expiresAt: expiresAtMs }])),
    labels,
    onDisconnect,
  };
  return { value: { sessionId, follow, request } };
}

function rulesOf({ clock, settings, capabilities, defaultConfig }: RunnerWorld): RunTurnRules {
  const { turnMaxMs, idleMaxMs, approvalMaxMs } = settings;
  const maxima = { turnLimitMs: turnMaxMs, idleTtlMs: idleMaxMs, approvalTtlMs: approvalMaxMs };
  const limits = { defaults: defaultConfig.limits, maxima };
  return { nowMs: clock.now(), limits, capabilities, catalogueSecretNames: null };
}

function textOf({ block }: ContentBlock): string {
  return block.case === "text" ? block.value.text : "";
}
