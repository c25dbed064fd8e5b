// A slot is one session's seat in this runner's pool, and holds at most one process. It is in exactly one of five states.
//
//              checkout            started           gate_opened
//   (no slot) ----------> starting -------> busy <------------------> waiting
//       ^                                   |  ^   last gate closed      |
//       | closed               prompt_settled  | checkout (warm)         | prompt_settled
//       |                                   v  |                         |
//    closing <---------------------------- idle <------------------------+
//       ^ every state ends here: a reason, one `end` effect, and the seat stays taken until the teardown is over (A1, A4)
//
// A state that cannot be written down cannot happen: only a busy slot stops, only a waiting one has gates, a closing one
// has no prompt, no gate and no clock.
import type { EvictionReason } from "../reasons.ts";
import type { SessionKey } from "../store.ts";
import type { ConfigFingerprint } from "./fingerprint.ts";

declare const slotKeyBrand: unique symbol;
/** (project, session_id) as one string (A2). Only `slotKey` makes one. */
export type SlotKey = string & { readonly [slotKeyBrand]: true };

export function slotKey(session: SessionKey): SlotKey {
  return JSON.stringify([session.project, session.sessionId]) as SlotKey;
}

export function sessionOf(key: SlotKey): SessionKey {
  const [project, sessionId] = JSON.parse(key) as [string, string];
  return { project, sessionId };
}

/** Milliseconds on the shell's monotonic clock. Never compared with another machine's. */
export type Tick = number;

/** A turn's times, already within the server's maxima. 0 keeps nothing (A3). */
export type SlotLimits = { readonly turnLimitMs: number; readonly idleTtlMs: number; readonly approvalTtlMs: number };

/** What a live process can change without a restart (A13): the models and modes its ACP session offers. */
export type Offers = { readonly models: readonly string[]; readonly modes: readonly string[] };

/** What is known of a live process. */
export type Process = {
  /** Minted by the shell for each process: pids come back, this does not. */
  readonly instance: string;
  readonly agent: string;
  /** Another process of this agent can load this session (A5). */
  readonly canLoad: boolean;
  readonly limits: SlotLimits;
  /** What it was started with, or changed to since. */
  readonly config: ConfigFingerprint;
  /** The history the caller will send next, as predicted when the last prompt settled (A14); null: not known. */
  readonly history: string | null;
  readonly offers: Offers;
  /** Of the whole process tree, as last measured; 0 before. */
  readonly memoryBytes: number;
};

/** Runs while the agent works, stands while only humans are waited for (A3). `since`: when it began to run or to stand. */
export type TurnClock = { readonly runs: boolean; readonly since: Tick; readonly ranMs: number };

/** A question this slot's process holds open, or whose answer was just written to it. */
export type SlotGate = { readonly gateId: string; readonly optionIds: readonly string[] };

/**
 * due: the process is checked out and its prompt not written yet. `from` is the idle slot a warm checkout took it from: a
 * checkout that is returned leaves no trace.
 * running: a prompt is with the agent.
 */
export type Prompt = { readonly kind: "due"; readonly from: Idle | null } | { readonly kind: "running" };

/** An eviction the record was asked about (A20), and whether it has refused. Not asked again before `againAt`. */
export type Proposal = { readonly reason: EvictionReason; readonly againAt: Tick; readonly refused: boolean };

/** Seated; the process is being made. Holds from the checkout until the start's outcome. */
export type Starting = { readonly state: "starting"; readonly process: Process; readonly since: Tick };

/** A prompt is due or running, and no gate is open. */
export type Busy = {
  readonly state: "busy";
  readonly process: Process;
  readonly clock: TurnClock;
  readonly prompt: Prompt;
  /** Gates whose answer was written and not reported yet. */
  readonly sending: readonly SlotGate[];
  /** When a Stop was admitted (A10). */
  readonly stoppingSince: Tick | null;
};

/** A prompt is running and at least one gate is open (A19). */
export type Waiting = {
  readonly state: "waiting";
  readonly process: Process;
  /** Stands, since the park, exactly while nothing is sending. */
  readonly clock: TurnClock;
  /** Oldest first. */
  readonly gates: readonly SlotGate[];
  readonly sending: readonly SlotGate[];
  readonly proposal: Proposal | null;
};

/** Alive between turns. */
export type Idle = { readonly state: "idle"; readonly process: Process; readonly since: Tick };

/** The process tree is being ended; the slot counts as gone for its session and as taken for the capacity. */
export type Closing = {
  readonly state: "closing";
  readonly instance: string;
  readonly reason: EvictionReason;
  readonly since: Tick;
  readonly memoryBytes: number;
};

export type LiveSlot = Starting | Busy | Waiting | Idle;
export type Slot = LiveSlot | Closing;
export type SlotState = Slot["state"];

export function instanceOf(slot: Slot): string {
  return slot.state === "closing" ? slot.instance : slot.process.instance;
}

export function memoryOf(slot: Slot): number {
  return slot.state === "closing" ? slot.memoryBytes : slot.process.memoryBytes;
}

export function startClock(now: Tick): TurnClock {
  return { runs: true, since: now, ranMs: 0 };
}

/** The prompt goes on: busy when no gate is open, else waiting, with the clock as A3 wants it. Forgets any proposal. */
export function working(
  slot: Busy | Waiting,
  gates: readonly SlotGate[],
  sending: readonly SlotGate[],
  now: Tick,
): Busy | Waiting {
  if (gates.length === 0) return prompting(slot, sending, now);
  const clock = turned(slot.clock, sending.length > 0, now);
  return { state: "waiting", process: slot.process, clock, gates, sending, proposal: null };
}

/** The prompt goes on without an open gate. */
export function prompting(slot: Busy | Waiting, sending: readonly SlotGate[], now: Tick): Busy {
  const clock = turned(slot.clock, true, now);
  const stoppingSince = slot.state === "busy" ? slot.stoppingSince : null;
  return { state: "busy", process: slot.process, clock, prompt: { kind: "running" }, sending, stoppingSince };
}

function turned(clock: TurnClock, runs: boolean, now: Tick): TurnClock {
  if (clock.runs === runs) return clock;
  return { runs, since: now, ranMs: clock.ranMs + (clock.runs ? Math.max(0, now - clock.since) : 0) };
}
