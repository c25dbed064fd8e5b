import { create } from "@bufbuild/protobuf";
import type { Store } from "@holdfast/pool";
import { ContentBlockSchema, ToolCallStatus, type TurnEvent } from "@holdfast/proto";
import { openMemoryStore } from "@holdfast/store";
import { decodeEvent } from "@holdfast/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Held } from "./change.ts";
import { appendAll, call, draft, raw, Told } from "./fixture/events.ts";
import { fault } from "./fixture/faults.ts";
import { FaultyStore } from "./fixture/faulty-store.ts";
import {
  aGate,
  aPrompt,
  idleClock,
  KEY,
  logOf,
  must,
  ownerOf,
  recordOf,
  running,
  TURN,
  worldOf,
} from "./fixture/session.ts";
import { Fenced, Journal } from "./journal.ts";
import { appendOutbox, logSources } from "./outbox.ts";
import { settleOwnerless } from "./settle.ts";

const SETTLE = { type: "settle_prompt", turnId: TURN, stopReason: "end_turn", agentSessionId: null } as const;

const announced = (id: string) => draft(`call:${id}`, { case: "toolCall", value: call(id, { title: `call ${id}` }) });

/** A turn has ended, with a gate and `calls` more tool calls unfinished; nothing of it is in the log but their announcements. */
async function ended(calls: number): Promise<{ store: Store; held: Held }> {
  const { store, held } = await running();
  const others = Array.from({ length: calls }, (_, index) => announced(`call-${index}`));
  await appendAll(store, 1, [announced("call-g1"), ...others]);
  await must(worldOf(store, "gate"), aGate("g1"), ownerOf(held));
  return { store, held: await must(worldOf(store, "end"), SETTLE, ownerOf(held)) };
}

async function tell(store: Store, held: Held, known: ReadonlySet<string> = new Set()) {
  const told = new Told();
  const journal = await Journal.open(worldOf(store, "w"), KEY, held.record.epoch, told.note);
  await appendOutbox(journal, held.record, logSources(store.events, KEY), known);
  return told;
}

const casesOf = (told: Told) => told.events.map(({ event }) => event.event.case);
const idsIn = async (store: Store) => (await logOf(store)).map(({ id }) => id);

describe("the outbox is appended", () => {
  test("in order, with the tool calls that the turn left unfinished closed before its end (D16)", async () => {
    const { store, held } = await ended(1);
    const told = await tell(store, held);
    expect(casesOf(told)).toEqual([
      "prompt",
      "started",
      "gateOpened",
      "gateClosed",
      "toolCallUpdate",
      "toolCallUpdate",
      "ended",
    ]);
    const closings = told.events.flatMap(({ event: { event } }) =>
      event.case === "toolCallUpdate" ? [[event.value.id, event.value.status]] : [],
    );
    expect(closings).toEqual([
      ["call-g1", ToolCallStatus.NOT_EXECUTED],
      ["call-0", ToolCallStatus.OUTCOME_UNKNOWN],
    ]);
  });

  test("without what is known to be in the log", async () => {
    const { store, held } = await ended(0);
    const known = new Set(held.record.outbox.slice(0, 3).map(({ id }) => id));
    expect(casesOf(await tell(store, held, known))).toEqual(["gateClosed", "toolCallUpdate", "ended"]);
  });

  test("a second time adds nothing for whoever asks the log what it holds", async () => {
    const { store, held } = await ended(2);
    await tell(store, held);
    const before = await idsIn(store);
    const known = await store.events.holds(
      KEY,
      held.record.outbox.map(({ id }) => id),
    );
    await tell(store, held, known);
    expect(await idsIn(store)).toEqual(before);
  });

  test("with the whole call in the gate's event, and the preview when the log no longer has it", async () => {
    const { store, held } = await running();
    await appendAll(store, 1, [
      draft("call", { case: "toolCall", value: call("c", { rawInputJson: '{"long":"x"}' }) }),
    ]);
    await must(worldOf(store, "a"), aGate("g1", 1), ownerOf(held));
    const now = await must(worldOf(store, "b"), aGate("g2", 99), ownerOf(held));
    const told = await tell(store, now);
    const inputs = told.events.flatMap(({ event: { event } }) =>
      event.case === "gateOpened" ? [event.value.gate?.toolCall?.rawInputJson] : [],
    );
    expect(inputs).toEqual(['{"long":"x"}', "{}"]);
  });

  test("with the whole prompt from whoever has it, else with the record's preview", async () => {
    const { store, held } = await running();
    const text = "the whole prompt";
    const block = create(ContentBlockSchema, { block: { case: "text", value: { text } } });
    const told = new Told();
    const journal = await Journal.open(worldOf(store, "w"), KEY, 1, told.note);
    await appendOutbox(journal, held.record, { ...logSources(store.events, KEY), prompt: () => [block] }, new Set());
    expect(promptIn(told.events[0]?.event)).toBe(text);
    const { store: other, held: again } = await running();
    expect(promptIn((await tell(other, again)).events[0]?.event)).toBe("say hello");
  });

  test("the calls of a turn are closed by its own end, also when the next turn is open already", async () => {
    const { store, held } = await ended(1);
    const next = await must(worldOf(store, "next"), { ...aPrompt("t2"), afterSeq: 2 }, ownerOf(held));
    await appendAll(store, 1, [draft("call:t2", { case: "toolCall", value: call("call-of-t2") }, "t2")]);
    const told = await tell(store, next);
    const closed = told.events.flatMap(({ event: { event, turnId } }) =>
      event.case === "toolCallUpdate" ? [[turnId, event.value.id]] : [],
    );
    expect(closed).toEqual([
      [TURN, "call-g1"],
      [TURN, "call-0"],
    ]);
  });
});

