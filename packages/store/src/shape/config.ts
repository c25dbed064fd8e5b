// The shape of a session's configuration (C8) inside its record.
import { z } from "zod";
import { count } from "./value.ts";

const mcpValueShape = z.union([z.object({ literal: z.string() }), z.object({ secretName: z.string() })], {
  error: "expected a literal or a secretName",
});

const mcpServerShape = z.discriminatedUnion("transport", [
  z.object({
    name: z.string(),
    transport: z.literal("stdio"),
    command: z.string(),
    args: z.array(z.string()),
    env: z.record(z.string(), mcpValueShape),
  }),
  z.object({
    name: z.string(),
    transport: z.enum(["http", "sse"]),
    url: z.string(),
    headers: z.record(z.string(), mcpValueShape),
  }),
]);

const permissionRuleShape = z.object({
  effect: z.enum(["ask", "allow", "reject"]),
  toolKind: z.string(),
  toolName: z.string(),
  argumentPattern: z.string(),
});

export const configShape = z.object({
  model: z.string(),
  mode: z.string(),
  systemPrompt: z.string(),
  mcpServers: z.array(mcpServerShape),
  workingDirectory: z.string(),
  permissionRules: z.array(permissionRuleShape),
  limits: z.object({ turnLimitMs: count, idleTtlMs: count, approvalTtlMs: count }),
});
