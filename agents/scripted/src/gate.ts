// One permission request: what is asked, and what the answer means.
//
// 1. Only an answer that names `allow-once` or `allow-always` allows. An unknown option, an error, a closed pipe: not allowed.
// 2. When the turn stops, the request is withdrawn (`$/cancel_request`) and an answer that comes later is not looked at.

import {
  methods,
  type PermissionOption,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import type { Stage } from "./stage.ts";

/** The options of every gate, in this order. */
export const OPTIONS = [
  { optionId: "allow-once", name: "Allow once", kind: "allow_once" },
  { optionId: "allow-always", name: "Always allow this command", kind: "allow_always" },
  { optionId: "reject-once", name: "Reject", kind: "reject_once" },
] as const satisfies PermissionOption[];

/** A command the agent has announced as a tool call. */
export type Call = { toolCallId: string; command: string };

export type Verdict =
  | { kind: "allowed" }
  /** The human said no, or what came back cannot be read as a yes. */
  | { kind: "rejected"; why: string }
  /** The turn is over, or about to be. */
  | { kind: "cancelled" };

/** Asks for one announced call and waits for the answer, however long it takes. */
export async function askFor(stage: Stage, call: Call): Promise<Verdict> {
  const { session, turn, client } = stage;
  try {
    const request: RequestPermissionRequest = {
      sessionId: session.id,
      toolCall: described(call),
      options: [...OPTIONS],
    };
    const response = await client.request(methods.client.session.requestPermission, request, {
      cancellationSignal: turn.signal,
      stopWaitingOnCancel: true,
    });
    return read(stage, call, response.outcome);
  } catch (error) {
    if (turn.signal.aborted) return { kind: "cancelled" };
    return { kind: "rejected", why: `the client answered with an error: ${String(error)}` };
  }
}

/** How a call is shown: the same fields in its announcement and in its gate. */
export function described(call: Call) {
  const { toolCallId, command } = call;
  return { toolCallId, title: command, kind: "execute", status: "pending", rawInput: { command } } as const;
}

function read(stage: Stage, call: Call, outcome: RequestPermissionResponse["outcome"]): Verdict {
  // The turn may have stopped between the answer's arrival and now: then it comes too late.
  if (stage.turn.signal.aborted) return { kind: "cancelled" };
  if (outcome.outcome === "cancelled") {
    stage.turn.cancel();
    return { kind: "cancelled" };
  }
  switch (outcome.optionId) {
    case "allow-once":
      return { kind: "allowed" };
    case "allow-always":
      stage.session.allowAlways(call.command);
      return { kind: "allowed" };
    case "reject-once":
      return { kind: "rejected", why: "rejected" };
    default:
      return { kind: "rejected", why: `no such option: ${outcome.optionId}` };
  }
}
