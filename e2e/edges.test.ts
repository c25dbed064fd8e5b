// What is not as it should be: agents that print anything, readers that do not read, prompts and events that are too large.
import { toBinary } from "@bufbuild/protobuf";
import { type ServiceError, status } from "@grpc/grpc-js";
import { ErrorReason, Outcome, SessionState, type TurnEvent, TurnEventSchema } from "@holdfast/proto";
import { MAX_RECEIVED_BYTES, MAX_REQUEST_BYTES, TOO_LARGE_REASON } from "@holdfast/wire";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Caller, eventually, refusalOf } from "./src/caller.ts";
import { post } from "./src/json-call.ts";
import { isAlive, residentBytes } from "./src/processes.ts";
import { Stack } from "./src/stack.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const EVENT_BYTES = 768 * KIB;
/** services/runner/src/acp/lines.ts. */
const ACP_LINE_MIB = 8;
const LONG_MS = 300_000;
/** agents/scripted/README.md: those after which the prompt goes on, and what they say besides `noise KIND done`. */
const HARMLESS = [
  "text",
  "blank",
  "bad-utf8",
  "partial-line",
  "split-line",
  "glued",
  "non-object",
  "oversized",
  "unknown-request",
  "unknown-notification",
  "unknown-update",
  "unknown-response",
  "foreign-session",
  "malformed-gate",
  "reused-tool-call",
] as const;
/** What comes after the prompt was answered, and what the runner's log says when the last of it has come. */
const STRAY = [
  ["stray-update", '"reason":"between_turns:messageDelta"'],
  ["stray-gate", '"reason":"between_turns:toolCallUpdate"'],
] as const;
const FUZZED_PROMPTS = 4;

const many = (length: number) => "x".repeat(length);
const textBlock = (text: string) => ({ block: { case: "text" as const, value: { text } } });

/** One runner and one gateway go through all of it; somebody waits on them all the time. */
let stack: Stack;
let caller: Caller;
let waitingPid: bigint;
beforeAll(async () => {
  stack = await Stack.start({ settings: { HOLDFAST_LOG_LEVEL: "debug" } });
  caller = stack.caller();
  await caller.turn("neighbour", "run echo held");
  waitingPid = (await caller.session("neighbour")).pid;
}, LONG_MS);
afterAll(() => stack.close(), LONG_MS);
afterEach(async () => {
  expect(await caller.session("neighbour")).toMatchObject({ state: SessionState.PARKED, pid: waitingPid });
  expect(stack.runner.log).not.toContain('"event":"crash"');
});

describe("an agent's noise", { timeout: LONG_MS }, () => {
  it("68: agent stdout noise of every kind: the session lives on the same pid, and the prompt goes on to its end", async () => {
    await caller.turn("noise", "say ready");
    const { pid } = await caller.session("noise");
    for (const kind of HARMLESS) {
      const turn = await caller.turn("noise", `noise ${kind}\nsay after`);
      expect([kind, turn.one("ended").outcome]).toEqual([kind, Outcome.COMPLETED]);
      expect(turn.text).toContain(`noise ${kind} done`);
      expect(turn.text).toContain("after");
      expect([kind, turn.gateIds]).toEqual([kind, []]);
    }
    for (const [kind, lastHeard] of STRAY) {
      expect((await caller.turn("noise", `noise ${kind}`)).one("ended").outcome).toBe(Outcome.COMPLETED);
      await eventually(`${kind} was heard`, () => stack.runner.log.includes(lastHeard));
      const next = await caller.turn("noise", "say next");
      expect([kind, next.text, next.gateIds]).toEqual([kind, "next", []]);
    }
    expect((await caller.session("noise")).pid).toBe(pid);
    expect(stack.ledger("noise")).toEqual([]);
    expect(isAlive(stack.runner.pid)).toBe(true);
  });

  it("68: a prompt that is answered with an error, or a process that goes in the middle of its last line, ends the turn with a named reason", async () => {
    const failed = await caller.turn("noise-error", "say before\nnoise prompt-error");
    expect(failed.text).toBe("before");
    expect(failed.one("ended")).toMatchObject({
      outcome: Outcome.FAILED,
      error: { reason: ErrorReason.PROMPT_FAILED },
    });
    const gone = await caller.turn("noise-gone", "say before\nnoise no-newline");
    expect(gone.text).toContain("the last line has no end");
    expect(gone.one("ended")).toMatchObject({ outcome: Outcome.FAILED, error: { reason: ErrorReason.AGENT_EXITED } });
    for (const session of ["noise-error", "noise-gone"]) {
      expect((await caller.turn(session, "say again")).text).toBe("again");
    }
  });

  it("68: any noise in any order: session and runner live", async () => {
    const seed = Date.now() % 1_000_000;
    const orders = fc.sample(
      fc.shuffledSubarray(HARMLESS.filter((kind) => kind !== "oversized").flatMap((kind) => [kind, kind])),
      {
        numRuns: FUZZED_PROMPTS,
        seed,
      },
    );
    await caller.turn("fuzz", "say ready");
    const { pid } = await caller.session("fuzz");
    for (const order of orders) {
      const turn = await caller.turn("fuzz", [...order.map((kind) => `noise ${kind}`), "say after"].join("\n"));
      expect([`seed ${seed}`, order, turn.one("ended").outcome]).toEqual([`seed ${seed}`, order, Outcome.COMPLETED]);
      expect(turn.text.endsWith("after")).toBe(true);
    }
    expect((await caller.session("fuzz")).pid).toBe(pid);
  });
});

