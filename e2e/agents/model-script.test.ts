// What the scripted model says to a conversation, without a server.

import { expect, test } from "vitest";
import type { ContentPart, Message, ReplyPart } from "./messages.ts";
import { readRequest, scriptedReply } from "./model-script.ts";

const user = (...content: ContentPart[]): Message => ({ role: "user", content });
const said = (text: string): ContentPart => ({ type: "text", text });
const called = (...ids: string[]): Message => ({
  role: "assistant",
  content: ids.map((id) => ({ type: "tool_use", id, name: "Bash", input: { command: "true" } })),
});
const ran = (id: string, text: string): ContentPart => ({ type: "tool_result", tool_use_id: id, content: text });
const failed = (id: string, text: string): ContentPart => ({
  type: "tool_result",
  tool_use_id: id,
  content: [said(text)],
  is_error: true,
});

/** The reply, told as the texts and the commands in their order. */
function reply(messages: readonly Message[], tools: readonly string[] = ["Read", "Bash"]): string[] {
  const request = { model: "m", messages, tools: tools.map((name) => ({ name })) };
  let calls = 0;
  return scriptedReply(readRequest(request), () => `call-${++calls}`).map(tell);
}

function tell(part: ReplyPart): string {
  return part.type === "text" ? part.text : `${part.id} ${part.name} ${part.input.command}`;
}

test("each line of the prompt is said or called, in order", () => {
  expect(reply([user(said("say: first\nbash: date > a\nsay: second"))])).toEqual([
    "first",
    "call-1 Bash date > a",
    "second",
  ]);
});

test("two bash lines are two calls in one response", () => {
  expect(reply([user(said("bash: one\nbash: two"))])).toEqual(["call-1 Bash one", "call-2 Bash two"]);
});

test("results are quoted as allowed or refused", () => {
  const messages = [user(said("bash: one\nbash: two")), called("a", "b"), user(ran("a", "out"), failed("b", "no"))];
  expect(reply(messages)).toEqual(["allowed: out", "refused: no"]);
});

test("what follows next: comes once the calls before it have their results", () => {
  const script = user(said("bash: one\nnext:\nbash: two\nnext:\nsay: end"));
  const first = [script, called("a"), user(ran("a", "1"))];
  expect(reply([script])).toEqual(["call-1 Bash one"]);
  expect(reply(first)).toEqual(["allowed: 1", "call-1 Bash two"]);
  expect(reply([...first, called("b"), user(failed("b", "2"))])).toEqual(["refused: 2", "end"]);
});

test("the same conversation asked twice has the same answer", () => {
  const messages = [user(said("bash: one")), called("a"), user(ran("a", "1"))];
  expect(reply(messages)).toEqual(reply(messages));
});

test("a prompt without commands is echoed", () => {
  expect(reply([user(said("how are you"))])).toEqual(["echo: how are you"]);
});

test("a bare string is a prompt", () => {
  expect(reply([{ role: "user", content: "say: plain" }])).toEqual(["plain"]);
});

test("an earlier prompt is never run again", () => {
  const earlier = [user(said("bash: one")), called("a")];
  const interrupted = user(failed("a", "stop"), said("[Request interrupted by user for tool use]"), said("say: on"));
  expect(reply([...earlier, interrupted])).toEqual(["on"]);
  expect(reply([...earlier, user(failed("a", "stop")), user(said("hello"))])).toEqual(["echo: hello"]);
});

test("the agent's reminders are not the prompt", () => {
  const reminder = said("<system-reminder>bash: never</system-reminder>");
  expect(reply([user(reminder, said("say: mine"))])).toEqual(["mine"]);
  expect(reply([user(said("bash: one")), called("a"), user(ran("a", "1"), reminder)])).toEqual(["allowed: 1"]);
});

test("a call of the agent's own gets a text and never a tool call", () => {
  const prompt = user(said("bash: one"));
  expect(reply([prompt], [])).toEqual(["Scripted model"]);
  expect(reply([prompt], ["Read"])).toEqual(["Scripted model"]);
  expect(reply([prompt, user(said("[SUGGESTION MODE: suggest]"))])).toEqual(["Scripted model"]);
  expect(reply([])).toEqual(["Scripted model"]);
});
