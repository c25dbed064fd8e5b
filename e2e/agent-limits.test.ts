// Every limit that an agent can reach from outside, reached: gates, their arguments, lines, attachments, stderr, processes.
// limits.test.ts has those of requests, and where all others are proven.
import { ErrorReason, GateRefusedReason, Outcome, SessionState } from "@holdfast/proto";
import { ATTACHMENT_BYTES } from "@holdfast/wire";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Caller, eventually, refusalOf } from "./src/caller.ts";
import { residentBytes } from "./src/processes.ts";
import { Stack } from "./src/stack.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const LONG_MS = 180_000;
/** services/runner/src/process/ending.ts: what SIGTERM and SIGKILL have each. */
const TERM_BOUND_MS = 2_000;
/** services/runner/src/acp/lines.ts. */
const ACP_LINE_MIB = 8;
/** services/runner/src/session/loss.ts: what an error shows of an agent's stderr, and what is said around it. */
const ERROR_CHARACTERS = 2_000 + 500;
/** What a runner may take of the machine for one noisy agent, with the rubbish it has not collected yet. */
const GROWTH_BYTES = 64 * MIB;
const PAGE_TESTED = 40;

const many = (length: number) => "x".repeat(length);
const text = (value: string) => ({ block: { case: "text" as const, value: { text: value } } });