describe("readers and sizes", { timeout: LONG_MS }, () => {
  /** As long as a prompt can be: fourteen messages, which become about as many durable events and as many live ones. */
  const SAID = 14;
  const LARGE_PROMPT = Array.from({ length: SAID }, (_, index) => `say ${index} ${many(250 * KIB)}`).join("\n");
  const LARGE_TURNS = 24;
  /** What a service's objects may take: less than the streams would hold if nobody held them back. */
  const HEAP_MIB = 128;
  /** The same with everything around it; buffers are not in the heap. */
  const GROWTH_BYTES = 160 * MIB;

  it("69: a reader that stops reading: memory bounded, other sessions unaffected, every durable event kept for it", async () => {
    const small = await Stack.start({ settings: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` } });
    onTestFinished(() => small.close());
    const other = small.caller();
    await other.turn("large", LARGE_PROMPT);
    const services = [small.gateway, small.runner];
    const before = services.map(({ pid }) => residentBytes(pid));
    const stalled = other.api.watchSession({ sessionId: "large", afterSeq: 0n }, other.options(LONG_MS));
    await stalled.next();
    const flooded = other.api.runTurn(
      { sessionId: "flooded", agent: "scripted", prompt: [textBlock("flood 20000")] },
      other.options(LONG_MS),
    );
    await flooded.next();

    let most = [0, 0];
    for (let turn = 0; turn < LARGE_TURNS; turn += 1) {
      expect((await other.turn("large", LARGE_PROMPT)).one("ended").outcome).toBe(Outcome.COMPLETED);
      expect((await other.turn("other", `say ${turn}`)).text).toBe(`${turn}`);
      const grown = services.map(({ pid }, index) => residentBytes(pid) - (before[index] ?? 0));
      most = most.map((bytes, index) => Math.max(bytes, grown[index] ?? 0));
    }
    expect(most[0]).toBeLessThan(GROWTH_BYTES);
    expect(most[1]).toBeLessThan(GROWTH_BYTES);

    // It reads again: nothing durable is missing.
    const last = Number((await other.session("large")).lastSeq);
    const seqs: number[] = [];
    for await (const { event } of stalled) {
      if (event !== undefined && event.seq > 0n) seqs.push(Number(event.seq));
      if (seqs.at(-1) === last) break;
    }
    expect(seqs).toEqual(Array.from({ length: last }, (_, index) => index + 1));
    const events: TurnEvent[] = [];
    for await (const { event } of flooded) if (event !== undefined) events.push(event);
    expect(events.at(-1)?.event.case).toBe("ended");
    const durable = events.filter(({ seq }) => seq > 0n).map(({ seq }) => Number(seq));
    expect(durable).toEqual(durable.map((_, index) => (durable[0] ?? 0) + index));
  });

  it("70: a prompt of almost 4 MB is accepted and reaches the agent whole; a larger one is refused, and nothing is written", async () => {
    const largest = MAX_REQUEST_BYTES - KIB;
    const taken = await caller.turn("long-prompt", `say ${many(largest - 4)}`);
    expect(taken.one("ended").outcome).toBe(Outcome.COMPLETED);
    expect(taken.text.replaceAll("\n", "")).toBe(many(largest - 4));
    const told = await caller.watchUntil("long-prompt", 0, ({ event }) => event.case === "prompt");
    expect(told.one("prompt").truncated).toBe(true);
    expect(told.one("prompt").content).toMatchObject([
      { block: { case: "omitted", value: { sizeBytes: BigInt(largest) } } },
    ]);

    const failed = (text: string) =>
      caller.turn("too-long", text).then(
        () => null,
        (error: ServiceError) => error,
      );
    const over = await failed(`say ${many(MAX_REQUEST_BYTES)}`);
    expect(over).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    expect(over?.details).toContain(`at most ${MAX_REQUEST_BYTES} are taken`);
    expect(`${over?.metadata.get("grpc-status-details-bin")}`).toContain(TOO_LARGE_REASON);
    expect((await failed(many(MAX_RECEIVED_BYTES + KIB)))?.code).toBe(status.RESOURCE_EXHAUSTED);
    const posted = await post(
      stack,
      "RespondApproval",
      JSON.stringify({ sessionId: "too-long", note: many(MAX_REQUEST_BYTES) }),
    );
    expect([posted.status, posted.body.code]).toEqual([429, "resource_exhausted"]);
    expect((await refusalOf(caller.session("too-long"))).reason).toBe("SESSION_UNKNOWN");
    expect((await caller.turn("long-prompt", "say still here")).text).toBe("still here");
  });

  it("70: 10,000 small updates in one go come through, in order, as one message", async () => {
    const turn = await caller.turn("flood", "flood 10000\nsay after");
    expect(turn.one("ended").outcome).toBe(Outcome.COMPLETED);
    const pieces = turn.events.flatMap(({ event }) =>
      event.case === "messageDelta" && event.value.content?.block.case === "text"
        ? [event.value.content.block.value.text]
        : [],
    );
    const whole = await caller.watchUntil("flood", 0, ({ event }) => event.case === "ended");
    const said = whole.of("message").flatMap(({ content }) => content.map(({ block }) => block));
    const text = said.map((block) => (block.case === "text" ? block.value.text : "")).join("");
    expect(text.match(/^chunk \d+ of 10000$/gm)).toHaveLength(10_000);
    // The reader kept up, or it did not: what it got live is a part of the whole, in order.
    expect(isSubsequence(pieces, text)).toBe(true);
    expect(whole.text.endsWith("after")).toBe(true);
  });

  it("70: an event of 10 MB, or of 5: bounded, kept in pieces or left out with a mark; the session lives", async () => {
    for (const mib of [5, 10]) {
      const turn = await caller.turn(`event-${mib}`, `noise oversized ${mib}\nsay after`);
      expect(turn.text).toContain("after");
      for (const event of turn.events) expect(toBinary(TurnEventSchema, event).length).toBeLessThan(EVENT_BYTES);
      const isDropped = ({ event }: TurnEvent) => event.case === "raw" && event.value.json.includes("line_dropped");
      expect([mib, turn.events.filter(isDropped).length]).toEqual([mib, mib > ACP_LINE_MIB ? 1 : 0]);
      expect([mib, turn.text.length > mib * MIB]).toEqual([mib, mib < ACP_LINE_MIB]);
      const { pid } = await caller.session(`event-${mib}`);
      expect((await caller.turn(`event-${mib}`, "pid")).text).toBe(`pid ${pid}`);
    }
    const parked = await caller.turn("output", "run head -c 10000000 /dev/zero | tr '\\0' x\nsay after");
    await caller.allow("output", parked.gateId);
    const ended = await caller.ended("output", parked.turnId);
    expect(ended.text).toContain("after");
    for (const event of ended.events) expect(toBinary(TurnEventSchema, event).length).toBeLessThan(EVENT_BYTES);
  });
});

function isSubsequence(pieces: readonly string[], whole: string): boolean {
  let at = 0;
  for (const piece of pieces) {
    const found = whole.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return true;
}
