// Gates: when one is shown and to whom, when none is, and how long one may stay open.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Disposition, Follow, GateState, Outcome, type Session, SessionState, type TurnEvent } from "@holdfast/proto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Caller, eventually, refusalOf, TurnSeen } from "./src/caller.ts";
import { scripted } from "./src/catalogue.ts";
import { Stack } from "./src/stack.ts";
import { StoreFile } from "./src/store-file.ts";

const TURN_LIMIT_MS = 3_000;
const UNHURRIED_MS = 600_000;
const RELOADS = 10;
/** Time for a test to lock the store after the agent's first word and before it asks. */
const HELD_BACK_MS = 1_500;

let stack: Stack;
/** Each at a gateway of its own. */
let one: Caller;
let other: Caller;

const ran = (session: string) => stack.ledger(session).map(({ command }) => command);
const isParked = ({ state }: Session) => state === SessionState.PARKED;
const pending = ({ gates }: Session) =>
  gates.filter(({ state }) => state === GateState.PENDING).map(({ gateId }) => gateId);

describe("gates", () => {
  beforeAll(async () => {
    const agents = [scripted("scripted"), scripted("early", "--early-gate"), scripted("forgetful", "--no-load")];
    stack = await Stack.start({ gateways: 2, agents, settings: { HOLDFAST_LOG_LEVEL: "debug" } });
    one = stack.caller();
    other = stack.caller({ gateway: stack.gateways[1] ?? stack.gateway });
  });
  afterAll(() => stack.close());

  it("30: a toolCallId that comes again in the session's next process is another call with another gate", async () => {
    const session = "recurring";
    const agent = { agent: "forgetful" };
    const callOf = (turn: TurnSeen) => turn.of("gateOpened").at(-1)?.gate?.toolCall?.id;
    const first = await one.turn(session, "run echo one", agent);
    const answer = await one.allow(session, first.gateId);
    await one.ended(session, first.turnId);
    await one.api.closeSession({ sessionId: session }, one.options());
    const second = await one.turn(session, "run echo two", agent);
    expect(callOf(second)).toBe(callOf(first));
    expect(await one.allow(session, first.gateId)).toMatchObject({ answerId: answer.answerId, duplicate: true });
    expect(await refusalOf(one.reject(session, first.gateId))).toMatchObject({ reason: "GATE_ANSWERED_DIFFERENTLY" });
    expect(pending(await one.session(session))).toEqual([second.gateId]);
    expect(ran(session)).toEqual(["echo one"]);
    await one.allow(session, second.gateId);
    await one.ended(session, second.turnId);
    expect(ran(session)).toEqual(["echo one", "echo two"]);
  });

  it("31: a gate is in the store before a client sees it: whoever is told of it can answer it at once, anywhere", async () => {
    const session = "told";
    for await (const { event } of one.stream(session, "run echo told")) {
      if (event.case !== "gateOpened") continue;
      const gateId = event.value.gate?.gateId ?? "";
      expect((await other.inbox(session)).map((gate) => gate.gateId)).toEqual([gateId]);
      expect(await other.allow(session, gateId)).toMatchObject({ duplicate: false });
      break;
    }
    await eventually("it ran", () => ran(session).length === 1);
  });

  it("31: the store is down when the agent asks: nothing is announced and nothing runs until it is back", async () => {
    const session = "store-down-for-a-while";
    const { lock, seen, turn } = await withStoreDown(session);
    await eventually("the agent has asked", () => agentNotes(session).includes("call-1"));
    expect((await one.session(session)).gates).toEqual([]);
    expect(seen()).not.toContain("gateOpened");
    lock[Symbol.dispose]();
    const parked = await turn;
    expect(parked.last).toBe("parked");
    expect(pending(await one.session(session))).toEqual(parked.gateIds);
    await one.allow(session, parked.gateId);
    await one.ended(session, parked.turnId);
    expect(ran(session)).toEqual(["echo unseen"]);
  });

  it("31: the store stays down: the process is ended, nobody was told, nothing has run", async () => {
    const session = "store-down";
    const { lock, seen, turn } = await withStoreDown(session);
    await eventually(
      "its process is gone",
      () => stack.agentsOf(session),
      (pids) => pids.length === 0,
    );
    expect(seen()).not.toContain("gateOpened");
    lock[Symbol.dispose]();
    const ended = await turn;
    expect(ended.one("ended").outcome).toBe(Outcome.FAILED);
    expect(ended.of("gateOpened")).toEqual([]);
    expect(await one.inbox(session)).toEqual([]);
    expect(ran(session)).toEqual([]);
  });

  it("38: an agent that asks while it starts is answered cancelled: never shown, nothing runs", async () => {
    const session = "early";
    // A mode has to be set after the agent has asked and before its prompt: they cannot cross.
    const seen = await earlyTurn(session, { mode: "ask" });
    expect([...seen.of("gateOpened"), ...seen.of("toolCall")]).toEqual([]);
  });

  it("38: an agent that asks between its start and its first turn never lets a tool run", async () => {
    const turns = await Promise.all(["early-1", "early-2", "early-3"].map((session) => earlyTurn(session, {})));
    // Whether the request came before the prompt was sent is for the system to say; that it did for none is not credible.
    expect(turns.map(({ gateIds }) => gateIds.length)).toContain(0);
  });

  it("38: an agent that asks after its turn has ended is answered cancelled: never recorded, never shown, nothing runs", async () => {
    const session = "stray";
    const turn = await one.turn(session, "noise stray-gate");
    expect(turn.one("ended").outcome).toBe(Outcome.COMPLETED);
    await eventually("the agent has its answer, and reports", () =>
      saidBetweenTurns(session).includes("toolCallUpdate"),
    );
    const idle = await one.session(session);
    expect([idle.state, idle.gates, idle.closedGates]).toEqual([SessionState.IDLE, [], []]);
    expect(await other.inbox(session)).toEqual([]);
    const next = await one.turn(session, "pid");
    expect(next.text).toBe(`pid ${idle.pid}`);
    const log = await one.ended(session, next.turnId);
    expect([...log.of("gateOpened"), ...log.of("toolCall")]).toEqual([]);
    expect(ran(session)).toEqual([]);
  });

  describe.each([
    { when: "on a first turn", before: "" },
    { when: "on a continuation", before: "run echo before\n" },
  ])("$when", ({ when, before }) => {
    const ranBefore = before === "" ? [] : ["echo before"];

    /** Parked on the pair's own gates. */
    async function parkedOn(
      session: string,
      line: string,
      turnLimitMs = TURN_LIMIT_MS,
    ): Promise<{ turnId: string; gateIds: readonly string[] }> {
      const limits = { turnLimit: durationFromMs(turnLimitMs) };
      const first = await one.turn(session, `${before}${line}\nsay done`, { limits });
      if (before === "") return first;
      await one.allow(session, first.gateId);
      await one.parkedOn(session, first.gateId);
      const { turnId } = first;
      const isPair = line.startsWith("both");
      const { gates } = await eventually(
        "the pair's gates",
        () => one.session(session),
        (held) => pending(held).length === (isPair ? 2 : 1),
      );
      return { turnId, gateIds: gates.filter(({ state }) => state === GateState.PENDING).map(({ gateId }) => gateId) };
    }

    it("74: a batch whose allowed call reports only after its sibling's gate is answered parks at once; no limit fires", async () => {
      const session = `batch-${when.replaceAll(" ", "-")}`;
      const { turnId, gateIds } = await parkedOn(session, "batch echo free && echo gated");
      const { pid, state } = await one.session(session);
      expect(state).toBe(SessionState.PARKED);
      // Longer than the whole turn may run: waiting for people does not count.
      await one.turn(`${session}-meanwhile`, `sleep ${TURN_LIMIT_MS + 1_000}`);
      const still = await one.session(session);
      expect([still.state, still.pid, pending(still)]).toEqual([SessionState.PARKED, pid, gateIds]);
      expect(ran(session)).toEqual(ranBefore);
      await one.allow(session, gateIds[0] ?? "");
      const ended = await one.ended(session, turnId);
      expect(ended.of("ended").at(-1)?.outcome).toBe(Outcome.COMPLETED);
      expect(ran(session)).toEqual([...ranBefore, "echo free", "echo gated"]);
    });

    it("74: a pair that runs only when both are answered stays parked between the answers, and both run", async () => {
      const session = `held-${when.replaceAll(" ", "-")}`;
      const { turnId, gateIds } = await parkedOn(session, "both-held echo a && echo b", UNHURRIED_MS);
      const [a = "", b = ""] = gateIds;
      const { pid } = await one.session(session);
      await one.allow(session, a);
      const between = await eventually("parked on the other", () => one.session(session), isParked);
      expect([pending(between), between.pid]).toEqual([[b], pid]);
      expect(ran(session)).toEqual(ranBefore);
      await other.allow(session, b);
      const ended = await one.ended(session, turnId);
      expect(ended.of("ended").at(-1)).toMatchObject({ outcome: Outcome.COMPLETED, uncertain: [] });
      expect(ran(session)).toEqual([...ranBefore, "echo a", "echo b"]);
    });

    it("74: the turn limit bounds such a pair when the second answer never comes: one uncertain, one open and cold", async () => {
      const session = `bounded-${when.replaceAll(" ", "-")}`;
      const { gateIds } = await parkedOn(session, "both-held echo a && echo b");
      const [a = "", b = ""] = gateIds;
      await one.allow(session, a);
      const cold = await eventually(
        "cold",
        () => one.session(session),
        ({ owner }) => owner === undefined,
      );
      expect([cold.state, pending(cold)]).toEqual([SessionState.PARKED, [b]]);
      expect(cold.gates.find(({ gateId }) => gateId === b)?.warm).toBe(false);
      const again = await other.allow(session, a);
      expect(again).toMatchObject({ duplicate: true, disposition: Disposition.UNCERTAIN });
      expect(ran(session)).toEqual(ranBefore);
      await one.stop(session);
    });
  });

  it("81: watchers that did not answer see the gate answered; one that reloads never sees it as open", async () => {
    const session = "watched";
    // What was allowed is held by the agent until the other gate is answered: the answer stays on its way.
    const parked = await one.turn(session, "both-held echo a && echo b");
    const [a = "", b = ""] = parked.gateIds;
    const watchers = await Promise.all([one, other, one].map((caller) => attach(caller, session)));
    for (const { snapshot } of watchers) expect(pending(snapshot)).toEqual([a, b]);
    const answer = await one.allow(session, a);
    const reloads = await Promise.all(
      Array.from({ length: RELOADS }, (_, index) => attach(index % 2 === 0 ? one : other, session)),
    );
    for (const { snapshot } of reloads) expect(pending(snapshot)).toEqual([b]);
    for (const caller of [one, other]) expect((await caller.inbox(session)).map(({ gateId }) => gateId)).toEqual([b]);
    await other.reject(session, b);
    for (const { rest } of [...watchers, ...reloads]) {
      const seen = await rest((event) => event.case === "ended");
      expect(seen.kinds.filter((kind) => kind?.startsWith("gate"))).toEqual([
        "gateOpened",
        "gateOpened",
        "gateAnswered",
        "gateAnswered",
      ]);
      expect(seen.of("gateAnswered")[0]).toMatchObject({ gateId: a, answerId: answer.answerId });
    }
    const { snapshot } = await attach(other, session);
    expect(pending(snapshot)).toEqual([]);
    expect(ran(session)).toEqual(["echo a"]);
  });
});

