// One command, sent to one owner: the call itself.
import type { Owner } from "@holdfast/pool";
import type { RespondApprovalResponse } from "@holdfast/proto";
import type { CallOptions } from "@holdfast/wire";
import { type Refused, type RunnerChannel, replyOf, type Unreachable } from "../runners/channel.ts";
import { routeTo } from "../runners/route.ts";
import type { GatewayWorld } from "../world.ts";
import type { Command } from "./deliveries.ts";

/** How long the owner may take to admit a command (D8). */
const DELIVERY_MS = 5_000;

export type Addressee = { readonly owner: Owner; readonly epoch: number; readonly execution: number };

export type Sent =
  | { readonly kind: "reply"; readonly duplicate: boolean; readonly answer: RespondApprovalResponse | null }
  | Refused
  | Unreachable;

export async function sendCommand(world: GatewayWorld, command: Command, to: Addressee): Promise<Sent> {
  const reached = await world.runners.reach(to.owner);
  if (reached.kind !== "reached") return reached;
  const options = { deadlineMs: world.clock.now() + DELIVERY_MS };
  return command.kind === "answer"
    ? sendAnswer(reached.channel, command, to, options)
    : sendCancel(reached.channel, command, to, options);
}

async function sendAnswer(
  channel: RunnerChannel,
  command: Command,
  to: Addressee,
  options: CallOptions,
): Promise<Sent> {
  const route = routeOf(command, to);
  const asked = command.request ?? { sessionId: command.key.sessionId };
  const replied = await replyOf(channel.rpc.respondApproval({ route, request: asked }, options));
  if (replied.kind !== "reply") return replied;
  const { duplicate, response } = replied.reply;
  return { kind: "reply", duplicate, answer: response ?? null };
}

async function sendCancel(
  channel: RunnerChannel,
  command: Command,
  to: Addressee,
  options: CallOptions,
): Promise<Sent> {
  const { sessionId } = command.key;
  const route = routeOf(command, to);
  const replied = await replyOf(channel.rpc.cancelTurn({ route, request: { sessionId } }, options));
  return replied.kind === "reply" ? { kind: "reply", duplicate: replied.reply.duplicate, answer: null } : replied;
}

function routeOf({ key, principal, admin, commandId }: Command, { owner, epoch, execution }: Addressee) {
  const behalf = { project: key.project, principal, admin };
  return routeTo(behalf, owner, epoch, { command: { commandId, execution } });
}
