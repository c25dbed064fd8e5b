// A cancel command reaches its owner (A10): every open question is answered `cancelled`, session/cancel is sent, and the
// prompt has its bound to settle. Without a prompt the turn ends in the admission's swap.
import type { Refusal } from "@holdfast/pool";
import type { Route } from "@holdfast/wire";
import { takeAuthority } from "./authority.ts";
import type { SessionHost } from "./host.ts";

export type Stopped =
  | { readonly kind: "admitted"; readonly duplicate: boolean }
  | { readonly kind: "refused"; readonly refusal: Refusal };

export async function cancelCommand(host: SessionHost, route: Route, commandId: string): Promise<Stopped> {
  const authority = await takeAuthority(host, route);
  if (authority.kind === "refused") return authority;
  const instance = host.instance;
  const live = host.live?.prompting ?? false;
  const delivery = { incarnation: host.world.self.incarnation, nonce: host.world.newId("nonce") };
  await host.refresh();
  const changed = await host.change({ type: "admit_cancel", commandId, delivery, live });
  if (changed.kind === "refused") return changed;
  if (changed.result.kind === "already") return { kind: "admitted", duplicate: true };
  // The effects come with this step: cancel_gates and cancel_prompt, or the end of a start.
  if (instance !== null) host.world.pool.step({ kind: "stop", key: host.slot, instance });
  if (changed.result.kind === "ended") host.turn = null;
  return { kind: "admitted", duplicate: false };
}

/** The pool's effects of a Stop. */
export function cancelQuestions(host: SessionHost, instance: string, gateIds: readonly string[]): void {
  const { live } = host;
  if (live === null || !host.isCurrent(instance) || !host.world.lease.mayWrite()) return;
  for (const gateId of gateIds) {
    const question = live.questions.get(gateId);
    live.questions.delete(gateId);
    if (question !== undefined) live.agent.answer(question.askId, { kind: "cancelled" });
  }
}

export function cancelPrompt(host: SessionHost, instance: string): void {
  if (host.live !== null && host.isCurrent(instance) && host.world.lease.mayWrite()) host.live.agent.cancel();
}
