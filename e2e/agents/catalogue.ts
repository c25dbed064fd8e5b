// The agent catalogue a runner is given in these tests: the Claude agent, talking to the scripted model.
//
// - The agent looks for its configuration in `$HOME/.claude`; the runner gives every agent a HOME of its own, so the
//   settings file is named relative to that.
// - `permissions.defaultMode` must be said: out of the box a classifier decides in a human's place.
// - The three DISABLE names and the suggestion switch stop calls that no test asked for. Nothing here leaves loopback.

/** Paths and addresses of one test run. */
export interface ClaudeSetting {
  /** Absolute path of the Node that starts the agent, 22 or later. */
  readonly node: string;
  /** Absolute path of the agent's script. */
  readonly entry: string;
  /** The scripted model's URL. */
  readonly modelUrl: string;
  /** Absolute path of a file that holds the model's API key; the scripted model takes any. */
  readonly apiKeyFile: string;
}

/** The text of a catalogue file with the one agent `claude`. It is written as JSON, which is YAML too. */
export function claudeCatalogue(setting: ClaudeSetting): string {
  const claude = {
    name: "claude",
    command: setting.node,
    args: [setting.entry],
    env: {
      ANTHROPIC_BASE_URL: setting.modelUrl,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: "false",
      DISABLE_TELEMETRY: "1",
      DISABLE_AUTOUPDATER: "1",
    },
    files: [{ path: ".claude/settings.json", content: JSON.stringify({ permissions: { defaultMode: "default" } }) }],
    load: true,
    secrets: { ANTHROPIC_API_KEY: setting.apiKeyFile },
  };
  return `${JSON.stringify({ agents: [claude] }, null, 2)}\n`;
}
