// The one command, as a user has it. Every launcher of this file works in a directory of its own, on a port of its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Disposition, GateState, Outcome, SessionState, Tier } from "@holdfast/proto";
import { lockOrRefuse } from "@holdfast/runtime";
import { describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "./src/caller.ts";
import { CHECKOUT, Launcher, type LauncherWanted, userPath } from "./src/launcher.ts";

/** What is promised for a Ctrl-C. */
const END_MS = 5_000;

/** Each test starts the whole product, some twice. */
const TEST_MS = 180_000;

function freshDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-start-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function started(wanted: Partial<LauncherWanted> = {}): Promise<Launcher> {
  const launcher = await Launcher.start({ directory: wanted.directory ?? freshDirectory(), ...wanted });
  onTestFinished(() => launcher.close());
  return launcher;
}

/** Every file with its size and times: what a start that changes nothing leaves as it was. */
function listing(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((name) => {
      const { size, mtimeMs, ino } = statSync(join(directory, name));
      return `${name} ${size} ${mtimeMs} ${ino}`;
    })
    .sort();
}

describe("npm start", { timeout: TEST_MS }, () => {
  it("prints addresses and a tour; every line of the tour, pasted, shows what it says", async () => {
    const { stdout, directory } = await started();
    for (const name of ["gateway", "runner-1", "runner-2"]) {
      expect(stdout).toMatch(new RegExp(`^ +${name} +127\\.0\\.0\\.1:\\d+$`, "m"));
    }
    expect(stdout).toContain(`Data and logs are in ${directory}`);
    const tour = tourOf(stdout);
    const shown = await paste(tour.map(({ line }) => line));
    const step = (says: string) => shown[tour.findIndex((each) => each.says.startsWith(says))] ?? "";

    const parked = step("a turn");
    expect(parked).toContain('"hello"');
    expect(parked).toContain('"parked"');
    const process = /SESSION_STATE_PARKED, agent process (\d+)/.exec(parked)?.[1] ?? "";
    expect(Number(process)).toBeGreaterThan(0);
    expect(step("the inbox")).toMatch(/^gate_\S+\n$/);
    const nonsense = step("an answer that matches nothing");
    expect(nonsense).toContain('"failed_precondition"');
    expect(nonsense).toContain(`SESSION_STATE_PARKED, agent process ${process}`);
    const answer = step("the answer");
    expect(answer).toContain(`agent process ${process}`);
    const [, answerId = "none"] = /"answerId":"([^"]+)"/.exec(answer) ?? [];
    const again = step("the same answer again");
    expect(again).toContain(`"answerId":"${answerId}"`);
    expect(again).toContain('"duplicate":true');
    const happened = step("what happened");
    for (const kind of ["snapshot", "prompt", "started", "gateOpened", "gateAnswered", "toolCallUpdate", "ended"]) {
      expect(happened).toContain(`"${kind}"`);
    }
    expect(step("another turn parks")).toContain('"commandId"');
    const warm = step("the next turn");
    expect(warm).toContain("TIER_WARM");
    expect(warm).toContain(`"pid ${process}"`);
    expect(warm).toContain(`agent process ${process}`);
    const work = join(directory, "sessions", "p_ZGVmYXVsdA", "s_ZGVtbw", "work");
    expect(readFileSync(join(work, "ledger.jsonl"), "utf8").trim().split("\n")).toHaveLength(1);
    expect(readdirSync(work)).toContain("proof.txt");
  });

  it("15: Ctrl-C ends everything within 5 s, with a parked and a running agent, a stream that nobody reads and a silent connection", async () => {
    const launcher = await started();
    const caller = launcher.caller();
    const parked = await caller.turn("parked", "run echo held");
    // More than fits between the two while nobody reads.
    const running = caller.stream("running", "flood 20000\nsleep 600000");
    await until(running, "messageDelta");
    const silent = connect({ host: "127.0.0.1", port: Number(launcher.address.split(":")[1]) });
    await once(silent, "connect");
    onTestFinished(() => void silent.destroy());
    expect(parked.last).toBe("parked");
    expect(launcher.agents()).toHaveLength(2);
    const tookMs = await launcher.interrupt();
    expect(launcher.stdout).toContain("Nothing is left running.");
    expect(tookMs).toBeLessThan(END_MS);
    await Promise.allSettled([running.return(undefined)]);
  });

  it("keeps the data: after a restart a session, its events and its open gate are there, the gate cold", async () => {
    const first = await started();
    const before = first.caller();
    const parked = await before.turn("kept", "say before\nrun echo held");
    const [gate] = (await before.session("kept")).gates;
    expect(gate).toMatchObject({ gateId: parked.gateId, warm: true });
    await before.turn("idle", "remember colour green");
    const running = before.stream("busy", "say here\nsleep 600000");
    await until(running, "messageDelta");
    const told = await before.watchUntil("kept", 0, ({ event }) => event.case === "gateOpened");
    await first.interrupt();
    await Promise.allSettled([running.return(undefined)]);

    const second = await started({ directory: first.directory });
    const after = second.caller();
    const session = await after.session("kept");
    expect(session).toMatchObject({ state: SessionState.PARKED, pid: 0n });
    expect(session.gates).toMatchObject([{ gateId: parked.gateId, state: GateState.PENDING, warm: false }]);
    const inbox = await after.api.listApprovals({}, after.options());
    expect(inbox.gates.map(({ gateId, warm }) => [gateId, warm])).toEqual([[parked.gateId, false]]);
    const kept = await after.watchUntil("kept", 0, ({ event }) => event.case === "gateOpened");
    const durable = (seen: typeof kept) => seen.events.filter(({ seq }) => seq > 0n);
    expect(durable(kept)).toEqual(durable(told));
    const cut = await after.watchUntil(
      "busy",
      0,
      ({ event }) => event.case === "ended" && event.value.outcome !== Outcome.COMPLETED,
    );
    expect(cut.of("ended").at(-1)).toMatchObject({ outcome: Outcome.CANCELLED, stopReason: "drain" });
    const again = await after.turn("idle", "recall colour");
    expect([again.one("started").tier, again.text]).toEqual([Tier.LOAD, "colour=green"]);
    expect((await after.allow("kept", parked.gateId)).disposition).not.toBe(Disposition.UNSPECIFIED);
  });

  it("leaves nothing behind when it is killed: services end by themselves, and end their agents", async () => {
    const launcher = await started();
    const caller = launcher.caller();
    await caller.turn("parked", "run echo held");
    await caller.turn("idle", "say hello");
    expect(launcher.agents()).toHaveLength(2);
    process.kill(launcher.pid("local"), "SIGKILL");
    await launcher.untilNothingIsLeft();
    expect(launcher.agents()).toEqual([]);
  });

  it("ends as a whole, and says why, when one of its services dies; with HOLDFAST_LOG=pretty all logs are on stdout", async () => {
    const launcher = await started({ settings: { HOLDFAST_LOG: "pretty" } });
    expect(launcher.stdout).toMatch(/runner ready/);
    await launcher.caller().turn("idle", "say hello");
    process.kill(launcher.pid("runner"), "SIGKILL");
    await launcher.untilNothingIsLeft();
    expect(launcher.exitCode).not.toBe(0);
    expect(launcher.stderr).toMatch(/runner-\d ended by SIGKILL/);
  });

  it("a second start on a busy data directory or port says so, exits with an error, and leaves the first one alone", async () => {
    const first = await started();
    const { pid } = await aSession(first);
    const sameDirectory = await Launcher.run({ directory: first.directory });
    expect(sameDirectory.stderr).toContain(`the data directory ${first.directory}: another process uses it`);
    expect(sameDirectory.exitCode).toBe(1);
    const [, port = ""] = first.address.split(":");
    const elsewhere = join(freshDirectory(), "data");
    const samePort = await Launcher.run({ directory: elsewhere, settings: { HOLDFAST_PORT: port } });
    expect(samePort.stderr).toContain(`cannot listen on 127.0.0.1 port ${port}: another process listens there`);
    expect(samePort.exitCode).toBe(1);
    expect(() => statSync(elsewhere)).toThrow("ENOENT");
    expect((await first.caller().session("here")).pid).toBe(pid);
  });

  it("a start that cannot work changes nothing in a directory that has data", async () => {
    const directory = freshDirectory();
    for (const name of ["launcher.lock", "gateway-token", "holdfast.db", "logs/gateway.log", "logs/runner-1.log"]) {
      mkdirSync(dirname(join(directory, name)), { recursive: true });
      writeFileSync(join(directory, name), name === "launcher.lock" ? "" : `kept in ${name}`);
    }
    const before = listing(directory);

    const lock = lockOrRefuse(directory, "launcher", "the test's own");
    const locked = await Launcher.run({ directory });
    lock.release();
    expect(locked.exitCode).toBe(1);
    expect(listing(directory)).toEqual(before);

    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const port = `${(taken.address() as AddressInfo).port}`;
    const noPort = await Launcher.run({ directory, settings: { HOLDFAST_PORT: port } });
    taken.close();
    expect(noPort.exitCode).toBe(1);
    expect(listing(directory)).toEqual(before);

    const misspelt = await Launcher.run({ directory, settings: { HOLDFAST_PROT: "1", HOLDFAST_RUNNERS: "none" } });
    expect(misspelt.exitCode).toBe(2);
    expect(misspelt.stderr).toContain("HOLDFAST_PROT is not a setting");
    expect(misspelt.stderr).toContain("HOLDFAST_RUNNERS");
    expect(listing(directory)).toEqual(before);
  });

  it("tells what a service could not do, in its words, and ends", async () => {
    const directory = freshDirectory();
    const launcher = await Launcher.run({
      directory,
      settings: { HOLDFAST_AGENTS_FILE: join(directory, "none.yaml") },
    });
    expect(launcher.exitCode).toBe(1);
    expect(launcher.stderr).toMatch(/Holdfast did not start: runner-\d ended with code 1: .*none\.yaml/);
    expect(launcher.stderr).not.toContain("    at ");
    expect(launcher.processes()).toEqual([]);
  });

  it("with HOLDFAST_LOG=json prints JSON lines and nothing else", async () => {
    const machine = await started({ settings: { HOLDFAST_LOG: "json" } });
    await machine.interrupt();
    const lines = machine.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { service: string; event: string });
    for (const service of ["local", "gateway", "runner"]) {
      expect(lines.filter((line) => line.service === service).map(({ event }) => event)).toEqual(
        expect.arrayContaining(service === "gateway" ? ["listening", "closed"] : ["ready", "closed"]),
      );
    }
    expect(machine.stderr).toBe("");
  });

  it("--help tells what can be set and starts nothing; an argument it does not know is refused", async () => {
    const directory = join(freshDirectory(), "data");
    const help = await Launcher.run({ directory, args: ["--help"] });
    expect(help.exitCode).toBe(0);
    for (const name of ["HOLDFAST_PORT (7420)", "HOLDFAST_DATA_DIR", "HOLDFAST_LOG", "HOLDFAST_TOKENS_FILE"]) {
      expect(help.stdout).toContain(name);
    }
    const unknown = await Launcher.run({ directory, args: ["--port", "1"] });
    expect(unknown.exitCode).toBe(2);
    expect(unknown.stderr).toContain("unknown argument --port");
    expect(() => statSync(directory)).toThrow("ENOENT");
  });
});

