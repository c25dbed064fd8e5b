import type { TurnEvent } from "@holdfast/proto";
import { ToolCallStatus } from "@holdfast/proto";
import type { openMemoryStore } from "@holdfast/store";
import { describe, expect, test } from "vitest";
import { call } from "./fixture/events.ts";
import { aGate, anAnswer, GATEWAY, must, OWNER, ownerOf, parked, TURN, worldOf } from "./fixture/session.ts";
import { UnfinishedCalls } from "./unfinished.ts";

const { UNSPECIFIED, PENDING, IN_PROGRESS, COMPLETED, FAILED, NOT_EXECUTED, OUTCOME_UNKNOWN } = ToolCallStatus;

const announced = (id: string, status: ToolCallStatus = PENDING): TurnEvent["event"] => ({
  case: "toolCall",
  value: call(id, { status }),
});
const updated = (id: string, status: ToolCallStatus): TurnEvent["event"] => ({
  case: "toolCallUpdate",
  value: call(id, { status }),
});

async function closingOf(events: readonly TurnEvent["event"][], turnId = TURN) {
  const { held } = await parked();
  const calls = new UnfinishedCalls();
  for (const event of events) calls.note({ event });
  return calls.closing(held.record, turnId).map(({ id, status }) => [id, status] as const);
}

describe("a tool call is unfinished", () => {
  test("from its announcement until it is completed or failed, in the order of the announcements", async () => {
    const events = [announced("a"), announced("b"), announced("c"), updated("a", IN_PROGRESS), updated("b", COMPLETED)];
    expect(await closingOf(events)).toEqual([
      ["a", OUTCOME_UNKNOWN],
      ["c", OUTCOME_UNKNOWN],
    ]);
    expect(await closingOf([...events, updated("a", FAILED), updated("c", FAILED)])).toEqual([]);
  });

  test("also when its announcement has no status, but not by an update that has none", async () => {
    expect(await closingOf([announced("a", UNSPECIFIED)])).toEqual([["a", OUTCOME_UNKNOWN]]);
    expect(await closingOf([announced("a"), updated("a", COMPLETED), updated("a", UNSPECIFIED)])).toEqual([]);
  });

  test("not after a closing update, so that a second ending has nothing to close", async () => {
    expect(await closingOf([announced("a"), updated("a", OUTCOME_UNKNOWN)])).toEqual([]);
    expect(await closingOf([announced("a"), updated("a", NOT_EXECUTED)])).toEqual([]);
  });

  test("again when its id comes back for another call", async () => {
    expect(await closingOf([announced("a"), updated("a", COMPLETED), announced("a")])).toEqual([
      ["a", OUTCOME_UNKNOWN],
    ]);
  });

  test("of other events nothing is noted, and clear forgets all", async () => {
    expect(await closingOf([{ case: undefined }])).toEqual([]);
    const { held } = await parked();
    const calls = new UnfinishedCalls();
    calls.note({ event: announced("a") });
    calls.clear();
    expect(calls.closing(held.record, TURN)).toEqual([]);
  });
});

describe("what is said of an unfinished call with a gate", () => {
  async function statusOf(play: (store: ReturnType<typeof openMemoryStore>) => Promise<unknown>, gates = ["g1"]) {
    const { store } = await parked(...gates);
    await play(store);
    const calls = new UnfinishedCalls();
    calls.note({ event: announced("call-g1") });
    const read = await store.records.get({ project: "acme", sessionId: "build-7" });
    if (read.kind !== "found") throw new Error(read.kind);
    return calls.closing(read.record, TURN).map(({ status }) => status);
  }

  const owner = { kind: "owner", incarnation: OWNER.incarnation, epoch: 1 } as const;
  const settle = { type: "settle_prompt", turnId: TURN, stopReason: "end_turn", agentSessionId: null } as const;
  const admission = (by: string, execution: number) => ({
    type: "admit" as const,
    commandId: `command-${by}`,
    execution,
    delivery: { incarnation: OWNER.incarnation, nonce: `n-${by}` },
    slot: "gate_open" as const,
  });

  test("nothing while the gate is open", async () => {
    expect(await statusOf(async () => undefined)).toEqual([]);
  });

  test("it was not executed when its gate closed without an answer", async () => {
    expect(await statusOf((store) => must(worldOf(store, "w"), settle, owner))).toEqual([NOT_EXECUTED]);
  });

  test("it was not executed when its answer was a rejection, or never reached the agent", async () => {
    const answered = (optionId: string) => async (store: ReturnType<typeof openMemoryStore>) => {
      await must(worldOf(store, "w"), anAnswer("g1", "w", optionId), GATEWAY);
      await must(worldOf(store, "v"), settle, owner);
    };
    expect(await statusOf(answered("no"))).toEqual([NOT_EXECUTED]);
    expect(await statusOf(answered("yes"))).toEqual([NOT_EXECUTED]);
  });

  test("nothing is known of it when it was allowed and the agent never reported", async () => {
    const allowed = async (store: ReturnType<typeof openMemoryStore>) => {
      await must(worldOf(store, "w"), anAnswer("g1", "w"), GATEWAY);
      await must(worldOf(store, "v"), admission("w", 2), owner);
      await must(worldOf(store, "u"), settle, owner);
    };
    expect(await statusOf(allowed)).toEqual([OUTCOME_UNKNOWN]);
  });

  test("nothing is known of it when one of its gates allowed it, whatever a later one of the same id says", async () => {
    const twice = async (store: ReturnType<typeof openMemoryStore>) => {
      await must(worldOf(store, "w"), anAnswer("g1", "w"), GATEWAY);
      await must(worldOf(store, "v"), admission("w", 2), owner);
      await must(worldOf(store, "r"), { type: "report_answer", gateId: "g1" }, owner);
      const again = { ...aGate("g2"), preview: { ...aGate("g2").preview, toolCallId: "call-g1" } };
      await must(worldOf(store, "a"), again, owner);
      await must(worldOf(store, "u"), settle, owner);
    };
    expect(await statusOf(twice)).toEqual([OUTCOME_UNKNOWN]);
  });

  test("gates of another turn say nothing of it: ids come back", async () => {
    const { held, store } = await parked("g1");
    await must(worldOf(store, "w"), settle, ownerOf(held));
    const calls = new UnfinishedCalls();
    calls.note({ event: announced("call-g1") });
    const read = await store.records.get({ project: "acme", sessionId: "build-7" });
    if (read.kind !== "found") throw new Error(read.kind);
    expect(calls.closing(read.record, "t0").map(({ status }) => status)).toEqual([OUTCOME_UNKNOWN]);
  });
});
