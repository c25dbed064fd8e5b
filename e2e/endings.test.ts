// After any ending nothing of the turn is open any more: not in its events, not in the session, not in anybody's inbox.
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Disposition, GateState, Outcome, SessionState, ToolCallStatus } from "@holdfast/proto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Caller, eventually, type TurnSeen } from "./src/caller.ts";
import { Stack } from "./src/stack.ts";

const TURN_LIMIT_MS = 3_000;
const FINAL_CALLS: readonly ToolCallStatus[] = [
  ToolCallStatus.COMPLETED,
  ToolCallStatus.FAILED,
  ToolCallStatus.NOT_EXECUTED,
  ToolCallStatus.OUTCOME_UNKNOWN,
];
const UNSETTLED: readonly (Disposition | undefined)[] = [
  Disposition.UNSPECIFIED,
  Disposition.QUEUED,
  Disposition.STORED,
  Disposition.SENDING,
];

let stack: Stack;
let caller: Caller;
let other: Caller;

type Ending = {
  readonly by: string;
  /** Brings the turn to its end, and says which turn it was. */
  readonly bring: (session: string) => Promise<string>;
  readonly outcome: Outcome;
  /** How each call of the turn ends, in the order in which they were announced. */
  readonly calls: readonly ToolCallStatus[];
  readonly ran: readonly string[];
};

const ENDINGS: readonly Ending[] = [
  {
    by: "its own completion, one call allowed and one rejected",
    async bring(session) {
      const { turnId, gateIds } = await caller.turn(session, "both echo yes && echo no");
      await caller.allow(session, gateIds[0] ?? "");
      await caller.reject(session, gateIds[1] ?? "");
      return turnId;
    },
    outcome: Outcome.COMPLETED,
    calls: [ToolCallStatus.COMPLETED, ToolCallStatus.FAILED],
    ran: ["echo yes"],
  },
  {
    by: "a Stop with gates open, one of them answered and not yet run",
    async bring(session) {
      const { turnId, gateIds } = await caller.turn(session, "both-held echo a && echo b");
      await caller.allow(session, gateIds[0] ?? "");
      await caller.stop(session);
      return turnId;
    },
    outcome: Outcome.CANCELLED,
    calls: [ToolCallStatus.FAILED, ToolCallStatus.FAILED],
    ran: [],
  },
  {
    by: "a Stop after the agent died with a gate open and a call of its batch announced",
    async bring(session) {
      const { turnId } = await caller.turn(session, "batch echo free && echo gated");
      await killAgent(session);
      await eventually(
        "no owner",
        () => caller.session(session),
        ({ owner }) => owner === undefined,
      );
      await caller.stop(session);
      return turnId;
    },
    outcome: Outcome.CANCELLED,
    calls: [ToolCallStatus.OUTCOME_UNKNOWN, ToolCallStatus.NOT_EXECUTED],
    ran: [],
  },
  {
    by: "the agent's exit while a call runs",
    async bring(session) {
      const turnId = await runEndless(session);
      await killAgent(session);
      return turnId;
    },
    outcome: Outcome.FAILED,
    calls: [ToolCallStatus.OUTCOME_UNKNOWN],
    ran: ["sleep 600"],
  },
  {
    by: "the turn limit",
    async bring(session) {
      return runEndless(session, TURN_LIMIT_MS);
    },
    outcome: Outcome.FAILED,
    calls: [ToolCallStatus.OUTCOME_UNKNOWN],
    ran: ["sleep 600"],
  },
  {
    by: "the death of its runner while a call runs",
    async bring(session) {
      const turnId = await runEndless(session);
      await stack.runner.end("SIGKILL");
      await stack.runner.restart();
      await caller.session(session);
      return turnId;
    },
    outcome: Outcome.LOST,
    calls: [ToolCallStatus.OUTCOME_UNKNOWN],
    ran: ["sleep 600"],
  },
  {
    by: "the end of its runner (SIGTERM) while a call runs",
    async bring(session) {
      const turnId = await runEndless(session);
      await stack.runner.end("SIGTERM");
      await stack.runner.restart();
      return turnId;
    },
    outcome: Outcome.CANCELLED,
    calls: [ToolCallStatus.OUTCOME_UNKNOWN],
    ran: ["sleep 600"],
  },
];

describe("a turn that was ended", () => {
  beforeAll(async () => {
    stack = await Stack.start({ gateways: 2 });
    caller = stack.caller();
    other = stack.caller({ gateway: stack.gateways[1] ?? stack.gateway });
  });
  afterAll(() => stack.close());

  for (const [index, { by, bring, outcome, calls, ran }] of ENDINGS.entries()) {
    it(`76: by ${by}: no tool call, gate or command of it is open, for anybody`, async () => {
      const session = `ending-${index}`;
      const turnId = await bring(session);
      const log = await caller.ended(session, turnId);
      expect(log.of("ended").map((ended) => ended.outcome)).toEqual([outcome]);
      expect(log.last).toBe("ended");
      expect(callsOf(log)).toEqual(calls);
      expect(openGates(log)).toEqual([]);
      for (const reader of [caller, other]) await nothingOpen(reader, session, turnId, outcome);
      expect(stack.ledger(session).map(({ command }) => command)).toEqual(ran);
      await eventually(
        "no command runs",
        () => stack.agentsOf(session),
        (pids) => pids.length <= 1,
      );
    });
  }
});

async function nothingOpen(reader: Caller, session: string, turnId: string, outcome: Outcome): Promise<void> {
  const held = await reader.session(session);
  expect(held.turn).toMatchObject({ turnId, outcome });
  expect([SessionState.IDLE, SessionState.COLD]).toContain(held.state);
  expect(held.gates).toEqual([]);
  for (const { state, answer } of held.closedGates) {
    expect(state).not.toBe(GateState.PENDING);
    if (state === GateState.ANSWERED) expect(UNSETTLED).not.toContain(answer?.disposition);
  }
  expect(await reader.inbox(session)).toEqual([]);
  const { gates } = await reader.api.listApprovals({}, reader.options());
  expect(gates.filter((gate) => gate.sessionId === session)).toEqual([]);
}

/** The last status of each call, in the order in which the calls were announced. */
function callsOf({ events }: TurnSeen): readonly ToolCallStatus[] {
  const last = new Map<string, ToolCallStatus>();
  for (const { event } of events) {
    if (event.case !== "toolCall" && event.case !== "toolCallUpdate") continue;
    const { id, status } = event.value;
    if (status !== ToolCallStatus.UNSPECIFIED || !last.has(id)) last.set(id, status);
  }
  const statuses = [...last.values()];
  for (const status of statuses) expect(FINAL_CALLS).toContain(status);
  return statuses;
}

/** Gates that opened and were neither answered nor closed. */
function openGates(log: TurnSeen): readonly string[] {
  const over = [...log.of("gateAnswered"), ...log.of("gateClosed")].map(({ gateId }) => gateId);
  return log.gateIds.filter((gateId) => !over.includes(gateId));
}

/** A turn whose one call was allowed and runs, and would for ever. */
async function runEndless(session: string, turnLimitMs = 600_000): Promise<string> {
  const limits = { turnLimit: durationFromMs(turnLimitMs) };
  const { turnId, gateId } = await caller.turn(session, "run sleep 600", { limits });
  await caller.allow(session, gateId);
  await eventually("it runs", () => stack.ledger(session).length === 1);
  await caller.watchUntil(session, 0, ({ event }) => event.case === "toolCallUpdate");
  return turnId;
}

async function killAgent(session: string): Promise<void> {
  const { pid } = await caller.session(session);
  process.kill(Number(pid), "SIGKILL");
}
