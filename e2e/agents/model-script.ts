// What the scripted model says: a pure function of the conversation it is shown.
//
// The user's prompt is the script. Each line is one command, in order; other lines are ignored:
//   say: TEXT       the model says TEXT
//   bash: COMMAND   the model calls the Bash tool with COMMAND (several lines: several calls in one response)
//   next:           what follows belongs to the next response, given once the calls before it have their results
// When the script is spent the model quotes what the last calls came back with, so that a reader can tell a call that
// ran from one that was refused. A prompt without commands is echoed.
//
// S1 No request is counted: an agent makes calls of its own (titles, summaries, classifiers), and asks again after a
//    broken stream. The place in the script is the number of rounds of tool results since the prompt.
// S2 A request that does not offer the Bash tool, or asks for a suggestion, is such a call of the agent's own. It gets a
//    fixed text and is never given a tool call.
// S3 A prompt that came before the latest one is never run again, also when the agent replays it.

import { type ContentPart, type MessagesRequest, partsOf, type ReplyPart } from "./messages.ts";

/** The tool that `bash:` calls, as the agent names it. */
const BASH_TOOL = "Bash";

/** Said to the agent's own calls (S2). */
const ASIDE = "Scripted model";

/** Texts that the agent adds to a user's message, which no user wrote: reminders and the marks of an interrupted turn. */
const NOT_THE_USER = [/^\s*<system-reminder>/, /^\s*\[Request interrupted/, /^\s*<local-command/];

/** A user's message that the agent writes itself, with every tool on offer, to have the next prompt suggested (S2). */
const NOT_A_PROMPT = /^\s*\[SUGGESTION MODE/;

/** How a call of the agent's own reads. */
const ASIDE_READING: Reading = { prompt: "", rounds: 0, outcomes: [] };

/** What came back for one tool call. */
export interface ToolOutcome {
  readonly toolUseId: string;
  readonly text: string;
  readonly isError: boolean;
}

/** A request as the script understands it. */
export interface Reading {
  /** The latest text a user wrote; empty for a call of the agent's own (S2). */
  readonly prompt: string;
  /** Rounds of tool results since the prompt. */
  readonly rounds: number;
  /** The results of the latest round; empty before the first one. */
  readonly outcomes: readonly ToolOutcome[];
}

/** One command of the script. */
type Command = { readonly verb: "say"; readonly text: string } | { readonly verb: "bash"; readonly command: string };

/** Reads where in the script a request stands. */
export function readRequest(request: MessagesRequest): Reading {
  const offersBash = request.tools?.some((tool) => tool.name === BASH_TOOL) ?? false;
  if (!offersBash) return ASIDE_READING;
  let rounds = 0;
  let outcomes: readonly ToolOutcome[] = [];
  for (const message of request.messages.toReversed()) {
    if (message.role !== "user") continue;
    const parts = partsOf(message);
    const lastResult = parts.findLastIndex((part) => part.type === "tool_result");
    const prompt = userText(parts.slice(lastResult + 1));
    if (NOT_A_PROMPT.test(prompt)) return ASIDE_READING;
    if (prompt !== "") return { prompt, rounds, outcomes };
    if (lastResult < 0) continue;
    if (rounds === 0) outcomes = parts.flatMap(toolOutcome);
    rounds += 1;
  }
  return ASIDE_READING;
}

/** The model's answer. `mintId` names each tool call; ids must differ over the life of an agent's session. */
export function scriptedReply(reading: Reading, mintId: () => string): readonly ReplyPart[] {
  const text = (said: string): ReplyPart => ({ type: "text", text: said });
  if (reading.prompt === "") return [text(ASIDE)];
  const steps = parseScript(reading.prompt);
  if (steps.every((step) => step.length === 0)) return [text(`echo: ${reading.prompt}`)];
  const quotes = reading.outcomes.map((outcome) => text(quote(outcome)));
  const step = steps[reading.rounds] ?? [];
  const said = step.map(
    (command): ReplyPart =>
      command.verb === "say"
        ? text(command.text)
        : {
            type: "tool_use",
            id: mintId(),
            name: BASH_TOOL,
            input: { command: command.command, description: "scripted" },
          },
  );
  return [...quotes, ...said];
}

/** How an outcome is quoted: `allowed: TEXT` for a call that ran, `refused: TEXT` for one that came back as an error. */
function quote(outcome: ToolOutcome): string {
  return `${outcome.isError ? "refused" : "allowed"}: ${outcome.text}`;
}

function parseScript(prompt: string): readonly (readonly Command[])[] {
  const steps: Command[][] = [[]];
  for (const line of prompt.split("\n")) {
    const match = /^\s*(say|bash|next):\s*(.*)$/.exec(line);
    if (match === null) continue;
    const [, verb, rest = ""] = match;
    if (verb === "next") steps.push([]);
    else steps.at(-1)?.push(verb === "say" ? { verb: "say", text: rest } : { verb: "bash", command: rest });
  }
  return steps;
}

function userText(parts: readonly ContentPart[]): string {
  return parts
    .flatMap((part) => (part.type === "text" && !NOT_THE_USER.some((mark) => mark.test(part.text)) ? [part.text] : []))
    .join("\n")
    .trim();
}

function toolOutcome(part: ContentPart): ToolOutcome[] {
  if (part.type !== "tool_result") return [];
  const text =
    typeof part.content === "string"
      ? part.content
      : (part.content ?? []).flatMap((inner) => (inner.type === "text" ? [inner.text] : [])).join("\n");
  return [{ toolUseId: part.tool_use_id, text, isError: part.is_error === true }];
}
