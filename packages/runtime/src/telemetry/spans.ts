// Every span we make, by name, with what may stand on it. Ids belong here and in the log, never on a metric; content
// (prompts, arguments, answers' notes, secrets) belongs nowhere.

import type { ColdReason, EvictionReason, RefusalReason, Tier } from "@holdfast/pool";
import {
  EXECUTE_TOOL,
  GEN_AI_AGENT_NAME,
  GEN_AI_CONVERSATION_ID,
  GEN_AI_OPERATION_NAME,
  GEN_AI_TOOL_CALL_ID,
  GEN_AI_TOOL_NAME,
  INVOKE_AGENT,
} from "./conventions.ts";
import type { AnswerOutcome, CheckoutCause, CheckoutOutcome, DeliveryResult } from "./labels.ts";

/** What every span of a session may carry. */
export interface SessionAttributes {
  readonly project?: string;
  readonly session?: string;
  readonly turn?: string;
  readonly execution?: number;
  readonly agent?: string;
}

/** What may stand on the span of each name. What is not known at its start is set later. */
export interface SpanShapes {
  /** Finding a process for a prompt or an answer, until it can be written to. */
  "holdfast.session.checkout": SessionAttributes & {
    readonly cause?: CheckoutCause;
    readonly outcome?: CheckoutOutcome;
    readonly tier?: Tier;
    readonly coldReason?: ColdReason | null;
  };
  /** From the spawn until the agent's session is ready. */
  "holdfast.agent.start": SessionAttributes & { readonly tier?: Tier; readonly pid?: number };
  /** An execution that parks: `gates` are open. */
  "holdfast.session.park": SessionAttributes & { readonly gates?: number };
  /** An answer's way from its admission to the agent. */
  "holdfast.session.continue": SessionAttributes & {
    readonly command?: string;
    readonly gate?: string;
    readonly tier?: Tier;
    readonly coldReason?: ColdReason | null;
  };
  /** The end of a live process by the pool. A root span: it happens outside of any call. */
  "holdfast.session.evict": SessionAttributes & { readonly reason: EvictionReason; readonly pid?: number };
  /** An answer from its checks until it is durable or refused. */
  "holdfast.approval.answer": SessionAttributes & {
    readonly gate?: string;
    readonly answer?: string;
    readonly outcome?: AnswerOutcome;
    readonly reason?: RefusalReason;
  };
  "holdfast.owner.claim": SessionAttributes & {
    readonly runner?: string;
    readonly incarnation?: string;
    readonly epoch?: number;
    readonly reason?: string;
  };
  /** One attempt to bring a command to its owner. */
  "holdfast.command.deliver": SessionAttributes & {
    readonly command?: string;
    readonly runner?: string;
    readonly attempt: number;
    readonly result?: DeliveryResult;
  };
  /** One execution: named with the agent. */
  invoke_agent: SessionAttributes & { readonly agent: string; readonly stopReason?: string };
  /** One tool call: `tool` is the tool's name or kind, never its title, which may hold arguments. */
  execute_tool: SessionAttributes & { readonly tool: string; readonly toolCall?: string; readonly status?: string };
}

export type SpanName = keyof SpanShapes;

type AttributeKey = { [Name in SpanName]: keyof SpanShapes[Name] }[SpanName];
type AttributeValues = Readonly<Partial<Record<AttributeKey, string | number | null | undefined>>>;

const ATTRIBUTE_NAMES: Readonly<Record<AttributeKey, string>> = {
  project: "holdfast.project",
  session: "holdfast.session.id",
  turn: "holdfast.turn.id",
  execution: "holdfast.execution",
  agent: GEN_AI_AGENT_NAME,
  cause: "holdfast.cause",
  outcome: "holdfast.outcome",
  tier: "holdfast.tier",
  coldReason: "holdfast.cold_reason",
  reason: "holdfast.reason",
  pid: "holdfast.agent.pid",
  gates: "holdfast.gates",
  gate: "holdfast.gate.id",
  answer: "holdfast.answer.id",
  command: "holdfast.command.id",
  attempt: "holdfast.attempt",
  result: "holdfast.result",
  runner: "holdfast.runner",
  incarnation: "holdfast.incarnation",
  epoch: "holdfast.epoch",
  stopReason: "holdfast.stop_reason",
  tool: GEN_AI_TOOL_NAME,
  toolCall: GEN_AI_TOOL_CALL_ID,
  status: "holdfast.tool.status",
};

/** An agent's or a tool's name in a span's name: both come from outside. */
const NAME_CHARACTERS = 64;

/** The attributes as they are exported; what is null or absent is left out. */
export function exported(attributes: AttributeValues): Record<string, string | number> {
  const named: Record<string, string | number> = {};
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) named[ATTRIBUTE_NAMES[key as AttributeKey]] = value;
  }
  return named;
}

/** A span's full name and attributes at its start. */
export function begun<N extends SpanName>(
  name: N,
  attributes: SpanShapes[N],
): { name: string; attributes: Record<string, string | number> } {
  const named = exported(attributes);
  if (name !== INVOKE_AGENT && name !== EXECUTE_TOOL) return { name, attributes: named };
  const { session, agent, tool } = attributes as { session?: string; agent?: string; tool?: string };
  named[GEN_AI_OPERATION_NAME] = name;
  if (session !== undefined) named[GEN_AI_CONVERSATION_ID] = session;
  const subject = (name === INVOKE_AGENT ? agent : tool) ?? "";
  return { name: `${name} ${subject.slice(0, NAME_CHARACTERS)}`.trimEnd(), attributes: named };
}
