// A Stop, committed and brought to its owner: what CancelTurn and CloseSession share (D7).
import { changeRecord, type Held, tellOwnerless } from "@holdfast/ledger";
import { type Refusal, type SessionKey, type Stop, type StopReceipt, slotKey } from "@holdfast/pool";
import { isAdmin } from "../credentials/caller.ts";
import type { Delivered } from "../deliver/deliveries.ts";
import type { Call } from "../rpc/call.ts";
import type { GatewayWorld } from "../world.ts";

export type Stopped =
  | {
      readonly kind: "stopped";
      readonly held: Held;
      readonly receipt: StopReceipt;
      /** Null when there is nothing to deliver: the turn is over. */
      readonly delivery: Promise<Delivered> | null;
    }
  | { readonly kind: "refused"; readonly refusal: Refusal };

export type StopWish = Omit<Stop, "type" | "commandId" | "principal" | "next">;

/** Durable when it returns. Without an owner the turn has ended by the same swap. Throws StoreUnavailable. */
export async function stopTurn(
  world: GatewayWorld,
  key: SessionKey,
  held: Held,
  wish: StopWish,
  call: Call,
): Promise<Stopped> {
  const { principal } = call.caller;
  const stop: Stop = { ...wish, type: "stop", commandId: world.newId("command"), principal, next: null };
  const changed = await world.changes.runAlways(slotKey(key), () =>
    changeRecord(world.ledger, key, stop, { kind: "gateway" }, { held }),
  );
  if (changed.kind === "refused") return { kind: "refused", refusal: changed.refusal };
  const { result: receipt } = changed;
  const { commandId, turnId: turn, execution } = receipt;
  const where = { project: key.project, session: key.sessionId, command: commandId, turn, execution, principal };
  world.log.info("stop", { ...where, channel: wish.channel, reason: receipt.duplicate ? "duplicate" : wish.why });
  const { record } = changed.held;
  if (record.owner === null) {
    await tellOwnerless(world.ledger, key, changed.held);
    return { kind: "stopped", held: changed.held, receipt, delivery: null };
  }
  const isOpen = record.cancel?.commandId === commandId && record.cancel.admitted === null;
  const command = { kind: "cancel" as const, key, commandId, principal, admin: isAdmin(call.caller), request: null };
  const delivery = isOpen ? world.deliveries.deliver(world, command, !receipt.duplicate) : null;
  return { kind: "stopped", held: changed.held, receipt, delivery };
}
