// Secrets of a start: the catalogue's from their files, read anew each time so that a rotated one is seen, and the caller's
// for MCP servers (C8). Values live in memory only, and are told to whoever redacts.

import { open } from "node:fs/promises";
import type { McpServer, McpValue } from "@holdfast/pool";
import type { AgentMcpServer } from "../acp/agent.ts";

/** Longest value in a file. */
export const SECRET_BYTES = 64 * 1024;

export type Values = ReadonlyMap<string, string>;

/** A secret that cannot be had. The message names it and never holds a value. */
export class SecretMissing extends Error {}

/** The file's content without the end of line that editors put there. Throws SecretMissing. */
export async function readSecret(name: string, file: string): Promise<string> {
  let value: string;
  try {
    await using handle = await open(file, "r");
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(SECRET_BYTES + 1), 0, SECRET_BYTES + 1, 0);
    if (bytesRead > SECRET_BYTES)
      throw new SecretMissing(`the file of secret ${name} is longer than ${SECRET_BYTES} bytes`);
    value = buffer.toString("utf8", 0, bytesRead).replace(/\r?\n$/, "");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new SecretMissing(`the file of secret ${name} cannot be read: ${code}`);
  }
  if (value === "" || value.includes("\0")) throw new SecretMissing(`the file of secret ${name} holds no value`);
  return value;
}

/** The names that MCP servers refer to, each once. */
export function secretsNamed(servers: readonly McpServer[]): readonly string[] {
  const values = servers.flatMap((server) => Object.values(server.transport === "stdio" ? server.env : server.headers));
  return [...new Set(values.flatMap((value) => ("secretName" in value ? [value.secretName] : [])))];
}

/** Throws SecretMissing for a name that has no value. */
export function withSecrets(server: McpServer, secrets: Values): AgentMcpServer {
  if (server.transport !== "stdio") return { ...server, headers: filled(server.headers, secrets) };
  return { ...server, env: filled(server.env, secrets) };
}

function filled(values: Readonly<Record<string, McpValue>>, secrets: Values): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, resolved(value, secrets)]));
}

function resolved(value: McpValue, secrets: Values): string {
  if ("literal" in value) return value.literal;
  const secret = secrets.get(value.secretName);
  if (secret === undefined) throw new SecretMissing(`there is no secret named ${value.secretName}`);
  return secret;
}
