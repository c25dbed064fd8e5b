// The sessions that this runner has something of: made on the first request, forgotten when nothing is left.
import { type PoolEffect, type SessionKey, type SlotKey, sessionOf, slotKey } from "@holdfast/pool";
import type { RunnerWorld } from "../world.ts";
import { proposeEviction } from "./evict.ts";
import { SessionHost } from "./host.ts";
import { endProcess } from "./loss.ts";
import { cancelPrompt, cancelQuestions } from "./stops.ts";

export class SessionHosts {
  private readonly hosts = new Map<SlotKey, SessionHost>();
  private world: RunnerWorld | null = null;

  /** The world holds the hosts' pool, whose effects come here: the circle is closed once, at the start. */
  open(world: RunnerWorld): void {
    this.world = world;
  }

  private get(key: SessionKey): SessionHost {
    const slot = slotKey(key);
    const known = this.hosts.get(slot);
    if (known !== undefined) return known;
    if (this.world === null) throw new Error("the hosts have no world yet");
    const host = new SessionHost(this.world, key);
    this.hosts.set(slot, host);
    return host;
  }

  /** For a call: while it lasts the host stays, whatever leaves it. */
  async using<T>(key: SessionKey, call: (host: SessionHost) => Promise<T>): Promise<T> {
    const host = this.enter(key);
    try {
      return await call(host);
    } finally {
      this.leave(host);
    }
  }

  /** The same for a stream: whoever enters leaves. */
  enter(key: SessionKey): SessionHost {
    const host = this.get(key);
    host.users += 1;
    return host;
  }

  leave(host: SessionHost): void {
    host.users -= 1;
    this.forgetIfEmpty(host);
  }

  forgetIfEmpty(host: SessionHost): void {
    if (host.isEmpty && this.hosts.get(host.slot) === host) this.hosts.delete(host.slot);
  }

  get size(): number {
    return this.hosts.size;
  }

  all(): readonly SessionHost[] {
    return [...this.hosts.values()];
  }

  /** Begins an effect of the pool. Never calls the pool before it has returned. */
  begin(effect: PoolEffect): void {
    const host = this.get(sessionOf(effect.key));
    switch (effect.kind) {
      case "start":
        // Begun by the checkout that seated it, after its turn is in the record (E1).
        break;
      case "end":
        endProcess(host, effect.instance, effect.reason);
        break;
      case "cancel_gates":
        cancelQuestions(host, effect.instance, effect.gateIds);
        break;
      case "cancel_prompt":
        cancelPrompt(host, effect.instance);
        break;
      case "propose_eviction":
        proposeEviction(host, effect.instance, effect.reason);
        break;
      case "ask_again":
        host.waiting.wake();
        break;
    }
  }
}
