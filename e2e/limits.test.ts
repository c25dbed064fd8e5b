// Every limit that a caller can reach, reached (agent-limits.test.ts: those that an agent can): at the limit it holds, above it
// something clear happens and nothing else does. The server tells its limits (GetServerInfo); the contract's numbers are the first test.
//
// Where the others are proven, each beside its constant:
//   packages/wire     validate/*.test.ts: every field of every request; messages/event-size.test.ts: EVENT_BYTES,
//                     ATTACHMENT_BYTES, RAW_BYTES; refusals: STATUS_DETAILS_BYTES; grpc/unary.test.ts: MAX_REQUEST_BYTES
//   packages/pool     record/*.test.ts: OPEN_GATES_PER_SESSION, OPERATIONS_KEPT, REQUESTS_KEPT, DELIVERY_ATTEMPTS;
//                     slots/*.test.ts: the server's maxima of idle, approval and turn times, START_LIMIT_MS,
//                     CANCEL_BOUND_MS, ROOM_CLAIM_MS, the drain's grace
//   packages/ledger   change.test.ts: SWAP_ATTEMPTS, SWAP_BUDGET_MS, OUTBOX_EVENTS
//   packages/store    contract/records.ts: RECORD_BYTES
//   packages/runtime  lane.test.ts: LANE_DEPTH; settings.test.ts: ranges of settings
//   services/runner   stream/feed.test.ts: READER_EVENTS, READER_BYTES; session/inbox.test.ts: INBOX_MESSAGES, INBOX_BYTES;
//                     session/message.test.ts: MESSAGE_BYTES; acp/lines.test.ts: ACP_LINE_BYTES; acp/connection.test.ts:
//                     STDIN_BACKLOG_BYTES; process/tree.test.ts: TERM_BOUND_MS, KILL_BOUND_MS, STDERR_RING_BYTES;
//                     catalogue/catalogue.test.ts: CATALOGUE_BYTES
//   services/gateway  port/port.test.ts: FIRST_BYTES_MS, headers and requests; credentials.test.ts: TOKENS;
//                     rpc/watch-session.test.ts: watchers
//   beside this       edges.test.ts: request_bytes and event_bytes over a real agent; starts.test.ts: the start's limit;
//                     pool.test.ts: idle, turn and approval times
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Refusal } from "@holdfast/pool";
import { Outcome, type RespondApprovalRequestSchema, type RunTurnRequestSchema, Verdict } from "@holdfast/proto";
import * as wire from "@holdfast/wire";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Caller, eventually, refusalOf } from "./src/caller.ts";
import { Stack } from "./src/stack.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const HOUR_SECONDS = 3_600;
const LONG_MS = 180_000;

const many = (length: number, character = "x") => character.repeat(length);
const text = (value: string) => ({ block: { case: "text" as const, value: { text: value } } });
const seconds = (value: number) => ({ seconds: BigInt(value), nanos: 0 });
const entries = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, "v"]));
const secrets = (count: number, value = "s") =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`NAME_${index}`, { value }]));

type Row = {
  readonly limit: string;
  /** The request with something of this size in it. */
  readonly call: (caller: Caller, size: number) => Promise<unknown>;
  readonly size: number;
  readonly field: string;
};

/** Nobody's agent and nobody's session: whatever passes the fields is refused for that, and nothing is started. */
const run = (caller: Caller, more: MessageInitShape<typeof RunTurnRequestSchema>) =>
  caller.turn("nobodys", "say hello", { agent: "nobody", ...more });
const respond = (caller: Caller, more: MessageInitShape<typeof RespondApprovalRequestSchema>) =>
  caller.api.respondApproval(
    { sessionId: "nobodys", gateId: "gate", decision: { case: "verdict", value: Verdict.REJECT }, ...more },
    caller.options(),
  );