describe("limits of agents", { timeout: LONG_MS }, () => {
  let stack: Stack;
  let caller: Caller;
  beforeAll(async () => {
    stack = await Stack.start();
    caller = stack.caller();
  }, LONG_MS);
  afterAll(() => stack.close(), LONG_MS);

  it("open gates of one session: as many as the limit; one more gets the reject option, gate_refused{too_many}; the inbox pages through them", async () => {
    const { limits } = await caller.api.getServerInfo({}, caller.options());
    const most = Number(limits.open_gates_per_session);
    await caller.turn("gates", `gates ${most + 1} echo gate`);
    const parked = await caller.watchUntil("gates", 0, ({ event }) => event.case === "gateRefused");
    expect(parked.gateIds).toHaveLength(most);
    expect(parked.of("gateRefused").map(({ reason }) => reason)).toEqual([GateRefusedReason.TOO_MANY]);
    await caller.turn("more-gates", `gates ${most} echo gate`);
    let opened = 0;
    const also = await caller.watchUntil("more-gates", 0, ({ event }) => {
      opened += event.case === "gateOpened" ? 1 : 0;
      return opened === most;
    });
    const expected = [...parked.gateIds, ...also.gateIds].sort();

    const seen: string[] = [];
    const sizes: number[] = [];
    let pageToken = "";
    do {
      const page = await caller.api.listApprovals({ pageSize: PAGE_TESTED, pageToken }, caller.options());
      seen.push(...page.gates.map(({ gateId }) => gateId));
      sizes.push(page.gates.length);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(seen.sort()).toEqual(expected);
    expect(sizes).toEqual([PAGE_TESTED, 2 * most - PAGE_TESTED]);
    const byDefault = await caller.api.listApprovals({}, caller.options());
    expect(byDefault.gates).toHaveLength(Number(limits.page_entries));
    const whole = await caller.api.listApprovals({ pageSize: 1_000_000 }, caller.options());
    expect(whole.gates).toHaveLength(2 * most);
    const another = await refusalOf(caller.api.listSessions({ pageToken: byDefault.nextPageToken }, caller.options()));
    expect([another.reason, another.violations?.map(({ field }) => field)]).toEqual(["FIELD_INVALID", ["page_token"]]);

    await caller.stop("gates");
    await caller.stop("more-gates");
    await caller.ended("gates", parked.turnId);
    expect(stack.ledger("gates")).toEqual([]);
  });

  it("a gate's arguments: what is too large is not shown to anyone and not run, gate_refused{too_large}; the turn goes on", async () => {
    const { limits } = await caller.api.getServerInfo({}, caller.options());
    const bytes = Number(limits.gate_argument_bytes);
    const turn = await caller.turn("large", `run echo ${many(bytes)}\nsay after`);
    expect(turn.gateIds).toEqual([]);
    expect(turn.of("gateRefused").map(({ reason }) => reason)).toEqual([GateRefusedReason.TOO_LARGE]);
    expect([turn.text, turn.one("ended").outcome]).toEqual(["after", Outcome.COMPLETED]);
    expect(stack.ledger("large")).toEqual([]);
    // The scripted agent's title is the command once more: both together are more than an event holds.
    const twice = await caller.turn("large", `run echo ${many(bytes - KIB)} > /dev/null`);
    expect(twice.of("gateRefused").map(({ reason }) => reason)).toEqual([GateRefusedReason.TOO_LARGE]);
    const shown = bytes / 2;
    const most = await caller.turn("large", `run echo ${many(shown)} | wc -c`);
    expect(most.last).toBe("parked");
    const [gate] = (await caller.session("large")).gates;
    expect(gate?.toolCall?.rawInputJson.length).toBeGreaterThan(shown);
    expect(gate?.toolCall?.truncated).toBe(false);
    const [listed] = (await caller.api.listApprovals({ filter: { sessionId: "large" } }, caller.options())).gates;
    expect(listed?.toolCall?.rawInputJson.length).toBeLessThan(4 * KIB);
    await caller.allow("large", most.gateId);
    await caller.ended("large", most.turnId);
    expect(stack.ledger("large")).toHaveLength(1);
  });

  it("an agent's line: above the limit it is dropped with an event and the session goes on; below it is kept whole, in as many events as it takes", async () => {
    const over = await caller.turn("lines", `noise oversized ${ACP_LINE_MIB}\nsay after`);
    const dropped = over.of("raw").map(({ json }) => JSON.parse(json) as { holdfast?: string; bytes?: number });
    expect(dropped).toEqual([{ holdfast: "line_dropped", bytes: expect.any(Number) }]);
    expect(dropped[0]?.bytes).toBeGreaterThan(ACP_LINE_MIB * MIB);
    expect(over.text).toContain("after");
    const { pid } = await caller.session("lines");
    const below = await caller.turn("lines", `noise oversized ${ACP_LINE_MIB - 1}`);
    expect(below.of("raw")).toEqual([]);
    const said = below.of("message").flatMap(({ content }) => content.map(({ block }) => block));
    const kept = said.reduce((sum, block) => sum + (block.case === "text" ? block.value.text.length : 0), 0);
    expect(kept).toBe((ACP_LINE_MIB - 1) * MIB + "noise oversized done".length);
    expect((await caller.session("lines")).pid).toBe(pid);
  });

  it("attachments above 64 KiB are kept as digest, name and size; the agent gets them whole", async () => {
    const image = (bytes: number) => ({
      block: {
        case: "image" as const,
        value: { mimeType: "image/png", uri: `file:///${bytes}.png`, data: Buffer.alloc(bytes, 1) },
      },
    });
    const turn = await caller.turn("attached", "", {
      prompt: [image(ATTACHMENT_BYTES), image(ATTACHMENT_BYTES + 1), text("say seen")],
    });
    const told = await caller.watchUntil("attached", 0, ({ event }) => event.case === "prompt");
    expect(told.one("prompt").content.map(({ block }) => block.case)).toEqual(["image", "omitted", "text"]);
    expect(told.one("prompt").content[1]).toMatchObject({
      block: {
        value: {
          name: `file:///${ATTACHMENT_BYTES + 1}.png`,
          mimeType: "image/png",
          sizeBytes: BigInt(ATTACHMENT_BYTES + 1),
        },
      },
    });
    expect(turn.text.match(/image/g)).toHaveLength(2);
  });

  it("an agent's stderr is drained and only its end is kept: the error of its exit is bounded, and so is the runner", async () => {
    await caller.turn("stderr", "say warm");
    const before = residentBytes(stack.runner.pid);
    const turn = await caller.turn("stderr", "stderr 64\nexit 3");
    const { outcome, error } = turn.one("ended");
    expect(outcome).toBe(Outcome.FAILED);
    expect(error?.reason).toBe(ErrorReason.AGENT_EXITED);
    expect(error?.message.length).toBeLessThan(ERROR_CHARACTERS);
    expect(residentBytes(stack.runner.pid) - before).toBeLessThan(GROWTH_BYTES);
  });

  it("a teardown: what ignores SIGTERM, in a group of its own, is gone after the bound", async () => {
    const parked = await caller.turn(
      "stubborn",
      `run setsid sh -c "trap '' TERM; while :; do sleep 1; done" > /dev/null 2>&1 & echo left`,
    );
    await caller.allow("stubborn", parked.gateId);
    await caller.ended("stubborn", parked.turnId);
    expect(stack.agentsOf("stubborn").length).toBeGreaterThan(1);
    const from = performance.now();
    await caller.api.closeSession({ sessionId: "stubborn" }, caller.options());
    expect(stack.agentsOf("stubborn")).toEqual([]);
    expect(performance.now() - from).toBeGreaterThan(TERM_BOUND_MS / 2);
    await eventually(
      "cold",
      () => caller.session("stubborn"),
      ({ state }) => state === SessionState.COLD,
    );
  });

  it("live processes: full of waiting ones a new session is POOL_FULL and says when to try again", async () => {
    const full = await Stack.start({ settings: { HOLDFAST_MAX_LIVE: "1" } });
    onTestFinished(() => full.close());
    const other = full.caller();
    await other.turn("first", "run echo held");
    const refusal = await other.refusedTurn("second", "say hello");
    expect(refusal.reason).toBe("POOL_FULL");
    expect(refusal.retryAfterMs).toBeGreaterThan(0);
    expect(full.agents()).toHaveLength(1);
  });
});
