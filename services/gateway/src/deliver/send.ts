// One command, sent to one owner: the call itself.
import { create } from "@bufbuild/protobuf";
import type { Owner } from "@holdfast/pool";
import {
  type RespondApprovalResponse,
  RunnerService,
  RunnerServiceCancelTurnRequestSchema,
  RunnerServiceRespondApprovalRequestSchema,
} from "@holdfast/proto";
import { routeMessage } from "@holdfast/wire";
import type { CallOptions, Refused, RunnerChannel, Unreachable } from "../runners/channel.ts";
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
  const request = create(RunnerServiceRespondApprovalRequestSchema, { route, request: asked });
  const replied = await channel.unary(RunnerService.method.respondApproval, request, options);
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
  const request = create(RunnerServiceCancelTurnRequestSchema, { route: routeOf(command, to), request: { sessionId } });
  const replied = await channel.unary(RunnerService.method.cancelTurn, request, options);
  return replied.kind === "reply" ? { kind: "reply", duplicate: replied.reply.duplicate, answer: null } : replied;
}

function routeOf({ key, principal, admin, commandId }: Command, { owner, epoch, execution }: Addressee) {
  return routeMessage({
    project: key.project,
    principal,
    incarnation: owner.incarnation,
    epoch,
    claim: null,
    command: { commandId, execution },
    admin,
  });
}