/** The first turn of an agent that asks before it; and the next one, on the same process. */
async function earlyTurn(session: string, config: { readonly mode?: string }): Promise<TurnSeen> {
  const early = { agent: "early", config, follow: Follow.UNTIL_ENDED };
  const seen = await one.turn(session, "say hello", early);
  expect(seen.one("ended").outcome).toBe(Outcome.COMPLETED);
  const idle = await one.session(session);
  expect([idle.state, pending(idle)]).toEqual([SessionState.IDLE, []]);
  expect(await other.inbox(session)).toEqual([]);
  expect((await one.turn(session, "pid", early)).text).toBe(`pid ${idle.pid}`);
  expect(ran(session)).toEqual([]);
  return seen;
}

type Attached = {
  readonly snapshot: Session;
  readonly rest: (until: (event: TurnEvent["event"]) => boolean) => Promise<TurnSeen>;
};

/** A watcher from the session's first event: attached when its snapshot is here. */
async function attach(caller: Caller, sessionId: string): Promise<Attached> {
  const watch = caller.api.watchSession({ sessionId }, caller.options());
  const first = await watch.next();
  if (first.done || first.value.event?.event.case !== "snapshot") throw new Error("a watch begins with a snapshot");
  const { session } = first.value.event.event.value;
  if (session === undefined) throw new Error("a snapshot has a session");
  const rest: Attached["rest"] = async (until) => {
    const seen: TurnEvent[] = [];
    for await (const { event } of watch) {
      if (event === undefined) continue;
      seen.push(event);
      if (until(event.event)) return new TurnSeen(seen);
    }
    throw new Error(`the watch of ${sessionId} ended by itself`);
  };
  return { snapshot: session, rest };
}

