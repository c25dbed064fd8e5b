// What is not as it should be: agents that print anything, readers that do not read, requests and events that are too large,
// fields that make no sense, and watchers whose services come and go.
import { toBinary } from "@bufbuild/protobuf";
import { Client, credentials, type ServiceError, status } from "@grpc/grpc-js";
import { GetSessionRequestSchema, Outcome, SessionState, type TurnEvent, TurnEventSchema } from "@holdfast/proto";
import { MAX_RECEIVED_BYTES, MAX_REQUEST_BYTES } from "@holdfast/wire";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Caller, refusalOf } from "./src/caller.ts";
import { Follower } from "./src/follower.ts";
import { isAlive, residentBytes } from "./src/processes.ts";
import { Stack } from "./src/stack.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const EVENT_BYTES = 768 * KIB;
const LONG_MS = 180_000;
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
/** What comes after the prompt was answered. */
const STRAY = ["stray-update", "stray-gate"] as const;
const FUZZED_PROMPTS = 4;

const many = (length: number) => "x".repeat(length);

describe("an agent's noise", { timeout: LONG_MS }, () => {
  let stack: Stack;
  let caller: Caller;
  let parkedPid: bigint;
  beforeAll(async () => {
    stack = await Stack.start();
    caller = stack.caller();
    await caller.turn("neighbour", "run echo held");
    parkedPid = (await caller.session("neighbour")).pid;
  });
  /** Whatever happened: the runner is the one that was started, and who waited there still waits. */
  afterAll(async () => {
    const neighbour = await caller.session("neighbour");
    await stack.close();
    expect(neighbour).toMatchObject({ state: SessionState.PARKED, pid: parkedPid });
    expect(stack.runner.log).not.toContain('"event":"crash"');
  });

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
    for (const kind of STRAY) {
      expect((await caller.turn("noise", `noise ${kind}`)).one("ended").outcome).toBe(Outcome.COMPLETED);
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
    expect(failed.one("ended")).toMatchObject({ outcome: Outcome.FAILED, error: { reason: "PROMPT_FAILED" } });
    const gone = await caller.turn("noise-gone", "say before\nnoise no-newline");
    expect(gone.text).toContain("the last line has no end");
    expect(gone.one("ended")).toMatchObject({ outcome: Outcome.FAILED, error: { reason: "AGENT_EXITED" } });
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
  let stack: Stack;
  let caller: Caller;
  beforeAll(async () => {
    stack = await Stack.start();
    caller = stack.caller();
  });
  afterAll(() => stack.close());

  /** As long as a prompt can be: fourteen messages, which become about as many durable events and as many live ones. */
  const SAID = 14;
  const LARGE_PROMPT = Array.from({ length: SAID }, (_, index) => `say ${index} ${many(250 * KIB)}`).join("\n");
  const WARM_UP_TURNS = 4;
  const LARGE_TURNS = 20;
  /** A twentieth of what the streams would hold if nobody held them back. */
  const GROWTH_BYTES = 96 * MIB;

  it("69: a reader that stops reading: memory bounded, other sessions unaffected, every durable event kept for it", async () => {
    await caller.turn("large", "say ready");
    for (let turn = 0; turn < WARM_UP_TURNS; turn += 1) await caller.turn("large", LARGE_PROMPT);
    const services = [stack.gateway, stack.runner];
    const before = services.map(({ pid }) => residentBytes(pid));
    const stalled = caller.api.watchSession({ sessionId: "large", afterSeq: 0n }, caller.options(LONG_MS));
    await stalled.next();
    const flooded = caller.stream("flooded", "flood 20000");
    await flooded.next();

    let most = [0, 0];
    for (let turn = 0; turn < LARGE_TURNS; turn += 1) {
      expect((await caller.turn("large", LARGE_PROMPT)).one("ended").outcome).toBe(Outcome.COMPLETED);
      expect((await caller.turn("other", `say ${turn}`)).text).toBe(`${turn}`);
      const grown = services.map(({ pid }, index) => residentBytes(pid) - (before[index] ?? 0));
      most = most.map((bytes, index) => Math.max(bytes, grown[index] ?? 0));
    }
    expect(most[0]).toBeLessThan(GROWTH_BYTES);
    expect(most[1]).toBeLessThan(GROWTH_BYTES);

    // It reads again: nothing durable is missing.
    const last = Number((await caller.session("large")).lastSeq);
    const seqs: number[] = [];
    for await (const { event } of stalled) {
      if (event !== undefined && event.seq > 0n) seqs.push(Number(event.seq));
      if (seqs.at(-1) === last) break;
    }
    expect(seqs).toEqual(Array.from({ length: last }, (_, index) => index + 1));
    const events: TurnEvent[] = [];
    for await (const event of flooded) events.push(event);
    expect(events.at(-1)?.event.case).toBe("ended");
    const durable = events.filter(({ seq }) => seq > 0n).map(({ seq }) => Number(seq));
    expect(durable).toEqual(durable.map((_, index) => (durable[0] ?? 0) + index));
  });

  it("70: a prompt of almost 4 MB is accepted and reaches the agent whole; a larger one is refused, and nothing is written", async () => {
    const largest = MAX_REQUEST_BYTES - KIB;
    const taken = await caller.turn("long-prompt", `say ${many(largest - 5)}`);
    expect(taken.one("ended").outcome).toBe(Outcome.COMPLETED);
    const [omitted] = taken.one("message").content;
    expect(omitted?.block).toMatchObject({ case: "omitted", value: { sizeBytes: BigInt(largest - 5) } });

    const refusal = await caller.refusedTurn("too-long", `say ${many(MAX_REQUEST_BYTES)}`);
    expect(refusal.reason).toBe("MESSAGE_TOO_LARGE");
    const huge = await caller.turn("too-long", many(MAX_RECEIVED_BYTES + KIB)).then(
      () => null,
      (error: ServiceError) => error.code,
    );
    expect(huge).toBe(status.RESOURCE_EXHAUSTED);
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
    expect(whole.text.length).toBeGreaterThan(10_000);
    // The reader kept up, or it did not: what it got live is a part of the whole, in order.
    expect(isSubsequence(pieces, whole.text.replaceAll("\n", ""))).toBe(true);
    expect(whole.text.endsWith("after")).toBe(true);
  });

  it("70: an event of 10 MB, or of 5: bounded, with a mark that says what was left out; the session lives", async () => {
    for (const mib of [5, 10]) {
      const turn = await caller.turn(`event-${mib}`, `noise oversized ${mib}\nsay after`);
      expect(turn.text).toContain("after");
      for (const event of turn.events) expect(toBinary(TurnEventSchema, event).length).toBeLessThan(EVENT_BYTES);
      const marks = turn.events.filter(
        ({ event }) =>
          (event.case === "message" &&
            event.value.truncated &&
            event.value.content.some(({ block }) => block.case === "omitted")) ||
          (event.case === "raw" && event.value.json.includes("line_dropped")),
      );
      expect([mib, marks.length]).toEqual([mib, 1]);
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

describe("fields", { timeout: LONG_MS }, () => {
  let stack: Stack;
  let caller: Caller;
  beforeAll(async () => {
    stack = await Stack.start();
    caller = stack.caller();
  });
  afterAll(() => stack.close());

  const BAD_ID = "no/slash";
  /** By RPC: a request in which much is wrong, as JSON and as a message, and the fields that have to be named. */
  const BAD = [
    {
      rpc: "RunTurn",
      call: (api: Caller["api"], options: object) =>
        first(
          api.runTurn(
            {
              sessionId: BAD_ID,
              agent: "a b",
              requestId: "\n",
              labels: { "": "v" },
              ifBusy: 77 as IfBusy,
              limits: { idleTtl: { seconds: -1n } },
            },
            options,
          ),
        ),
      fields: ["session_id", "agent", "prompt", 'labels[""]', "request_id", "if_busy", "limits.idle_ttl"],
    },
    {
      rpc: "RespondApproval",
      call: (api: Caller["api"], options: object) =>
        api.respondApproval({ sessionId: "", gateId: "", idempotencyKey: "\t", channel: many(65) }, options),
      json: { idempotencyKey: "\t", channel: many(65) },
      fields: ["session_id", "gate_id", "decision", "idempotency_key", "channel"],
    },
    {
      rpc: "CancelTurn",
      call: (api: Caller["api"], options: object) =>
        api.cancelTurn({ sessionId: BAD_ID, idempotencyKey: many(257) }, options),
      json: { sessionId: BAD_ID, idempotencyKey: many(257) },
      fields: ["session_id", "idempotency_key"],
    },
    {
      rpc: "WatchSession",
      call: (api: Caller["api"], options: object) => first(api.watchSession({ sessionId: "", afterSeq: -1n }, options)),
      fields: ["session_id", "after_seq"],
    },
    {
      rpc: "GetSession",
      call: (api: Caller["api"], options: object) => api.getSession({ sessionId: many(129) }, options),
      json: { sessionId: many(129) },
      fields: ["session_id"],
    },
    {
      rpc: "ListSessions",
      call: (api: Caller["api"], options: object) =>
        api.listSessions({ pageSize: -1, pageToken: "?", states: [77 as SessionState] }, options),
      json: { pageSize: -1, pageToken: "?", states: [77] },
      fields: ["page_size", "page_token", "states[0]"],
    },
    {
      rpc: "CloseSession",
      call: (api: Caller["api"], options: object) =>
        api.closeSession({ sessionId: BAD_ID, idempotencyKey: "\r" }, options),
      json: { sessionId: BAD_ID, idempotencyKey: "\r" },
      fields: ["session_id", "idempotency_key"],
    },
    {
      rpc: "ListApprovals",
      call: (api: Caller["api"], options: object) =>
        api.listApprovals({ pageSize: -1, filter: { sessionId: BAD_ID, agent: "a b" } }, options),
      json: { pageSize: -1, filter: { sessionId: BAD_ID, agent: "a b" } },
      fields: ["filter.session_id", "filter.agent", "page_size"],
    },
  ];

  it.each(BAD)(
    "71: bad fields of $rpc: INVALID_ARGUMENT naming every one of them, over gRPC and JSON",
    async ({ rpc, call, json, fields }) => {
      const refusal = await refusalOf(call(caller.api, caller.options()));
      expect(refusal.reason).toBe("FIELD_INVALID");
      expect((refusal.violations ?? []).map(({ field }) => field).sort()).toEqual([...fields].sort());
      if (json !== undefined) {
        const posted = await post(stack, rpc, JSON.stringify(json));
        expect([posted.status, posted.body.code]).toEqual([400, "invalid_argument"]);
        for (const field of fields) expect(posted.named).toContain(field);
      }
      expect((await caller.api.listSessions({}, caller.options())).sessions).toEqual([]);
      expect(stack.agents()).toEqual([]);
    },
  );

  it("71: JSON that is none, or holds another type than the field's, names the field and does nothing", async () => {
    for (const [body, names] of [
      ["{", ""],
      ['{"sessionId":5}', "session_id"],
      ['{"sessionId":"s","expectedExecution":-1}', "expected_execution"],
    ]) {
      const posted = await post(stack, "CancelTurn", body ?? "");
      expect([body, posted.status, posted.body.code]).toEqual([body, 400, "invalid_argument"]);
      expect(posted.body.message).toContain(names);
    }
    expect((await caller.api.listSessions({}, caller.options())).sessions).toEqual([]);
  });

  it("71: fields that nobody knows are ignored, over gRPC and JSON; bytes that are no message are refused, and nothing else happens", async () => {
    await caller.turn("known", "say hello");
    const posted = await post(stack, "GetSession", '{"sessionId":"known","colour":"green","deep":{"er":[1,2]}}');
    expect(posted.status).toBe(200);
    const request = Buffer.from(
      toBinary(GetSessionRequestSchema, { $typeName: "holdfast.v1.GetSessionRequest", sessionId: "known" }),
    );
    // Field 1000, a varint.
    expect(await rawCall(stack, "GetSession", Buffer.concat([request, Buffer.from([0xc0, 0x3e, 0x07])]))).toBe(
      status.OK,
    );
    // A length that goes past the end.
    const broken = await rawCall(stack, "GetSession", Buffer.from([0x0a, 0x7f, 0x61]));
    expect(broken).not.toBe(status.OK);
    expect(isAlive(stack.gateway.pid)).toBe(true);
    expect((await caller.session("known")).state).toBe(SessionState.IDLE);
  });
});

describe("watchers", { timeout: LONG_MS }, () => {
  it("53: WatchSession from any cursor, through reconnects, runner death and gateway restart: every durable event once, in order", async () => {
    const stack = await Stack.start();
    onTestFinished(() => stack.close());
    const reach = cachedCaller(stack);
    const first = await reach().turn("watched", "say one\nthink two\nflood 50");
    const { lastSeq } = await reach().session("watched");
    const cursors = [0, 1, Math.floor(Number(lastSeq) / 2), Number(lastSeq)];
    const followers = cursors.map((cursor) => new Follower(reach, "watched", cursor));
    await Promise.all(followers.map((follower) => follower.upTo(Number(lastSeq))));
    expect(first.one("ended").outcome).toBe(Outcome.COMPLETED);

    // The runner dies with a gate open: the gate goes cold, and the session goes on at its next incarnation.
    const parked = await reach().turn("watched", "say two\nrun echo held");
    await stack.runner.end("SIGKILL");
    await stack.runner.restart();
    await reach().stop("watched");
    await reach().ended("watched", parked.turnId);
    await reach().turn("watched", "say three\nflood 50");
    // It dies in the middle of a turn.
    const running = reach().stream("watched", "say four\nsleep 600000");
    await running.next();
    await stack.runner.end("SIGKILL");
    await running.return(undefined).catch(() => undefined);
    await stack.runner.restart();
    await reach().turn("watched", "say five");
    // The gateway goes, gently and not, with a turn running on the other side.
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const cut = reach().stream("watched", "say six\nflood 2000\nsay seven");
      await cut.next();
      await stack.gateway.end(signal);
      await expect(drained(cut)).rejects.toMatchObject({ code: status.UNAVAILABLE });
      await stack.gateway.restart();
      const { turn } = await reach().session("watched");
      await reach().ended("watched", turn?.turnId ?? "");
    }
    // The runner is told to go, and goes well.
    await stack.runner.end("SIGTERM");
    await stack.runner.restart();
    await reach().turn("watched", "say eight");

    const last = Number((await reach().session("watched")).lastSeq);
    await Promise.all(followers.map((follower) => follower.upTo(last)));
    await Promise.all(followers.map((follower) => follower.leave()));
    const [whole] = followers;
    for (const { from, seen } of followers) {
      expect(seen.map(({ seq }) => Number(seq))).toEqual(
        Array.from({ length: last - from }, (_, index) => from + 1 + index),
      );
      expect(seen).toEqual(whole?.seen.slice(from));
    }
    expect(whole?.breaks).toBeGreaterThan(0);
    const ends = whole?.seen.filter(({ event }) => event.case === "ended") ?? [];
    expect(new Set(ends.map(({ turnId }) => turnId)).size).toBe(ends.length);
  });
});

/** One caller for each gateway process that was there. */
function cachedCaller(stack: Stack): () => Caller {
  const callers = new Map<string, Caller>();
  return () => {
    const { address } = stack.gateway;
    const caller = callers.get(address) ?? stack.caller();
    callers.set(address, caller);
    return caller;
  };
}

async function first(stream: AsyncGenerator<unknown>): Promise<void> {
  await stream.next();
  await stream.return(undefined);
}

async function drained(stream: AsyncGenerator<unknown>): Promise<void> {
  for await (const _ of stream);
}

function isSubsequence(pieces: readonly string[], whole: string): boolean {
  let at = 0;
  for (const piece of pieces) {
    const found = whole.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return true;
}

type Posted = {
  readonly status: number;
  readonly body: { readonly code?: string; readonly message?: string };
  /** Every text in the error's details. */
  readonly named: string;
};

async function post(stack: Stack, method: string, body: string): Promise<Posted> {
  const response = await fetch(`http://${stack.gateway.address}/holdfast.v1.SessionService/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  const told = (await response.json()) as Posted["body"] & { details?: { value: string }[] };
  const named = (told.details ?? []).map(({ value }) => Buffer.from(value, "base64").toString("latin1")).join("\n");
  return { status: response.status, body: told, named };
}

/** A unary call with these very bytes; resolves to the status. */
async function rawCall(stack: Stack, method: string, bytes: Buffer): Promise<status> {
  const client = new Client(stack.gateway.address, credentials.createInsecure());
  const same = (message: Buffer) => message;
  const code = await new Promise<status>((resolve) => {
    client.makeUnaryRequest(`/holdfast.v1.SessionService/${method}`, same, same, bytes, (error) =>
      resolve(error?.code ?? status.OK),
    );
  });
  client.close();
  return code;
}
