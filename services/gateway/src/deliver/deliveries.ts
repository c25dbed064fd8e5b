// A committed command on its way to its owner (D8): one attempt, begun at once and counted before it is sent. It goes on
// whoever waits for it. Nothing looks for commands that were left behind: the next attempt is made when the same answer
// or Stop comes again.
//
// V1  An attempt is counted in the record before it is sent: by the swap that committed the command, or by `attempt`.
// V2  Only a typed OK is success. A refusal that proves nothing ran gives the attempt back.
// V3  A command that is on its way from here is not sent a second time: whoever asks again waits for the same outcome.
// V4  The runner is told the incarnation and the epoch that the record named; what it holds instead, it says (E6).
import { changeRecord } from "@holdfast/ledger";
import type { Answer, Refusal, RefusalReason, SessionKey, SessionRecord } from "@holdfast/pool";
import type { RespondApprovalRequest, RespondApprovalResponse } from "@holdfast/proto";
import { hasMoved } from "../runners/route.ts";
import { currentSession } from "../sessions/current.ts";
import type { GatewayWorld } from "../world.ts";
import { type Sent, sendCommand } from "./send.ts";

/** Which command, and for whom its owner acts. */
export type Command = {
  readonly kind: "answer" | "cancel";
  readonly key: SessionKey;
  readonly commandId: string;
  readonly principal: string;
  readonly admin: boolean;
  /** The answer's request, for the secrets in it; null when it is delivered by somebody else than who got it. */
  readonly request: RespondApprovalRequest | null;
};

export type Delivered =
  | { readonly kind: "accepted" | "duplicate"; readonly answer: RespondApprovalResponse | null }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  | { readonly kind: "failed"; readonly why: string }
  /** Nothing to deliver: no living owner, or the command is settled or given up. */
  | { readonly kind: "nothing" };

/** Refusals that prove that nothing ran. */
const HANDS_BACK: ReadonlySet<RefusalReason> = new Set<RefusalReason>([
  "POOL_FULL",
  "DRAINING",
  "NOT_OWNER",
  "STALE_EPOCH",
  "SECRETS_MISSING",
  "NOT_RESUMABLE",
]);
/** The session has moved: the record is read again and the delivery tried once more. */
const TRIES = 2;
/** How long a reply waits for the owner to admit a command that is committed already. */
export const ADMISSION_WAIT_MS = 250;

export class Deliveries {
  private readonly underway = new Map<string, Promise<Delivered>>();

  /** `counted`: the swap that committed the command has counted this attempt. Never rejects. */
  deliver(world: GatewayWorld, command: Command, counted: boolean): Promise<Delivered> {
    const before = this.underway.get(command.commandId);
    if (before !== undefined) return before;
    const delivery = deliverCommand(world, command, counted).finally(() => this.underway.delete(command.commandId));
    this.underway.set(command.commandId, delivery);
    return delivery;
  }

  get size(): number {
    return this.underway.size;
  }

  /** Resolves when nothing is on its way any more; each delivery has its own bound. */
  async empty(): Promise<void> {
    while (this.underway.size > 0) await Promise.all(this.underway.values());
  }
}

/** One delivery: its attempt, and one more when the session turns out to have moved. Never rejects. */
async function deliverCommand(world: GatewayWorld, command: Command, counted: boolean): Promise<Delivered> {
  try {
    let isCounted = counted;
    for (let tries = 1; ; tries++) {
      const delivered = await deliverOnce(world, command, isCounted);
      const isElsewhere = delivered.kind === "refused" && hasMoved(delivered.refusal);
      if (!isElsewhere || tries === TRIES) return delivered;
      world.telemetry.metrics.ownerLookup("stale");
      isCounted = false;
    }
  } catch (error) {
    // The command is in the record and stays there; this attempt is over.
    world.log.error("deliver", { ...named(command), reason: "failed", error });
    world.telemetry.metrics.delivery("failed");
    return { kind: "failed", why: error instanceof Error ? error.name : String(error) };
  }
}