const ROWS: readonly Row[] = [
  {
    limit: "SESSION_ID_CHARACTERS",
    size: wire.SESSION_ID_CHARACTERS,
    field: "session_id",
    call: (caller, size) => caller.session(many(size)),
  },
  {
    limit: "AGENT_NAME_CHARACTERS",
    size: wire.AGENT_NAME_CHARACTERS,
    field: "agent",
    call: (caller, size) => run(caller, { agent: many(size) }),
  },
  {
    limit: "PROMPT_BLOCKS",
    size: wire.PROMPT_BLOCKS,
    field: "prompt",
    call: (caller, size) => run(caller, { prompt: Array.from({ length: size }, () => text("say x")) }),
  },
  { limit: "LABELS", size: 16, field: "labels", call: (caller, size) => run(caller, { labels: entries(size) }) },
  {
    limit: "LABEL_KEY_CHARACTERS",
    size: wire.LABEL_KEY_CHARACTERS,
    field: "labels[",
    call: (caller, size) => run(caller, { labels: { [many(size, "k")]: "v" } }),
  },
  {
    limit: "LABEL_VALUE_CHARACTERS",
    size: wire.LABEL_VALUE_CHARACTERS,
    field: 'labels["k"]',
    call: (caller, size) => run(caller, { labels: { k: many(size) } }),
  },
  {
    limit: "KEY_CHARACTERS of a turn",
    size: wire.KEY_CHARACTERS,
    field: "request_id",
    call: (caller, size) => run(caller, { requestId: many(size) }),
  },
  {
    limit: "SECRETS",
    size: wire.SECRETS,
    field: "secrets",
    call: (caller, size) => run(caller, { secrets: secrets(size) }),
  },
  {
    limit: "SECRET_NAME_CHARACTERS",
    size: wire.SECRET_NAME_CHARACTERS,
    field: "secrets[",
    call: (caller, size) => run(caller, { secrets: { [many(size, "N")]: { value: "s" } } }),
  },
  {
    limit: "SECRET_VALUE_BYTES",
    size: wire.SECRET_VALUE_BYTES,
    field: 'secrets["NAME_0"].value',
    call: (caller, size) => run(caller, { secrets: secrets(1, many(size)) }),
  },
  {
    limit: "MODEL_CHARACTERS",
    size: wire.MODEL_CHARACTERS,
    field: "config.model",
    call: (caller, size) => run(caller, { config: { model: many(size) } }),
  },
  {
    limit: "turn_limit_max",
    size: 4 * HOUR_SECONDS,
    field: "limits.turn_limit",
    call: (caller, size) => run(caller, { limits: { turnLimit: seconds(size) } }),
  },
  {
    limit: "idle_ttl_max",
    size: 24 * HOUR_SECONDS,
    field: "limits.idle_ttl",
    call: (caller, size) => run(caller, { limits: { idleTtl: seconds(size) } }),
  },
  {
    limit: "approval_ttl_max",
    size: 24 * HOUR_SECONDS,
    field: "limits.approval_ttl",
    call: (caller, size) => run(caller, { limits: { approvalTtl: seconds(size) } }),
  },
  {
    limit: "MINTED_ID_CHARACTERS",
    size: wire.MINTED_ID_CHARACTERS,
    field: "gate_id",
    call: (caller, size) => respond(caller, { gateId: many(size) }),
  },
  {
    limit: "NOTE_BYTES",
    size: wire.NOTE_BYTES,
    field: "note",
    call: (caller, size) => respond(caller, { note: many(size) }),
  },
  {
    limit: "CHANNEL_CHARACTERS",
    size: wire.CHANNEL_CHARACTERS,
    field: "channel",
    call: (caller, size) => respond(caller, { channel: many(size) }),
  },
  {
    limit: "DIGEST_CHARACTERS",
    size: wire.DIGEST_CHARACTERS,
    field: "digest",
    call: (caller, size) => respond(caller, { digest: many(size) }),
  },
  {
    limit: "KEY_CHARACTERS of an answer",
    size: wire.KEY_CHARACTERS,
    field: "idempotency_key",
    call: (caller, size) => respond(caller, { idempotencyKey: many(size) }),
  },
  {
    limit: "KEY_CHARACTERS of a Stop",
    size: wire.KEY_CHARACTERS,
    field: "idempotency_key",
    call: (caller, size) => caller.stop("nobodys", { idempotencyKey: many(size) }),
  },
];

const fieldsOf = (refusal: Refusal) => (refusal.violations ?? []).map(({ field }) => field);

