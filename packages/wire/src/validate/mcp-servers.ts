// MCP servers of a config. Their credentials are named, never written down: see credential-name.ts.
import type * as pool from "@holdfast/pool";
import type { HttpMcpServer, McpServer, McpValue, StdioMcpServer } from "@holdfast/proto";
import { credentialArguments, isLiteralCredential, urlHoldsCredential } from "./credential-name.ts";
import { MCP_ARGS, MCP_NAME_CHARACTERS, MCP_SERVERS, MCP_VALUES, PATH_CHARACTERS, URI_CHARACTERS } from "./limits.ts";
import { checkSecretName } from "./secrets.ts";
import { checkNoNul, checkText } from "./text.ts";
import { atKey, type Violations } from "./violations.ts";

const ENVIRONMENT_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const USE_A_SECRET = "is a literal credential: send it in secrets and name it with secret_name";

/** `secretNames`: every name that can be resolved, sent with the call or supplied by the catalogue; null: not known here. */
export function checkMcpServers(
  found: Violations,
  field: string,
  servers: readonly McpServer[],
  secretNames: ReadonlySet<string> | null,
): void {
  if (!found.check(servers.length <= MCP_SERVERS, field, `has more than ${MCP_SERVERS} entries`)) return;
  const names = new Set<string>();
  for (const [index, server] of servers.entries()) {
    const at = `${field}[${index}]`;
    found.check(server.name !== "", `${at}.name`, "is required");
    checkText(found, `${at}.name`, server.name, MCP_NAME_CHARACTERS);
    found.check(server.name === "" || !names.has(server.name), `${at}.name`, "is the name of an earlier server");
    names.add(server.name);
    checkTransport(found, at, server, secretNames);
  }
}

export function plainMcpServers(servers: readonly McpServer[]): readonly pool.McpServer[] {
  return servers.map(({ name, transport }) => {
    if (transport.case === undefined) throw new Error("a checked MCP server has a transport");
    if (transport.case === "stdio") {
      const { command, args, env } = transport.value;
      return { name, transport: "stdio", command, args: [...args], env: plainValues(env) };
    }
    return { name, transport: transport.case, url: transport.value.url, headers: plainValues(transport.value.headers) };
  });
}

function checkTransport(
  found: Violations,
  at: string,
  { transport }: McpServer,
  secretNames: ReadonlySet<string> | null,
): void {
  if (transport.case === undefined) {
    found.add(`${at}.transport`, "needs one of stdio, http, sse");
  } else if (transport.case === "stdio") {
    checkStdio(found, `${at}.stdio`, transport.value);
    checkValues(found, `${at}.stdio.env`, transport.value.env, ENVIRONMENT_NAME, secretNames);
  } else {
    checkUrl(found, `${at}.${transport.case}.url`, transport.value);
    checkValues(found, `${at}.${transport.case}.headers`, transport.value.headers, HEADER_NAME, secretNames);
  }
}

function checkStdio(found: Violations, at: string, server: StdioMcpServer): void {
  found.check(server.command !== "", `${at}.command`, "is required");
  checkText(found, `${at}.command`, server.command, PATH_CHARACTERS);
  if (!found.check(server.args.length <= MCP_ARGS, `${at}.args`, `has more than ${MCP_ARGS} entries`)) return;
  for (const [index, arg] of server.args.entries()) checkNoNul(found, `${at}.args[${index}]`, arg);
  for (const index of credentialArguments(server.args)) {
    found.add(`${at}.args[${index}]`, "is a literal credential: pass it in env, with secret_name");
  }
}

function checkUrl(found: Violations, at: string, server: HttpMcpServer): void {
  if (!found.check(server.url !== "", at, "is required")) return;
  checkText(found, at, server.url, URI_CHARACTERS);
  const url = URL.parse(server.url);
  if (!found.check(url !== null && /^https?:$/.test(url.protocol), at, "is not an http or https URL")) return;
  if (url !== null)
    found.check(!urlHoldsCredential(url), at, "holds a literal credential: use headers, with secret_name");
}

function checkValues(
  found: Violations,
  at: string,
  values: Readonly<Record<string, McpValue>>,
  namePattern: RegExp,
  secretNames: ReadonlySet<string> | null,
): void {
  const entries = Object.entries(values);
  if (!found.check(entries.length <= MCP_VALUES, at, `has more than ${MCP_VALUES} entries`)) return;
  for (const [name, { value }] of entries) {
    const field = atKey(at, name);
    found.check(namePattern.test(name), field, "has a name with characters that are not allowed");
    if (value.case === undefined) found.add(field, "needs one of literal, secret_name");
    else if (value.case === "literal") {
      checkNoNul(found, `${field}.literal`, value.value);
      found.check(!/[\r\n]/.test(value.value) || namePattern !== HEADER_NAME, `${field}.literal`, "has a line break");
      found.check(!isLiteralCredential(name, value.value), `${field}.literal`, USE_A_SECRET);
    } else {
      checkSecretName(found, `${field}.secret_name`, value.value);
      const known = secretNames === null || secretNames.has(value.value);
      found.check(
        known,
        `${field}.secret_name`,
        "names a secret that was not sent and that the agent's catalogue does not supply",
      );
    }
  }
}

function plainValues(values: Readonly<Record<string, McpValue>>): Readonly<Record<string, pool.McpValue>> {
  const entries = Object.entries(values).map(([name, { value }]): [string, pool.McpValue] => [
    name,
    value.case === "secretName" ? { secretName: value.value } : { literal: value.value ?? "" },
  ]);
  return Object.fromEntries(entries);
}
