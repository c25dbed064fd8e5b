// A session's configuration as the caller sends it.
import type * as pool from "@holdfast/pool";
import { CONFIG_BYTES, canonicalJson, type Refusal, refusal } from "@holdfast/pool";
import type { PermissionRule, SessionConfig } from "@holdfast/proto";
import { permissionEffects } from "../enums/request.ts";
import { MODEL_CHARACTERS, PATH_CHARACTERS, PERMISSION_RULES, RULE_TEXT_CHARACTERS } from "./limits.ts";
import { checkMcpServers, plainMcpServers } from "./mcp-servers.ts";
import { bytesOf, checkNoNul, checkText } from "./text.ts";
import type { Violations } from "./violations.ts";

/** The record's configuration without the limits, which are a field of their own in the request. */
export type RequestedConfig = Omit<pool.SessionConfig, "limits">;

export function checkConfig(
  found: Violations,
  field: string,
  config: SessionConfig,
  secretNames: ReadonlySet<string> | null,
): void {
  checkText(found, `${field}.model`, config.model, MODEL_CHARACTERS);
  checkText(found, `${field}.mode`, config.mode, MODEL_CHARACTERS);
  checkNoNul(found, `${field}.system_prompt`, config.systemPrompt);
  checkMcpServers(found, `${field}.mcp_servers`, config.mcpServers, secretNames);
  checkWorkingDirectory(found, `${field}.working_directory`, config.workingDirectory);
  checkRules(found, `${field}.permission_rules`, config.permissionRules);
}

export function plainConfig(config: SessionConfig): RequestedConfig {
  return {
    model: config.model,
    mode: config.mode,
    systemPrompt: config.systemPrompt,
    mcpServers: plainMcpServers(config.mcpServers),
    workingDirectory: config.workingDirectory,
    permissionRules: config.permissionRules.map(plainRule),
  };
}

/** C8: a config that cannot be kept whole is refused, never cut. Measured as it is stored: canonical JSON, UTF-8. */
export function configTooLarge(config: RequestedConfig, sessionId: string): Refusal | null {
  const bytes = bytesOf(canonicalJson(config));
  if (bytes <= CONFIG_BYTES) return null;
  return refusal(
    "CONFIG_TOO_LARGE",
    `The config of session ${sessionId} has ${bytes} bytes; at most ${CONFIG_BYTES} can be kept. Nothing was written.`,
    "Make it smaller: a large system prompt can be a file in the working directory.",
    { session_id: sessionId, bytes: String(bytes), limit_bytes: String(CONFIG_BYTES) },
  );
}

/**
 * Relative to the session's directory, or absolute (then the runner checks it against the roots its catalogue names). No
 * `..` in either: behind a symbolic link it would leave the directory it seems to stay in.
 */
function checkWorkingDirectory(found: Violations, field: string, path: string): void {
  checkText(found, field, path, PATH_CHARACTERS);
  found.check(!path.split(/[/\\]/).includes(".."), field, "must not have a .. segment");
}

function checkRules(found: Violations, field: string, rules: readonly PermissionRule[]): void {
  if (!found.check(rules.length <= PERMISSION_RULES, field, `has more than ${PERMISSION_RULES} entries`)) return;
  for (const [index, rule] of rules.entries()) {
    const at = `${field}[${index}]`;
    const effect = permissionEffects.fromWire(rule.effect);
    found.check(effect !== null, `${at}.effect`, `is not one of ${permissionEffects.names.join(", ")}`);
    const anything = rule.toolKind === "" && rule.toolName === "" && rule.argumentPattern === "";
    found.check(!anything, at, "matches everything: set tool_kind, tool_name or argument_pattern");
    found.check(isPattern(rule.argumentPattern), `${at}.argument_pattern`, "is not a regular expression");
    checkText(found, `${at}.tool_kind`, rule.toolKind, RULE_TEXT_CHARACTERS);
    checkText(found, `${at}.tool_name`, rule.toolName, RULE_TEXT_CHARACTERS);
    checkText(found, `${at}.argument_pattern`, rule.argumentPattern, RULE_TEXT_CHARACTERS);
  }
}

function plainRule(rule: PermissionRule): pool.PermissionRule {
  return {
    effect: permissionEffects.fromWire(rule.effect) ?? "ask",
    toolKind: rule.toolKind,
    toolName: rule.toolName,
    argumentPattern: rule.argumentPattern,
  };
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, "u") !== null;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