describe("limits of requests", { timeout: LONG_MS }, () => {
  let stack: Stack;
  let caller: Caller;
  beforeAll(async () => {
    stack = await Stack.start();
    caller = stack.caller();
  }, LONG_MS);
  afterAll(() => stack.close(), LONG_MS);

  it("the server tells the contract's limits", async () => {
    const { limits } = await caller.api.getServerInfo({}, caller.options());
    expect(limits).toMatchObject({
      request_bytes: `${4 * MIB}`,
      event_bytes: `${768 * KIB}`,
      record_bytes: `${256 * KIB}`,
      config_bytes: `${64 * KIB}`,
      history_bytes: `${MIB}`,
      note_bytes: `${16 * KIB}`,
      gate_argument_bytes: `${512 * KIB}`,
      session_id_characters: "128",
      key_characters: "256",
      channel_characters: "64",
      labels: "16",
      label_key_characters: "63",
      label_value_characters: "256",
      prompt_blocks: "256",
      open_gates_per_session: "32",
      watchers_per_session: "32",
      page_entries: "50",
      page_max_entries: "500",
      idle_ttl_max_ms: `${24 * HOUR_SECONDS * 1_000}`,
      approval_ttl_max_ms: `${24 * HOUR_SECONDS * 1_000}`,
      turn_limit_max_ms: `${4 * HOUR_SECONDS * 1_000}`,
    });
  });

  it.each(ROWS)(
    "$limit: at $size the field holds, one more is refused, naming $field",
    async ({ call, size, field }) => {
      const held = await refusalOf(call(caller, size));
      expect(["AGENT_UNKNOWN", "SESSION_UNKNOWN"]).toContain(held.reason);
      const over = await refusalOf(call(caller, size + 1));
      expect(over.reason).toBe("FIELD_INVALID");
      expect(fieldsOf(over)).toEqual([expect.stringContaining(field)]);
    },
  );

  it("CONFIG_BYTES: a config that cannot be kept is CONFIG_TOO_LARGE, and nothing is there afterwards; half of that is kept, and the turn runs", async () => {
    const { limits } = await caller.api.getServerInfo({}, caller.options());
    const largest = Number(limits.config_bytes);
    const config = (bytes: number) => {
      const value = { command: "true", args: [many(bytes)] };
      return { mcpServers: [{ name: "tools", transport: { case: "stdio" as const, value } }] };
    };
    const over = await caller.refusedTurn("config", "say hello", { config: config(largest) });
    expect(over).toMatchObject({ reason: "CONFIG_TOO_LARGE", metadata: { limit_bytes: `${largest}` } });
    await expect(caller.session("config")).rejects.toThrow();
    const kept = await caller.turn("config", "say hello", { config: config(largest / 2) });
    expect(kept.one("ended").outcome).toBe(Outcome.COMPLETED);
    expect(kept.text).toBe("hello");
  });

  it("what was refused left nothing: no session, no process", async () => {
    const { sessions } = await caller.api.listSessions({}, caller.options());
    expect(sessions.map(({ sessionId }) => sessionId)).not.toContain("nobodys");
    expect(stack.agentsOf("nobodys")).toEqual([]);
  });

  it("watchers of one session: as many as the limit; one more is WATCHERS_FULL until another has left", async () => {
    await caller.turn("watched", "say hello");
    const { limits } = await caller.api.getServerInfo({}, caller.options());
    const watch = () => caller.api.watchSession({ sessionId: "watched" }, caller.options());
    const watchers = Array.from({ length: Number(limits.watchers_per_session) }, watch);
    const snapshots = await Promise.all(watchers.map((watcher) => watcher.next()));
    expect(snapshots.map(({ value }) => value?.event?.event.case)).toEqual(watchers.map(() => "snapshot"));
    expect((await refusalOf(watch().next())).reason).toBe("WATCHERS_FULL");
    // Another session's watchers are not counted, and neither is a turn.
    expect((await caller.turn("watched", "say again")).text).toBe("again");
    await watchers[0]?.return(undefined);
    await eventually(
      "a place is free",
      async () => {
        const late = watch();
        const told = await late.next().then(
          () => "told",
          (error: unknown) => refusalOf(Promise.reject(error)).then(({ reason }) => reason),
        );
        await late.return(undefined);
        return told;
      },
      (told) => told === "told",
    );
    await Promise.all(watchers.map((watcher) => watcher.return(undefined)));
  });
});
