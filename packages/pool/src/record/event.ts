// Events that tell of a state (D14). Each is put into the record by the swap that makes it true, under an id made from what
// it tells; whoever holds the epoch appends it to the log. Content events (messages, tool calls) never come this way.
import type { ColdReason, GateCloseReason, Outcome, Tier, Verdict } from "../reasons.ts";
import type { Gate, Millis, TurnError } from "./record.ts";

/** What never changes about a gate. */
export type OpenedGate = Omit<Gate, "state" | "warm">;

export type StateEvent = {
  /** `<type>:<what it tells of>`: appending it twice is recognised by this. */
  readonly id: string;
  readonly turnId: string;
  readonly execution: number;
  readonly at: Millis;
  readonly tell: Tell;
};

export type Tell =
  /** `preview` is the prompt's text, cut; the appender that still holds the prompt puts the whole in its place. */
  | { readonly type: "prompt"; readonly preview: string; readonly truncated: boolean; readonly principal: string }
  | { readonly type: "started"; readonly tier: Tier; readonly coldReason: ColdReason | null; readonly runner: string }
  /** The gate as it opened; the appender puts the whole call of event `gate.callSeq` in place of the preview. */
  | { readonly type: "gate_opened"; readonly gate: OpenedGate }
  | {
      readonly type: "gate_answered";
      readonly gateId: string;
      readonly answerId: string;
      readonly verdict: Verdict;
      readonly optionId: string;
    }
  | { readonly type: "gate_closed"; readonly gateId: string; readonly reason: GateCloseReason }
  | { readonly type: "continued"; readonly commandId: string; readonly tier: Tier }
  | { readonly type: "recoverable"; readonly commandId: string; readonly reason: string }
  | {
      readonly type: "ended";
      readonly outcome: Outcome;
      readonly stopReason: string;
      readonly error: TurnError | null;
      /** Answer ids. */
      readonly moot: readonly string[];
      readonly uncertain: readonly string[];
    };
