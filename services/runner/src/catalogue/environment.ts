// The environment of an agent's process: these variables, what its catalogue entry says, its secrets, and nothing else
// (B7). The runner's own environment may hold credentials; of it, only what says how the machine is set up goes on.

import type { SessionDirectories } from "./directory.ts";

/** Taken over from the runner, where it has them. */
const TAKEN_OVER = ["PATH", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME"] as const;

const DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";
const DEFAULT_LANG = "C.UTF-8";

export type Environment = Readonly<Record<string, string>>;

/** Later ones win: an entry may set its own PATH. */
export function agentEnvironment(
  runner: Readonly<Record<string, string | undefined>>,
  { home, tmp }: SessionDirectories,
  ...own: readonly Environment[]
): Environment {
  const taken = TAKEN_OVER.flatMap((name) => {
    const value = runner[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const base = { PATH: DEFAULT_PATH, LANG: DEFAULT_LANG, ...Object.fromEntries(taken), HOME: home, TMPDIR: tmp };
  return Object.assign({}, base, ...own);
}