async function until(stream: AsyncGenerator<{ event: { case?: string | undefined } }>, kind: string): Promise<void> {
  for (let next = await stream.next(); next.done !== true; next = await stream.next()) {
    if (next.value.event.case === kind) return;
  }
  throw new Error(`the stream ended without ${kind}`);
}

async function aSession(launcher: Launcher) {
  const caller = launcher.caller();
  await caller.turn("here", "say hello");
  return eventually(
    "idle",
    () => caller.session("here"),
    ({ state }) => state === SessionState.IDLE,
  );
}

/** The steps as they were printed: `# what it says`, and the line to paste below it. */
function tourOf(printed: string): readonly { readonly says: string; readonly line: string }[] {
  return [...printed.matchAll(/^ {2}# (.*)\n {2}(.*)$/gm)].map(([, says = "", line = ""]) => ({ says, line }));
}

/** Pastes lines into one bash; what each of them printed. */
async function paste(lines: readonly string[]): Promise<readonly string[]> {
  const mark = "---8<---";
  const shell = spawn("bash", ["--noprofile", "--norc"], {
    cwd: CHECKOUT,
    stdio: ["pipe", "pipe", "inherit"],
    env: { PATH: userPath(), HOME: process.env.HOME ?? "" },
  });
  let out = "";
  shell.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  shell.stdin.end(lines.map((line) => `${line}\necho '${mark}'\n`).join(""));
  await once(shell, "close");
  return out.split(`${mark}\n`);
}
