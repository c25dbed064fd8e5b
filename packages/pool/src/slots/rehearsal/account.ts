// What a shell would see of a pool's steps, kept without looking into the pool: which processes live, which prompts run,
// which gates are open or sending. It throws as soon as a step tells something that cannot be.
import type { PoolInput } from "../input.ts";
import type { PoolEffect, PoolReply } from "../reply.ts";
import type { SlotKey } from "../slot.ts";

type Lived = {
  readonly key: SlotKey;
  prompt: "none" | "due" | "running";
  stopping: boolean;
  ended: boolean;
  readonly open: Set<string>;
  readonly sending: Set<string>;
};

export class Account {
  /** By instance; from its `start` until its `closed`. */
  readonly #alive = new Map<string, Lived>();
  readonly #maxLive: number;

  constructor(maxLive: number) {
    this.#maxLive = maxLive;
  }

  note(input: PoolInput, reply: PoolReply, effects: readonly PoolEffect[]): void {
    if (reply.kind === "warm") this.#checksOut(reply.instance);
    if (reply.kind !== "ignored" && "instance" in input && input.kind !== "checkout") this.#noteReply(input, reply);
    for (const effect of effects) this.#noteEffect(effect);
    if (input.kind === "closed" && reply.kind === "done") {
      must(this.#lived(input.instance).ended, "a teardown nobody asked for");
      this.#alive.delete(input.instance);
    }
  }

  #noteReply(input: Exclude<PoolInput & { instance: string }, { kind: "checkout" }>, reply: PoolReply): void {
    if (reply.kind === "gone" || reply.kind === "refused") return;
    const lived = this.#lived(input.instance);
    if (input.kind === "started") this.#checksOut(input.instance);
    else if (reply.kind === "settled") settles(lived, reply.slot, reply.gateIds, reply.sendingGateIds);
    else if (reply.kind === "stopping") stops(lived, reply.settled, reply.gateIds);
    else if (reply.kind === "opened" && input.kind === "gate_opened") opens(lived, input.gateId);
    else if (reply.kind === "open" && input.kind === "answer") {
      must(lived.open.has(input.gateId) && !lived.ended, "an answer to a gate that is not open");
    } else if (reply.kind === "done" && "gateId" in input) movesGate(lived, input.kind, input.gateId);
    else if (input.kind === "checkout_returned") {
      must(lived.prompt !== "running", "a running prompt was given back");
      lived.prompt = "none";
    } else if (input.kind === "prompt_started") {
      must(lived.prompt === "due", "a prompt that was not due");
      lived.prompt = "running";
    }
  }

  #checksOut(instance: string): void {
    const lived = this.#lived(instance);
    must(lived.prompt === "none" && !lived.ended, "a second prompt on a process");
    lived.prompt = "due";
  }

  #noteEffect(effect: PoolEffect): void {
    if (effect.kind === "start") this.#starts(effect.instance, effect.key);
    if (effect.kind === "start" || effect.kind === "ask_again") return;
    const lived = this.#lived(effect.instance);
    must(lived.key === effect.key && !lived.ended, `${effect.kind} on an ended process`);
    if (effect.kind !== "end") return;
    const forRest = effect.reason === "lru" || effect.reason === "idle_ttl";
    must(!forRest || lived.prompt === "none", `${effect.reason} on a process at work`);
    lived.ended = true;
  }

  #starts(instance: string, key: SlotKey): void {
    must(!this.#alive.has(instance), "a process started twice");
    for (const lived of this.#alive.values()) must(lived.key !== key, "a rival process of the same session");
    const unborn = { prompt: "none", stopping: false, ended: false } as const;
    this.#alive.set(instance, { key, ...unborn, open: new Set(), sending: new Set() });
    must(this.#alive.size <= this.#maxLive, "more processes than the pool may have");
  }

  #lived(instance: string): Lived {
    const lived = this.#alive.get(instance);
    if (lived === undefined) throw new Error(`${instance} is no live process`);
    return lived;
  }
}

function settles(lived: Lived, slot: string, open: readonly string[], sending: readonly string[]): void {
  must(lived.prompt === "running" && !lived.ended, "a prompt settled that did not run");
  must(same(lived.open, open) && same(lived.sending, sending), "gates forgotten when the prompt settled");
  lived.open.clear();
  lived.sending.clear();
  must(slot !== "due" || !lived.stopping, "another prompt after a Stop");
  lived.stopping = false;
  lived.prompt = slot === "due" ? "due" : "none";
}

function stops(lived: Lived, settled: boolean, gateIds: readonly string[]): void {
  must(!lived.stopping && settled === (lived.prompt !== "running"), "a Stop of the wrong kind");
  must(same(lived.open, gateIds), "a gate left open by a Stop");
  lived.open.clear();
  if (settled) lived.prompt = "none";
  else lived.stopping = true;
}

function opens(lived: Lived, gateId: string): void {
  must(lived.prompt === "running" && !lived.stopping && !lived.ended, "a gate opened outside a running prompt");
  must(!lived.open.has(gateId) && !lived.sending.has(gateId), "a gate opened twice");
  lived.open.add(gateId);
}

function movesGate({ open, sending }: Lived, kind: PoolInput["kind"], gateId: string): void {
  if (kind === "gate_consumed") {
    must(open.delete(gateId), "a gate consumed that was not open");
    sending.add(gateId);
  } else if (kind === "gate_closed") {
    must(open.delete(gateId) || sending.delete(gateId), "a gate closed that was not held");
  } else {
    must(sending.delete(gateId), "an answer reported that was not sending");
    if (kind === "answer_handed_back") open.add(gateId);
  }
}

function same(held: ReadonlySet<string>, told: readonly string[]): boolean {
  return held.size === told.length && told.every((gateId) => held.has(gateId));
}

function must(truth: boolean, what: string): void {
  if (!truth) throw new Error(what);
}