function promptIn(event: TurnEvent | undefined): string | undefined {
  const block = event?.event.case === "prompt" ? event.event.value.content[0]?.block : undefined;
  return block?.case === "text" ? block.value.text : undefined;
}

class Crash extends Error {
  override readonly name = "Crash";
}

/** Its process stops at an append, before it is sent or after it is in; woken, it goes on as if nothing had been. */
function stopping(store: Store, appends: number, isIn: boolean) {
  let left = appends;
  const log: Store["events"] = {
    ...store.events,
    async append(...write) {
      if (left === 0 && !isIn) throw new Crash();
      const outcome = await store.events.append(...write);
      if (left === 0) throw new Crash();
      left -= 1;
      return outcome;
    },
  };
  const wake = () => {
    left = Number.POSITIVE_INFINITY;
  };
  return { log, wake };
}

test("after a crash at any point the next epoch appends the rest: each event once, in order, and the dead writer is fenced", () =>
  fc.assert(
    fc.asyncProperty(
      fc.nat({ max: 8 }),
      fc.boolean(),
      fc.constantFrom(0, 1, 3, 70, 140),
      fc.array(fault(), { maxLength: 8 }),
      async (appends, isIn, calls, faults) => {
        const { store, held } = await ended(calls);
        const { log, wake } = stopping(store, appends, isIn);
        const dead = await Journal.open({ log, clock: idleClock() }, KEY, 1, () => undefined);
        const stopped = await appendOutbox(dead, held.record, logSources(log, KEY), new Set()).catch((error) => error);
        expect(stopped === undefined || stopped instanceof Crash).toBe(true);
        const faulty = new FaultyStore(store, faults);
        await untilSettled(faulty, held);
        await faulty.settle();
        const announcements = calls + 1;
        const ids = (await idsIn(store)).slice(announcements);
        const closings = ids.filter((id) => id.startsWith("call_closed"));
        expect(new Set(ids).size).toBe(ids.length);
        expect(ids.filter((id) => !closings.includes(id))).toEqual(held.record.outbox.map(({ id }) => id));
        expect(closings).toHaveLength(announcements);
        expect(ids.at(-1)).toBe(`ended:${TURN}`);
        wake();
        await expect(dead.append([raw("too late")])).rejects.toThrow(Fenced);
        await expect(Journal.open({ log, clock: idleClock() }, KEY, 1, () => undefined)).rejects.toThrow(Fenced);
        const numbers = (await logOf(store)).map(({ seq }) => seq);
        expect(numbers).toEqual(numbers.map((_, index) => index + 1));
        for (const { seq, body } of await store.events.read(KEY, 0, 1_000)) {
          expect(Number(decodeEvent(body).seq)).toBe(seq);
        }
      },
    ),
    { numRuns: 60 },
  ));

/** As whoever reads the record does: again when the store could not be asked. */
async function untilSettled(store: Store, held: Held): Promise<void> {
  for (;;) {
    try {
      await settleOwnerless(worldOf(store, "heir"), KEY, held);
      return;
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "StoreUnavailable") throw error;
    }
  }
}

test("an empty outbox appends nothing", async () => {
  const store = openMemoryStore();
  const { held } = await running(store);
  expect(casesOf(await tell(store, { ...held, record: { ...(await recordOf(store)), outbox: [] } }))).toEqual([]);
});
