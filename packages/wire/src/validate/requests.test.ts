import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  CancelTurnRequestSchema,
  CloseSessionRequestSchema,
  GetSessionRequestSchema,
  ListApprovalsRequestSchema,
  ListSessionsRequestSchema,
  SessionState,
  Verdict,
  WatchSessionRequestSchema,
} from "@holdfast/proto";
import { describe, expect, test } from "vitest";
import { validateCancelTurn } from "./cancel-turn.ts";
import { validateCloseSession } from "./close-session.ts";
import { validateGetSession } from "./get-session.ts";
import * as limit from "./limits.ts";
import { validateListApprovals } from "./list-approvals.ts";
import { validateListSessions } from "./list-sessions.ts";
import { fields, many, respond, value } from "./request.fixture.ts";
import { validateWatchSession } from "./watch-session.ts";

describe("a RespondApproval request", () => {
  test("needs a session, a gate and a decision", () => {
    expect(fields(respond({ sessionId: "", gateId: "", decision: { case: undefined } }))).toEqual([
      "session_id",
      "gate_id",
      "decision",
    ]);
    expect(fields(respond({ decision: { case: "verdict", value: Verdict.UNSPECIFIED } }))).toEqual(["verdict"]);
    expect(fields(respond({ decision: { case: "verdict", value: 9 as Verdict } }))).toEqual(["verdict"]);
    expect(fields(respond({ decision: { case: "optionId", value: "" } }))).toEqual(["option_id"]);
    expect(value(respond({}))).toMatchObject({ choice: { verdict: "allow" }, digest: null, idempotencyKey: null });
    expect(value(respond({ decision: { case: "optionId", value: "o" } })).choice).toEqual({ optionId: "o" });
  });

  test("bounds note, channel, key, digest and gate id", () => {
    expect(fields(respond({ note: many(limit.NOTE_BYTES) }))).toEqual([]);
    expect(fields(respond({ note: `${many(limit.NOTE_BYTES - 1)}é` }))).toEqual(["note"]);
    expect(fields(respond({ channel: many(limit.CHANNEL_CHARACTERS) }))).toEqual([]);
    expect(fields(respond({ channel: many(limit.CHANNEL_CHARACTERS + 1) }))).toEqual(["channel"]);
    expect(fields(respond({ idempotencyKey: many(limit.KEY_CHARACTERS) }))).toEqual([]);
    expect(fields(respond({ idempotencyKey: many(limit.KEY_CHARACTERS + 1) }))).toEqual(["idempotency_key"]);
    expect(fields(respond({ digest: many(limit.DIGEST_CHARACTERS + 1) }))).toEqual(["digest"]);
    expect(fields(respond({ gateId: many(limit.MINTED_ID_CHARACTERS + 1) }))).toEqual(["gate_id"]);
  });
});

describe("the other requests", () => {
  test("CancelTurn: an absent pin is null", () => {
    const cancel = (init: MessageInitShape<typeof CancelTurnRequestSchema>) =>
      validateCancelTurn(create(CancelTurnRequestSchema, { sessionId: "s", ...init }));
    expect(value(cancel({}))).toEqual({
      sessionId: "s",
      expectedTurn: null,
      expectedExecution: null,
      idempotencyKey: null,
      channel: "",
    });
    expect(value(cancel({ expectedTurn: "t", expectedExecution: 3 }))).toMatchObject({
      expectedTurn: "t",
      expectedExecution: 3,
    });
    expect(
      fields(cancel({ sessionId: " ", idempotencyKey: "\t", channel: many(65), expectedTurn: many(257) })),
    ).toEqual(["session_id", "expected_turn", "idempotency_key", "channel"]);
  });

  test("WatchSession: a cursor is not negative and stays an exact number", () => {
    const watch = (afterSeq: bigint) =>
      validateWatchSession(create(WatchSessionRequestSchema, { sessionId: "s", afterSeq }));
    expect(value(watch(7n)).afterSeq).toBe(7);
    expect(fields(watch(-1n))).toEqual(["after_seq"]);
    expect(fields(watch(2n ** 60n))).toEqual(["after_seq"]);
  });

  test("GetSession and CloseSession name a session", () => {
    expect(fields(validateGetSession(create(GetSessionRequestSchema)))).toEqual(["session_id"]);
    const close = create(CloseSessionRequestSchema, { idempotencyKey: many(257) });
    expect(fields(validateCloseSession(close))).toEqual(["session_id", "idempotency_key"]);
  });

  test("a page has 50 entries by default and 500 at most", () => {
    const list = (pageSize: number) => validateListSessions(create(ListSessionsRequestSchema, { pageSize }), "p");
    expect(value(list(0)).page).toEqual({ entries: limit.PAGE_DEFAULT_ENTRIES, after: null });
    expect(value(list(500)).page.entries).toBe(500);
    expect(value(list(501)).page.entries).toBe(limit.PAGE_MAX_ENTRIES);
    expect(fields(list(-1))).toEqual(["page_size"]);
  });

  test("ListSessions filters by known states", () => {
    const list = (states: SessionState[]) => validateListSessions(create(ListSessionsRequestSchema, { states }), "p");
    expect(value(list([SessionState.PARKED, SessionState.COLD])).states).toEqual(new Set(["parked", "cold"]));
    expect(fields(list([SessionState.UNSPECIFIED, 77 as SessionState]))).toEqual(["states[0]", "states[1]"]);
  });

  test("an approval filter names what is wrong with it", () => {
    const filter = { sessionId: "/", agent: "a b", labels: { "": "v" } };
    const expected = ["filter.session_id", "filter.agent", 'filter.labels[""]'];
    const list = (asked: object) => validateListApprovals(create(ListApprovalsRequestSchema, asked), "p");
    expect(fields(list({ filter }))).toEqual(expected);
    expect(value(list({})).filter.warm).toBeNull();
    expect(value(list({ filter: { warm: false } })).filter.warm).toBe(false);
  });
});
