import { LABELS } from "@holdfast/pool";
import {
  CancelTurnRequestSchema,
  CloseSessionRequestSchema,
  IfBusy,
  ListApprovalsRequestSchema,
  ListSessionsRequestSchema,
  RespondApprovalRequestSchema,
  Role,
  RunTurnRequestSchema,
  WatchSessionRequestSchema,
} from "@holdfast/proto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { arbitraryMessage } from "./arbitrary-message.ts";
import { validateCancelTurn } from "./cancel-turn.ts";
import { validateCloseSession } from "./close-session.ts";
import * as limit from "./limits.ts";
import { validateListApprovals } from "./list-approvals.ts";
import { validateListSessions } from "./list-sessions.ts";
import { fields, RULES, runTurn, text } from "./request.fixture.ts";
import { validateRespondApproval } from "./respond-approval.ts";
import { validateRunTurn } from "./run-turn.ts";
import { validateWatchSession } from "./watch-session.ts";

describe("validation", () => {
  test("never throws, and a refusal always names a field, whatever a decoder hands over", () => {
    const cases = [
      arbitraryMessage(RunTurnRequestSchema).map((request) => () => validateRunTurn(request, RULES)),
      arbitraryMessage(RespondApprovalRequestSchema).map((request) => () => validateRespondApproval(request, RULES)),
      arbitraryMessage(CancelTurnRequestSchema).map((request) => () => validateCancelTurn(request)),
      arbitraryMessage(WatchSessionRequestSchema).map((request) => () => validateWatchSession(request)),
      arbitraryMessage(CloseSessionRequestSchema).map((request) => () => validateCloseSession(request)),
      arbitraryMessage(ListSessionsRequestSchema).map((request) => () => validateListSessions(request, "p")),
      arbitraryMessage(ListApprovalsRequestSchema).map((request) => () => validateListApprovals(request, "p")),
    ];
    fc.assert(
      fc.property(fc.oneof(...cases), (run) => {
        const result = run();
        if ("refusal" in result) {
          expect(result.refusal.reason).toBe("FIELD_INVALID");
          expect(result.refusal.violations?.length).toBeGreaterThan(0);
          for (const each of result.refusal.violations ?? []) expect(each.field).not.toBe("");
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test("a request made within the limits always passes", () => {
    const id = fc.stringMatching(/^[A-Za-z0-9._:@-]{1,128}$/);
    const key = fc.stringMatching(/^[ -~]{0,256}$/);
    const label = fc.stringMatching(/^[a-z0-9./-]{1,63}$/);
    const valid = fc.record({
      sessionId: id,
      requestId: key,
      prompt: fc.array(fc.string({ minLength: 1 }).map(text), { minLength: 1, maxLength: limit.PROMPT_BLOCKS }),
      labels: fc.dictionary(label, fc.stringMatching(/^[a-z ]{0,256}$/), { maxKeys: LABELS }),
      ifBusy: fc.constantFrom(IfBusy.UNSPECIFIED, IfBusy.REJECT, IfBusy.INTERRUPT),
      limits: fc.record({
        idleTtl: fc.nat({ max: 86_400 }).map((seconds) => ({ seconds: BigInt(seconds), nanos: 0 })),
      }),
    });
    fc.assert(
      fc.property(valid, (init) => {
        expect(fields(runTurn(init))).toEqual([]);
      }),
    );
  });

  test("of a request with very many mistakes names the first thousand and says that there are more", () => {
    const history = Array.from({ length: 1_500 }, () => ({ role: Role.UNSPECIFIED }));
    const result = runTurn({ history });
    expect(fields(result)).toHaveLength(limit.VIOLATIONS_LISTED + 1);
    expect("refusal" in result && result.refusal.violations?.at(-1)?.description).toBe("more were left out");
  });
});
