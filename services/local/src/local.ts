// The whole product on one machine, behind `npm start`: a gateway and runners as child processes over one embedded store.
//
//   launcher ── lock on the data directory, token, logs
//     ├── gateway     one port for everyone
//     ├── runner-1    agents, one process per session
//     └── runner-2
//
// L1  A second launcher on the same data directory says so and changes nothing.
// L2  The gateway comes first: a port that is taken ends the start before a runner touches anything.
// L3  A child that ends by itself ends the whole, with what it last said: half a product is none.
// L4  Ending asks every child at once and waits for all; children live in their own process groups, so a Ctrl-C of the
//     terminal reaches only the launcher, and they end by themselves when the launcher is gone.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { lockOrRefuse, newSecret, type Surroundings } from "@holdfast/runtime";
import { Child } from "./child.ts";
import { tour } from "./tour.ts";

const PRIVATE_DIRECTORY = 0o700;
const PRIVATE_FILE = 0o600;
/** The children's own bounds end well before. */
const CLOSE_BOUND_MS = 20_000;

export async function startLocal({ settings, life }: Surroundings): Promise<void> {
  const data = resolve(settings.dataDir);
  mkdirSync(data, { recursive: true, mode: PRIVATE_DIRECTORY });
  const lock = lockOrRefuse(data, "launcher", `the data directory ${data}`);
  life.lastAct("lock", () => lock.release());
  const tokenFile = join(data, "gateway-token");
  writeFileSync(tokenFile, `${newSecret()}\n`, { mode: PRIVATE_FILE });

  const children: Child[] = [];
  life.closing("children", async () => void (await Promise.all(children.map((child) => child.end()))), CLOSE_BOUND_MS);
  const launch = async (name: string, service: string, env: Record<string, string>): Promise<string> => {
    const child = new Child({ name, service, data, env: { HOLDFAST_GATEWAY_TOKEN_FILE: tokenFile, ...env } });
    children.push(child);
    const address = await child.ready();
    void child.gone().then((how) => {
      if (life.ending.aborted) return;
      process.stderr.write(`${name} ended ${how}\n${child.lastWords()}`);
      void life.end("child_gone", 1);
    });
    return address;
  };

  const address = await launch("gateway", "gateway", {});
  const names = Array.from({ length: settings.runners }, (_, index) => `runner-${index + 1}`);
  const runners = await Promise.all(names.map((name) => launch(name, "runner", { HOLDFAST_RUNNER_NAME: name })));
  process.stdout.write(tour({ address, runners: names.map((name, index) => `${name} ${runners[index]}`), data }));
}