/** A turn that asks for `echo unseen` while nobody can write to the store. */
async function withStoreDown(session: string) {
  const file = new StoreFile(stack.directory);
  const events: TurnEvent[] = [];
  const down = Promise.withResolvers<Disposable>();
  const turn = (async () => {
    const prompt = `say ready\nsleep ${HELD_BACK_MS}\nrun echo unseen`;
    for await (const event of one.stream(session, prompt)) {
      events.push(event);
      if (event.event.case === "messageDelta") down.resolve(file.lock());
    }
    return new TurnSeen(events);
  })();
  const lock = await Promise.race([
    down.promise,
    turn.then(() => Promise.reject(new Error("the turn was over first"))),
  ]);
  expect(agentNotes(session)).not.toContain("call-1");
  return { lock, turn, seen: () => new TurnSeen(events).kinds };
}

/** What the scripted agent keeps of what it said. */
function agentNotes(session: string): string {
  const work = stack.workOf(session);
  return readdirSync(work)
    .filter((name) => name.startsWith(".scripted-") && name.endsWith(".json"))
    .map((name) => readFileSync(join(work, name), "utf8"))
    .join("");
}

/** Kinds of updates that the runner heard from an agent without a prompt. */
function saidBetweenTurns(session: string): string {
  return stack.runner.lines
    .filter((line) => line.event === "agent.noise" && line.session === session)
    .map(({ reason }) => String(reason))
    .join(" ");
}
