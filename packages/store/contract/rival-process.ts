// Starting rivals (rival.ts) and ending them: none outlives the test file that started it.
import { type ChildProcess, spawn } from "node:child_process";
import { on, once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import type { Order, Report } from "./rival.ts";

const PROGRAM = fileURLToPath(new URL("./rival.ts", import.meta.url));
const running = new Set<ChildProcess>();

afterAll(async () => {
  await Promise.all([...running].map(killed));
});

export type Rival = {
  tell(order: Order): void;
  /** The next report of this kind; others before it are passed over. Throws when the process ends first. */
  next<Kind extends Report["kind"]>(kind: Kind): Promise<Extract<Report, { kind: Kind }>>;
  /** kill -9, and wait until it is gone. */
  kill(): Promise<void>;
};

/** `fileSizeKib` limits the size of the files it can write: its disk is full then. */
export async function startRival(file: string, fileSizeKib?: number): Promise<Rival> {
  const node = [process.execPath, PROGRAM, file] as const;
  const limited = ["bash", "-c", `ulimit -f ${fileSizeKib}; exec "$0" "$@"`, ...node] as const;
  const [command, ...args] = fileSizeKib === undefined ? node : limited;
  const child = spawn(command, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  running.add(child);
  const reports = on(child, "message", { close: ["exit"] });
  const rival: Rival = {
    tell: (order) => void child.send(order),
    next: async (kind) => {
      for (;;) {
        const next = await reports.next();
        if (next.done === true) throw new Error(`the rival ended before it reported "${kind}"`);
        const [report] = next.value as [Report];
        if (report.kind === kind) return report as Extract<Report, { kind: typeof kind }>;
      }
    },
    kill: () => killed(child),
  };
  await rival.next("ready");
  return rival;
}

async function killed(child: ChildProcess): Promise<void> {
  running.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
