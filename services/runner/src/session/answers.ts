// A continue command reaches its owner: admitted by one swap, then written, in that order (D9).
import type { Answer, AnswerDisposition, Refusal, SlotView } from "@holdfast/pool";
import type { Route } from "@holdfast/wire";
import { processGone } from "../refusals.ts";
import { takeAuthority } from "./authority.ts";
import type { SessionHost } from "./host.ts";
import { handBack } from "./loss.ts";

export type Continued =
  | { readonly kind: "admitted"; readonly disposition: AnswerDisposition; readonly duplicate: boolean }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** The command that a route carries, and the execution it is pinned to. */
export type Command = { readonly commandId: string; readonly execution: number };

export async function continueCommand(host: SessionHost, route: Route, command: Command): Promise<Continued> {
  const authority = await takeAuthority(host, route);
  if (authority.kind === "refused") return authority;
  await host.refresh();
  const { commandId, execution } = command;
  const slot = viewOf(host, commandId);
  if (slot === "process_gone") return { kind: "refused", refusal: processGone(host.key, commandId) };
  const delivery = { incarnation: host.world.self.incarnation, nonce: host.world.newId("nonce") };
  const changed = await host.change({ type: "admit", commandId, execution, delivery, slot });
  if (changed.kind === "refused") return changed;
  const admission = changed.result;
  switch (admission.kind) {
    case "already":
      return { kind: "admitted", disposition: admission.disposition, duplicate: true };
    case "moot":
      return { kind: "admitted", disposition: admission.disposition, duplicate: false };
    case "cold":
      return { kind: "admitted", disposition: { kind: "stored" }, duplicate: false };
    case "write": {
      const { gateId, optionId } = admission;
      const traceparent = answerOf(host, gateId)?.traceparent ?? "";
      const disposition = await host.observer.continued(gateId, commandId, traceparent, () =>
        writeAnswer(host, gateId, optionId),
      );
      return { kind: "admitted", disposition, duplicate: false };
    }
  }
}

/** What the gate of this command is to the live process; a command that is settled needs no process. */
function viewOf(host: SessionHost, commandId: string): SlotView {
  const gate = host.held?.record.gates.find(
    ({ state }) => state.kind === "answered" && state.answer.commandId === commandId,
  );
  if (gate === undefined) return "gate_gone";
  if (host.live?.questions.has(gate.gateId)) return "gate_open";
  return host.live !== null && host.isCurrent(gate.instance) ? "gate_gone" : "process_gone";
}

/** Lease check and write are one synchronous step (E4). A write that was not made is handed back (D9). */
async function writeAnswer(host: SessionHost, gateId: string, optionId: string): Promise<AnswerDisposition> {
  const { live } = host;
  const question = live?.questions.get(gateId);
  const written =
    live !== null &&
    question !== undefined &&
    host.world.lease.mayWrite() &&
    live.agent.answer(question.askId, { kind: "selected", optionId });
  if (!written) {
    return { kind: (await handBack(host, gateId)) ? "queued" : "sending" };
  }
  live.questions.delete(gateId);
  live.written.set(question.toolCallId, gateId);
  host.world.pool.step({ kind: "gate_consumed", key: host.slot, instance: live.agent.instance, gateId });
  const execution = host.held?.record.execution;
  if (host.turn !== null && execution && execution.number !== host.turn.execution) {
    host.turn.execution = execution.number;
    host.observer.beginExecution(host.turn.turnId, execution.number);
  }
  host.observer.answerWritten(gateId, answerOf(host, gateId)?.at ?? host.world.clock.now());
  return { kind: "sending" };
}

function answerOf(host: SessionHost, gateId: string): Answer | null {
  const gate = host.held?.record.gates.find((held) => held.gateId === gateId);
  return gate?.state.kind === "answered" ? gate.state.answer : null;
}
