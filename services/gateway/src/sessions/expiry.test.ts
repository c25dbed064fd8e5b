import { GateState, Outcome, Verdict } from "@holdfast/proto";
import { fromServiceError } from "@holdfast/wire";
import { describe, expect, it } from "vitest";
import { gatewayFixture } from "../fixture/gateway.ts";
import { KEY, loseOwner, NOBODY, openGate, runningTurn } from "../fixture/records.ts";

describe("a gate past its time, of a session that nobody owns", () => {
  it("33: is EXPIRED for whoever looks, its turn ends CANCELLED, and a later answer is GATE_EXPIRED", async () => {
    const { client, ledger, store } = await gatewayFixture();
    const gateId = await openGate(ledger, await runningTurn(ledger, NOBODY), { approvalExpiryMs: 0 });
    const read = await store.records.get(KEY);
    if (read.kind !== "found") throw new Error(read.kind);
    await loseOwner(ledger, read);

    const { session } = await client.rpc.getSession({ sessionId: KEY.sessionId });
    expect(session?.gates).toEqual([]);
    expect(session?.closedGates).toMatchObject([{ gateId, state: GateState.EXPIRED }]);
    expect(session?.turn).toMatchObject({ outcome: Outcome.CANCELLED, stopReason: "approval_expired" });
    const bodies = (await store.events.read(KEY, 0, 100)).map(({ id }) => id.split(":")[0]);
    expect(bodies.slice(-2)).toEqual(["gate_closed", "ended"]);

    const answer = { sessionId: KEY.sessionId, gateId, decision: { case: "verdict" as const, value: Verdict.ALLOW } };
    const refused = await client.rpc.respondApproval(answer).then(() => null, fromServiceError);
    expect(refused?.reason).toBe("GATE_EXPIRED");
  });
});
