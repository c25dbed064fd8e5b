import { CONFIG_BYTES } from "@holdfast/pool";
import { PermissionEffect } from "@holdfast/proto";
import { describe, expect, test } from "vitest";
import * as limit from "./limits.ts";
import { entries, fields, many, RULES, type RunTurnInit, runTurn, value } from "./request.fixture.ts";

describe("a config", () => {
  const config = (init: RunTurnInit["config"]) => runTurn({ config: init });
  const stdio = (env: Record<string, { value: { case: "literal" | "secretName"; value: string } }>) =>
    config({ mcpServers: [{ name: "m", transport: { case: "stdio", value: { command: "c", env } } }] });

  test("of at most 256 KiB as it is stored is kept whole; a larger one is CONFIG_TOO_LARGE, not cut", () => {
    const overhead = JSON.stringify(value(config({})).config).length;
    expect(value(config({ systemPrompt: many(CONFIG_BYTES - overhead) })).config?.systemPrompt).toHaveLength(
      CONFIG_BYTES - overhead,
    );
    const result = config({ systemPrompt: many(CONFIG_BYTES - overhead + 1) });
    expect(fields(result)).toEqual(["CONFIG_TOO_LARGE"]);
    expect(result).toMatchObject({ refusal: { metadata: { session_id: "s-1", bytes: String(CONFIG_BYTES + 1) } } });
  });

  test("refuses a literal credential in a header or a variable, and takes it by a secret's name", () => {
    const literal = { value: { case: "literal", value: "v" } } as const;
    expect(fields(stdio({ GITHUB_TOKEN: literal }))).toEqual([
      'config.mcp_servers[0].stdio.env["GITHUB_TOKEN"].literal',
    ]);
    expect(fields(stdio({ MAX_TOKENS: literal, HOME: literal, TOKEN_FILE: literal }))).toEqual([]);
    expect(fields(stdio({ X: { value: { case: "literal", value: "Bearer abc" } } }))).toHaveLength(1);
    expect(fields(stdio({ GITHUB_TOKEN: { value: { case: "secretName", value: "CATALOGUE_KEY" } } }))).toEqual([]);
  });

  test("names only secrets that were sent or that the catalogue supplies", () => {
    const named = { K: { value: { case: "secretName", value: "NOBODY" } } } as const;
    expect(fields(stdio(named))).toEqual(['config.mcp_servers[0].stdio.env["K"].secret_name']);
    const init: RunTurnInit = {
      config: { mcpServers: [{ name: "m", transport: { case: "stdio", value: { command: "c", env: named } } }] },
    };
    expect(fields(runTurn({ ...init, secrets: { NOBODY: { value: "v" } } }))).toEqual([]);
    expect(fields(runTurn(init, { ...RULES, catalogueSecretNames: null }))).toEqual([]);
  });

  test("checks the shape of every MCP server", () => {
    const result = config({
      mcpServers: [
        { name: "", transport: { case: undefined } },
        { name: "twice", transport: { case: "stdio", value: { command: "" } } },
        { name: "twice", transport: { case: "sse", value: { url: "ftp://host" } } },
        {
          name: "h",
          transport: {
            case: "http",
            value: { url: "https://host", headers: { "a b": { value: { case: "literal", value: "x\r\ny" } } } },
          },
        },
      ],
    });
    expect(fields(result)).toEqual([
      "config.mcp_servers[0].name",
      "config.mcp_servers[0].transport",
      "config.mcp_servers[1].stdio.command",
      "config.mcp_servers[2].name",
      "config.mcp_servers[2].sse.url",
      'config.mcp_servers[3].http.headers["a b"]',
      'config.mcp_servers[3].http.headers["a b"].literal',
    ]);
  });

  test.each([
    ["", []],
    ["sub/dir", []],
    ["/root/below", []],
    ["../up", ["config.working_directory"]],
    ["a/../../b", ["config.working_directory"]],
    ["/root/../etc", ["config.working_directory"]],
    ["a\u0000b", ["config.working_directory"]],
    ["..dots", []],
  ])("working directory %j: violations %j", (workingDirectory, expected) => {
    expect(fields(config({ workingDirectory }))).toEqual(expected);
  });

  test("takes no permission rule without an effect, with nothing to match, or with a broken pattern", () => {
    const rule = { effect: PermissionEffect.ASK, toolKind: "execute" };
    expect(fields(config({ permissionRules: [rule] }))).toEqual([]);
    expect(fields(config({ permissionRules: [{ ...rule, effect: PermissionEffect.UNSPECIFIED }] }))).toEqual([
      "config.permission_rules[0].effect",
    ]);
    expect(fields(config({ permissionRules: [{ effect: PermissionEffect.ALLOW }] }))).toEqual([
      "config.permission_rules[0]",
    ]);
    expect(fields(config({ permissionRules: [{ ...rule, argumentPattern: "(" }] }))).toEqual([
      "config.permission_rules[0].argument_pattern",
    ]);
    const tooMany = Array.from({ length: limit.PERMISSION_RULES + 1 }, () => rule);
    expect(fields(config({ permissionRules: tooMany }))).toEqual(["config.permission_rules"]);
  });

  test("has at most 32 MCP servers, with bounded arguments and values", () => {
    const servers = (count: number) =>
      Array.from({ length: count }, (_, at) => ({
        name: `m${at}`,
        transport: { case: "stdio", value: { command: "c" } } as const,
      }));
    expect(fields(config({ mcpServers: servers(limit.MCP_SERVERS) }))).toEqual([]);
    expect(fields(config({ mcpServers: servers(limit.MCP_SERVERS + 1) }))).toEqual(["config.mcp_servers"]);
    const args = Array.from({ length: limit.MCP_ARGS + 1 }, () => "a");
    const env = entries(limit.MCP_VALUES + 1, { value: { case: "literal", value: "v" } } as const);
    const result = config({
      mcpServers: [{ name: "m", transport: { case: "stdio", value: { command: "c", args, env } } }],
    });
    expect(fields(result)).toEqual(["config.mcp_servers[0].stdio.args", "config.mcp_servers[0].stdio.env"]);
  });
});
