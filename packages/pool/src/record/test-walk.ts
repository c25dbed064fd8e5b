// For tests only: a walk through the life of one session. Each step names a kind of command and a few numbers; what they
// mean is chosen from what the record holds at that moment, so that most commands fit and many just do not: a former owner,
// a gate of yesterday, a wrong digest, a used key, an execution that is over.
import type { RecordCommand, SlotView, Writer } from "./command.ts";
import type { Millis, SessionRecord } from "./record.ts";
import {
  APPROVAL_EXPIRY_MS,
  aGate,
  aLoss,
  anAdmission,
  anAnswer,
  aPrompt,
  aReady,
  aStop,
  GATEWAY,
  HEIR,
  type Ledger,
  OPTIONS,
  OWNER,
} from "./test-record.ts";

export const STEP_KINDS = [
  "prompt",
  "claim",
  "ready",
  "ask",
  "answer",
  "stop",
  "attempt",
  "return_attempt",
  "admit",
  "admit_cancel",
  "hand_back",
  "report",
  "withdraw",
  "expire",
  "settle",
  "lose",
  "evict",
  "owner_dies",
  "append",
  "deposed",
] as const;
export type StepKind = (typeof STEP_KINDS)[number];
/** `pick` chooses what is meant, `twist` how it is bent: 0 is the ordinary form of most kinds. */
export type Step = { readonly kind: StepKind; readonly pick: number; readonly twist: number };

export type Move = { readonly by: Writer; readonly command: RecordCommand; readonly appended: readonly string[] };

const MINUTE_MS: Millis = 60_000;
const DIGESTS = ["d0", "d1", "d2"];
const FEWER_OPTIONS = OPTIONS.slice(1);

export class Walk {
  readonly #ledger: Ledger;
  readonly #former: Writer[] = [];
  #minted = 0;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** The command of a step, and who gives it; null when the step means nothing yet. */
  move(step: Step): Move | null {
    this.#ledger.now += (step.pick % 3) * MINUTE_MS;
    const { held } = this.#ledger;
    if (held === null) return { by: this.#taker(), command: this.#prompt(step, null), appended: [] };
    this.#remember();
    const command = this.#command(step, held);
    const by = step.kind === "deposed" ? this.#deposed(step) : this.#giver(command, held);
    if (by === null) return null;
    const appended = step.kind === "append" ? held.outbox.slice(0, step.pick % 8).map(({ id }) => id) : [];
    return { by, command, appended };
  }

  #id(kind: string): string {
    this.#minted += 1;
    return `${kind}${this.#minted}`;
  }

  #remember(): void {
    const writer = this.#ledger.record.owner === null ? null : this.#ledger.owner;
    if (writer !== null && JSON.stringify(this.#former.at(-1)) !== JSON.stringify(writer)) this.#former.push(writer);
  }

  #taker(): Writer {
    const { held } = this.#ledger;
    const owner = (held?.epoch ?? 0) % 2 === 0 ? OWNER : HEIR;
    return { kind: "claimant", owner, fromEpoch: held?.epoch ?? 0 };
  }