async function deliverOnce(world: GatewayWorld, command: Command, counted: boolean): Promise<Delivered> {
  const current = await currentSession(world, command.key);
  if (current.kind !== "found" || current.owner.kind === "none") return { kind: "nothing" };
  const pin = counted ? pinOf(current.held.record, command) : await countAttempt(world, command);
  if (pin === null) return { kind: "nothing" };
  const { owner, held } = current;
  const sent = await world.telemetry.span(
    "holdfast.command.deliver",
    { ...named(command), runner: owner.owner.runner, execution: pin.execution, attempt: pin.attempt },
    async (span) => {
      const outcome = await sendCommand(world, command, {
        owner: owner.owner,
        epoch: held.record.epoch,
        execution: pin.execution,
      });
      span.set({ result: resultOf(outcome) });
      return outcome;
    },
  );
  return settle(world, command, sent);
}

async function settle(world: GatewayWorld, command: Command, sent: Sent): Promise<Delivered> {
  const result = resultOf(sent);
  world.telemetry.metrics.delivery(result);
  const reason = sent.kind === "refused" ? sent.refusal.reason : sent.kind === "unreachable" ? "unreachable" : null;
  const told = { ...named(command), outcome: result, reason };
  if (sent.kind === "reply") world.log.info("deliver", told);
  else world.log.warn("deliver", sent.kind === "unreachable" ? { ...told, detail: sent.why } : told);
  if (result === "handed_back" && command.kind === "answer") await handBack(world, command);
  switch (sent.kind) {
    case "reply":
      return { kind: sent.duplicate ? "duplicate" : "accepted", answer: sent.answer };
    case "refused":
      return { kind: "refused", refusal: sent.refusal };
    case "unreachable":
      return { kind: "failed", why: sent.why };
  }
}

function resultOf(sent: Sent) {
  if (sent.kind === "reply") return sent.duplicate ? "duplicate" : "accepted";
  return sent.kind === "refused" && HANDS_BACK.has(sent.refusal.reason) ? "handed_back" : "failed";
}

type Pin = { readonly execution: number; readonly attempt: number };

/** Which execution the record pins the command to, and how many attempts it counts; null when nothing is to be sent. */
function pinOf(record: SessionRecord, { commandId }: Command): Pin | null {
  const { cancel } = record;
  if (cancel?.commandId === commandId) return { execution: cancel.execution, attempt: cancel.attempts };
  const answer = findAnswer(record, commandId);
  return answer?.disposition.kind === "queued" ? { execution: answer.execution, attempt: answer.attempts } : null;
}

async function countAttempt(world: GatewayWorld, command: Command): Promise<Pin | null> {
  const { key, commandId } = command;
  const changed = await changeRecord(world.ledger, key, { type: "attempt", commandId }, { kind: "gateway" });
  if (changed.kind === "refused") return null;
  if (changed.result.kind === "send") return pinOf(changed.held.record, command);
  if (changed.result.kind === "spent") {
    world.telemetry.metrics.delivery("spent");
    world.log.warn("recoverable", { ...named(command), reason: "attempts_spent" });
  }
  return null;
}

async function handBack(world: GatewayWorld, { key, commandId }: Command): Promise<void> {
  const changed = await changeRecord(world.ledger, key, { type: "return_attempt", commandId }, { kind: "gateway" });
  if (changed.kind === "refused")
    world.log.warn("deliver", { session: key.sessionId, command: commandId, reason: changed.refusal.reason });
}

function findAnswer(record: SessionRecord, commandId: string): Answer | null {
  for (const { state } of record.gates) {
    if (state.kind === "answered" && state.answer.commandId === commandId) return state.answer;
  }
  return null;
}

function named({ key, commandId }: Command) {
  return { project: key.project, session: key.sessionId, command: commandId };
}
