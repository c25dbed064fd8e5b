// The agent catalogue a runner is given in these tests: the Claude agent, talking to the scripted model.
//
// - The asking mode is said twice: out of the box a classifier decides in a human's place. `settings.json` holds it from
//   the agent's first moment on, and `mode` fails the start if the agent does not offer it.
// - The agent looks for its configuration in `$HOME/.claude`; the runner gives every session a HOME of its own, and a
//   file's path is relative to that.
// - The three DISABLE names and the suggestion switch stop calls that no test asked for. Nothing here leaves loopback.

/** Paths and addresses of one test run. */
export interface ClaudeSetting {
  /** Absolute path of the agent's script. It is started by the Node that runs the runner; it needs 22 or later. */
  readonly entry: string;
  /** The scripted model's URL. */
  readonly modelUrl: string;
  /** Absolute path of a file that holds the model's API key; the scripted model takes any. */
  readonly apiKeyFile: string;
}

/** The mode in which the agent asks before it runs anything that is not read-only. */
const ASKING_MODE = "default";

/** The text of a catalogue file with the one agent `claude`. It is written as JSON, which is YAML too. */
export function claudeCatalogue(setting: ClaudeSetting): string {
  const claude = {
    name: "claude",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a placeholder of the catalogue
    command: "${node}",
    args: [setting.entry],
    env: {
      ANTHROPIC_BASE_URL: setting.modelUrl,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: "false",
      DISABLE_TELEMETRY: "1",
      DISABLE_AUTOUPDATER: "1",
    },
    files: [{ path: ".claude/settings.json", content: JSON.stringify({ permissions: { defaultMode: ASKING_MODE } }) }],
    mode: ASKING_MODE,
    load: true,
    system_prompt: "append",
    secrets: { ANTHROPIC_API_KEY: setting.apiKeyFile },
  };
  return `${JSON.stringify({ agents: [claude] }, null, 2)}\n`;
}