  /** A runner whose time is over, or one that never owned. */
  #deposed({ pick, twist }: Step): Writer | null {
    if (twist === 3) return { kind: "owner", incarnation: "boot-z", epoch: this.#ledger.record.epoch };
    const former = this.#former.filter(
      (writer) => writer.kind === "owner" && writer.epoch !== this.#ledger.record.epoch,
    );
    return former[pick % Math.max(1, former.length)] ?? null;
  }

  #giver(command: RecordCommand, held: SessionRecord): Writer | null {
    switch (command.type) {
      case "answer":
      case "stop":
      case "attempt":
      case "return_attempt":
      case "settle_ownerless":
        return GATEWAY;
      case "open_turn":
      case "claim":
        return held.owner === null || command.type === "claim" ? this.#taker() : this.#ledger.owner;
      case "expire_gates":
      case "drop_appended":
        return held.owner === null ? GATEWAY : this.#ledger.owner;
      default:
        return held.owner === null ? null : this.#ledger.owner;
    }
  }

  #command(step: Step, held: SessionRecord): RecordCommand {
    const { pick, twist } = step;
    switch (step.kind) {
      case "prompt":
        return this.#prompt(step, held);
      case "claim":
        return { type: "claim" };
      case "ready":
        return held.process === null ? this.#ready(step, held) : this.#ask(step, held);
      case "ask":
        return this.#ask(step, held);
      case "answer":
        return this.#answer(step, held);
      case "stop":
        return this.#stop(step, held);
      case "attempt":
        return {
          type: "attempt",
          commandId:
            twist === 0 ? (held.cancel?.commandId ?? this.#commandId(pick, held)) : this.#commandId(pick, held),
        };
      case "return_attempt":
        return { type: "return_attempt", commandId: this.#commandId(pick, held) };
      case "admit":
        return this.#admit(step, held);
      case "admit_cancel":
        return {
          type: "admit_cancel",
          commandId: twist === 3 ? "nobody's" : (held.cancel?.commandId ?? held.stops.at(-1)?.commandId ?? ""),
          delivery: { incarnation: held.owner?.incarnation ?? "", nonce: this.#id("n") },
          live: held.process !== null,
        };
      case "hand_back":
        return { type: "hand_back", gateId: this.#sentGateId(step, held) };
      case "report":
        return { type: "report_answer", gateId: this.#sentGateId(step, held) };
      case "withdraw":
        return { type: "withdraw_gate", gateId: this.#gateId(pick, held) };
      case "expire":
        if (twist < 2) this.#ledger.now += APPROVAL_EXPIRY_MS / (twist + 1);
        return { type: "expire_gates" };
      case "settle":
        return {
          type: "settle_prompt",
          turnId: twist === 3 ? "another turn" : (held.turn?.turnId ?? ""),
          stopReason: "end_turn",
          agentSessionId: "a1",
        };
      case "lose":
        return aLoss({
          release: twist !== 0,
          ...(twist === 1 ? { restarts: true } : {}),
          reason: pick % 2 === 0 ? "agent_exited" : "drain",
        });
      case "evict":
        return { type: "mark_cold", reason: (["approval_ttl", "memory", "drain"] as const)[pick % 3] ?? "drain" };
      case "owner_dies":
        return {
          type: "settle_ownerless",
          dead: twist === 3 ? { ...OWNER, incarnation: "boot-z" } : (held.owner ?? OWNER),
        };
      case "append":
        return { type: "drop_appended" };
      case "deposed":
        return this.#command({ kind: STEP_KINDS[pick % (STEP_KINDS.length - 1)] ?? "settle", pick, twist: 0 }, held);
    }
  }

  #prompt({ pick, twist }: Step, held: SessionRecord | null) {
    const request = pick % 6;
    const turnId = twist === 1 && held?.next ? held.next.turnId : this.#id("t");
    return aPrompt(turnId, {
      requestId: twist === 2 ? `r${request}` : null,
      contentDigest: `content ${pick % 7 === 0 ? "changed" : request}`,
      warm: held !== null && held.process !== null && twist !== 3,
      onDisconnect: pick % 2 === 0 ? "cancel" : "detach",
    });
  }

  /** The cold start an admission asked for; without one, the start for a prompt. */
  #ready({ pick }: Step, held: SessionRecord) {
    const stored = held.gates.flatMap(({ state }) =>
      state.kind === "answered" && state.answer.disposition.kind === "stored" ? [state.answer.commandId] : [],
    );
    return aReady(this.#id("p"), {
      commandId: stored[pick % Math.max(1, stored.length)] ?? null,
      coldReason: held.coldReason,
    });
  }

  #ask({ pick, twist }: Step, held: SessionRecord) {
    return aGate(this.#id("g"), {
      turnId: twist === 3 && pick % 5 === 0 ? "another turn" : (held.turn?.turnId ?? ""),
      instance: held.process?.instance ?? "unready",
      digest: DIGESTS[pick % DIGESTS.length] ?? "",
      bindable: twist !== 2,
      options: twist === 3 ? FEWER_OPTIONS : OPTIONS,
    });
  }

  #answer({ pick, twist }: Step, held: SessionRecord) {
    const gateId = this.#gateId(pick, held);
    const gate = held.gates.find((open) => open.gateId === gateId);
    const choices = [
      { verdict: "allow" },
      { verdict: "reject" },
      { optionId: "allow-always" },
      { optionId: "none" },
    ] as const;
    const choice = choices[(pick + twist) % (twist === 3 ? 4 : 3)] ?? choices[0];
    const serial = this.#id("a");
    return anAnswer(gateId, {
      choice,
      digest: twist === 3 ? (DIGESTS[pick % 3] ?? null) : (gate?.digest ?? null),
      idempotencyKey: twist === 2 ? `k${pick % 4}` : null,
      contentDigest: `${gateId} ${JSON.stringify(choice)}`,
      note: pick % 4 === 0 ? "not that" : "",
      answerId: serial,
      commandId: `command-${serial}`,
    });
  }

  #stop({ pick, twist }: Step, held: SessionRecord) {
    const current = held.execution?.number ?? 0;
    const why = (["stop", "stop", "disconnect", "close", "interrupt"] as const)[pick % 5] ?? "stop";
    return aStop({
      commandId: this.#id("cancel"),
      why,
      next: why === "interrupt" ? { turnId: this.#id("t"), requestId: null } : null,
      expectedExecution: twist === 1 ? current : twist === 2 ? current - 1 : null,
      idempotencyKey: twist === 3 ? `k${pick % 4}` : null,
      contentDigest: `stop ${pick % 9 === 0 ? "changed" : ""}`,
    });
  }

  /** What the runner sees of the slot is true: a gate is open only in the process that raised it. */
  #admit({ pick, twist }: Step, held: SessionRecord) {
    const commandId = this.#commandId(pick, held);
    const gate = held.gates.find(({ state }) => state.kind === "answered" && state.answer.commandId === commandId);
    const open: SlotView = twist === 3 && pick % 3 === 0 ? "gate_gone" : "gate_open";
    const execution = (held.execution?.number ?? 0) - (twist === 2 ? 1 : 0);
    const delivery = { incarnation: held.owner?.incarnation ?? "", nonce: this.#id("n") };
    return anAdmission(this.#ledger, "", gate?.warm ? open : "process_gone", { commandId, execution, delivery });
  }

  /** Mostly a gate of now, sometimes one that is closed, sometimes none. */
  #gateId(pick: number, held: SessionRecord): string {
    const open = held.gates.map(({ gateId }) => gateId);
    const closed = held.tombstones.map(({ gateId }) => gateId).slice(-4);
    const known = [...open, ...open, ...open, ...closed, "nowhere"];
    return known[pick % known.length] ?? "";
  }

  #sentGateId({ pick, twist }: Step, held: SessionRecord): string {
    const sent = held.gates.find(
      ({ state }) => state.kind === "answered" && state.answer.disposition.kind === "sending",
    );
    return twist === 3 ? this.#gateId(pick, held) : (sent?.gateId ?? "nowhere");
  }

  #commandId(pick: number, held: SessionRecord): string {
    const open = held.gates.flatMap(({ state }) => (state.kind === "answered" ? [state.answer.commandId] : []));
    const closed = held.tombstones.flatMap(({ state }) => (state.kind === "answered" ? [state.answer.commandId] : []));
    const known = [...open, ...open, ...open, ...closed.slice(-2), "nobody's"];
    return known[pick % known.length] ?? "";
  }
}
