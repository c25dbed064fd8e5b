// What a live process is compared by before a new prompt goes to it (A13, A14). These are the canonical texts; the shell
// keeps and compares their hashes.
//
// F1  Key order, the order of the servers, trace context, request ids and callback tokens do not show; nor does a secret's value,
//     which this code never gets. Everything else of the configuration shows.
// F2  Model and mode stand apart, because a change of these alone may be applied to the live process.
// F3  The prediction made when a prompt settles equals the fingerprint of the history the caller then sends, however it is
//     cut into messages: park(whole) = check(prior).
// F4  An edited, dropped, added or moved user text, attachment or tool call shows in the history's fingerprint.
import { canonicalJson, type Json } from "../canonical.ts";
import type { McpServer, McpValue, SessionConfig } from "../record/record.ts";

export type ConfigFingerprint = { readonly base: string; readonly model: string; readonly mode: string };

/** Members of a server's environment, headers or query that differ from call to call. Compared in lower case, - read as _. */
const PER_CALL_NAMES: ReadonlySet<string> = new Set([
  "traceparent",
  "tracestate",
  "baggage",
  "b3",
  "x_b3_traceid",
  "x_b3_spanid",
  "x_b3_sampled",
  "request_id",
  "x_request_id",
  "correlation_id",
  "x_correlation_id",
  "callback_token",
  "x_callback_token",
]);

/** `workingDirectory`: as the process gets it, after the agent's catalogue was applied. */
export function configFingerprint(agent: string, config: SessionConfig, workingDirectory: string): ConfigFingerprint {
  const base = canonicalJson({
    agent,
    systemPrompt: config.systemPrompt,
    mcpServers: config.mcpServers.map(lasting).sort(byText),
    workingDirectory,
    permissionRules: config.permissionRules,
  });
  return { base, model: config.model, mode: config.mode };
}

/** A server's part of the configuration, without what belongs to one call only. */
function lasting(server: McpServer): Json {
  const { name, transport } = server;
  if (server.transport === "stdio") {
    return {
      name,
      transport,
      command: server.command,
      args: server.args,
      env: lastingValues(server.env, (key) => key),
    };
  }
  const headers = lastingValues(server.headers, (key) => key.toLowerCase());
  return { name, transport, url: lastingUrl(server.url), headers };
}

function lastingValues(values: Readonly<Record<string, McpValue>>, spelled: (name: string) => string): Json {
  const kept = Object.entries(values).filter(([name]) => !isPerCall(name));
  return Object.fromEntries(kept.map(([name, value]) => [spelled(name), value]));
}

/** Without user and password, and without query members of one call. */
function lastingUrl(url: string): string {
  const withoutUser = url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, "$1");
  const queryAt = withoutUser.indexOf("?");
  if (queryAt < 0) return withoutUser;
  const members = withoutUser.slice(queryAt + 1).split("&");
  const kept = members.filter((member) => !isPerCall(member.split("=")[0] ?? "")).join("&");
  return withoutUser.slice(0, queryAt) + (kept === "" ? "" : `?${kept}`);
}

function isPerCall(name: string): boolean {
  return PER_CALL_NAMES.has(name.toLowerCase().replaceAll("-", "_"));
}

function byText(a: Json, b: Json): number {
  const [left, right] = [canonicalJson(a), canonicalJson(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** One message of a conversation, from the caller's history or from a turn that ran here. */
export type HistoryMessage = {
  readonly role: "user" | "assistant";
  readonly content: readonly HistoryBlock[];
  /** In the order in which the message names them; a call may be named again by its updates and its result. */
  readonly toolCallIds: readonly string[];
};
export type HistoryBlock = { readonly text: string } | { readonly attachmentDigest: string };

/** What of a conversation shows in its fingerprint, in order. */
export type HistoryMark = readonly ["text" | "attachment" | "call", string];
export type HistoryTrail = readonly HistoryMark[];

/** Goes on with a trail. A turn that ran here adds its prompt as a user message and its tool calls as they were announced. */
export function extendTrail(trail: HistoryTrail, messages: readonly HistoryMessage[]): HistoryTrail {
  const marks: HistoryMark[] = [...trail];
  const seen = new Set(trail.filter(([kind]) => kind === "call").map(([, id]) => id));
  for (const message of messages) {
    if (message.role === "user") marks.push(...message.content.flatMap(userMark));
    for (const id of message.toolCallIds) {
      if (seen.has(id)) continue;
      seen.add(id);
      marks.push(["call", id]);
    }
  }
  return marks;
}

function userMark(block: HistoryBlock): HistoryMark[] {
  if ("attachmentDigest" in block) return [["attachment", block.attachmentDigest]];
  return block.text.trim() === "" ? [] : [["text", block.text]];
}

/** The canonical text of a trail: of what the caller sent when a prompt comes, of the whole when it has settled. */
export function historyFingerprint(trail: HistoryTrail): string {
  return canonicalJson(trail);
}
