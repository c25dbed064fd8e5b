// The runner's own refusals, worded in one place.
import { type Refusal, refusal, type SessionKey } from "@holdfast/pool";

export function agentUnknown({ sessionId }: SessionKey, name: string, names: readonly string[]): Refusal {
  return refusal(
    "AGENT_UNKNOWN",
    `session ${sessionId}: there is no agent "${name}"; there are: ${names.join(", ")}`,
    "name one of them",
    { session_id: sessionId, agent: name, agents: names.join(",") },
  );
}

export function fieldInvalid({ sessionId }: SessionKey, field: string, description: string): Refusal {
  return {
    ...refusal(
      "FIELD_INVALID",
      `session ${sessionId}: ${field} ${description}`,
      "correct the field and send it again",
      {
        session_id: sessionId,
      },
    ),
    violations: [{ field, description }],
  };
}

export function secretsMissing({ sessionId }: SessionKey, names: readonly string[]): Refusal {
  return refusal(
    "SECRETS_MISSING",
    `session ${sessionId}: its configuration names secrets that nobody sent: ${names.join(", ")}`,
    "send them in `secrets`",
    { session_id: sessionId, secrets: names.join(",") },
  );
}

/** The record has moved on since the gateway read it. */
export function notHereAnyMore({ sessionId }: SessionKey): Refusal {
  return refusal(
    "NOT_OWNER",
    `session ${sessionId}: its record has moved on since it was read`,
    "read the session again and address its owner",
    { session_id: sessionId },
  );
}

export function processGone({ sessionId }: SessionKey, commandId: string): Refusal {
  return refusal(
    "NOT_RESUMABLE",
    `session ${sessionId}: the process that asked is gone, and this version does not continue an answer in another one; command ${commandId} stays queued and nothing has run`,
    "the answer is kept; stop the turn to give it up",
    { session_id: sessionId, command_id: commandId },
  );
}

export function requestMissing(rpc: string): Refusal {
  return {
    ...refusal("FIELD_INVALID", `${rpc} came without a request`, "only a gateway calls a runner"),
    violations: [{ field: "request", description: "is required" }],
  };
}

/** Its caller went while it waited for a seat: nothing was written. */
export function callerGone({ sessionId }: SessionKey): Refusal {
  return refusal(
    "STREAM_CUT",
    `session ${sessionId}: the caller went before the turn began; nothing was written`,
    "run the turn again",
    { session_id: sessionId },
  );
}

/** Nothing was done: the same call may come again. */
export function laneFull({ sessionId }: SessionKey, waiting: number): Refusal {
  return refusal(
    "POOL_FULL",
    `session ${sessionId}: ${waiting} calls wait for their turn already; nothing was done`,
    "send it again later",
    { session_id: sessionId },
  );
}

export function watchersFull({ sessionId }: SessionKey, limit: number): Refusal {
  return refusal(
    "WATCHERS_FULL",
    `session ${sessionId} has ${limit} watchers already`,
    "end a watch that is not needed",
    { session_id: sessionId, limit: `${limit}` },
  );
}

export function notBuilt(rpc: string): Refusal {
  return refusal("RPC_NOT_BUILT", `${rpc} is not built yet`, "see GetServerInfo for what this version can do", { rpc });
}

export function noCommand(key: SessionKey): Refusal {
  return fieldInvalid(key, "route.command_id", "is required");
}
