// What an agent says, and whether its session is told of it. A process is heard from its start to its end; sessions listen
// only in between.
//
//   starting ──▶ replaying (only after load) ──▶ open ──▶ closed
//
// H1  Before the session is ready nothing is told, and a permission request is answered `cancelled` at once (B2).
// H2  A loaded session is told nothing of its replay: that ends with the first prompt, and the start waits until the agent
//     has fallen silent, because some go on replaying after they said that they were done (B5).
// H3  After the end nothing is told: what an ended process said cannot reach its successor.
// H4  A listener that throws is a bug of ours: it ends the program instead of vanishing in the SDK.

import type { AgentListener, ContentEvent, PermissionAsk, PromptResult } from "./agent.ts";
import { permissionRequestShape, updateNotificationShape } from "./shapes.ts";
import type { Noise } from "./stdout.ts";
import { exactToolCall } from "./tool-call.ts";
import { toContentEvent } from "./updates.ts";

type Phase = "starting" | "replaying" | "open" | "closed";

/** What a permission request turned out to be. */
export type Heard =
  | { readonly kind: "ask"; readonly ask: PermissionAsk }
  /** Nobody may decide on it now. */
  | { readonly kind: "too_early" }
  | { readonly kind: "malformed" };

export class Hearing {
  readonly noise: NoiseCount;
  readonly #listener: AgentListener;
  #phase: Phase = "starting";
  #sessionId: string | null = null;
  /** How many updates came, told or not. */
  #updates = 0;

  constructor(listener: AgentListener, noise: NoiseCount) {
    this.#listener = listener;
    this.noise = noise;
  }

  get updates(): number {
    return this.#updates;
  }

  /** From here on updates of other sessions are foreign. */
  belongTo(sessionId: string): void {
    this.#sessionId = sessionId;
  }

  ready(tier: "load" | "new"): void {
    this.#phase = tier === "load" ? "replaying" : "open";
  }

  prompted(): void {
    if (this.#phase === "replaying") this.#phase = "open";
  }

  close(): void {
    this.#phase = "closed";
  }

  update(params: unknown): void {
    this.#updates += 1;
    const heard = this.#read(params);
    if (typeof heard === "string") this.noise.hear(heard);
    else this.tells(heard);
  }

  #read(params: unknown): ContentEvent | Noise {
    const parsed = updateNotificationShape.safeParse(params);
    if (!parsed.success) return "malformed";
    if (this.#isForeign(parsed.data.sessionId)) return "foreign_session";
    if (this.#phase !== "open") return "early";
    return toContentEvent(parsed.data.update) ?? "malformed";
  }

  tells(event: ContentEvent): void {
    if (this.#phase === "open") this.#tell((listener) => listener.update(event));
  }

  /** Reads a request; `tellAsk` tells of it, once it can be answered. */
  request(params: unknown, askId: string): Heard {
    const parsed = permissionRequestShape.safeParse(params);
    const toolCall = parsed.success ? exactToolCall(parsed.data.toolCall) : null;
    if (!parsed.success || toolCall === null || this.#isForeign(parsed.data.sessionId)) {
      this.noise.hear("malformed");
      return { kind: "malformed" };
    }
    if (this.#phase === "starting" || this.#phase === "closed") return { kind: "too_early" };
    return {
      kind: "ask",
      ask: { askId, toolCall, toolName: parsed.data.toolCall.name ?? "", options: parsed.data.options },
    };
  }

  asks(ask: PermissionAsk): void {
    this.#tell((listener) => listener.asks(ask));
  }

  withdraws(askId: string): void {
    if (this.#phase !== "closed") this.#tell((listener) => listener.withdraws(askId));
  }

  settled(result: PromptResult): void {
    if (this.#phase !== "closed") this.#tell((listener) => listener.settled(result));
  }

  dropped(bytes: number): void {
    if (this.#phase === "open") this.#tell((listener) => listener.dropped(bytes));
    else this.noise.hear("early");
  }

  /** The last thing that is told. */
  exited(exit: Parameters<AgentListener["exited"]>[0]): void {
    const isClosed = this.#phase === "closed";
    this.close();
    if (!isClosed) this.#tell((listener) => listener.exited(exit));
  }

  #isForeign(sessionId: string): boolean {
    return this.#sessionId !== null && sessionId !== this.#sessionId;
  }

  #tell(tell: (listener: AgentListener) => void): void {
    try {
      tell(this.#listener);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

/** Counts what is no message: the first of each kind is reported when it comes, the sums when the process has gone. */
export class NoiseCount {
  readonly #report: (kind: Noise, count: number) => void;
  readonly #counts = new Map<Noise, number>();

  constructor(report: (kind: Noise, count: number) => void) {
    this.#report = report;
  }

  hear(kind: Noise): void {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    if (count === 1) this.#report(kind, count);
  }

  sumUp(): void {
    for (const [kind, count] of this.#counts) if (count > 1) this.#report(kind, count);
    this.#counts.clear();
  }
}
