import { status } from "@grpc/grpc-js";
import type { SessionKey } from "@holdfast/pool";
import { SessionState } from "@holdfast/proto";
import { openMemoryStore } from "@holdfast/store";
import { describe, expect, it } from "vitest";
import { type GatewayFixture, gatewayFixture } from "../fixture/gateway.ts";
import { loseOwner, NOBODY, openGate, runningTurn } from "../fixture/records.ts";
import { refusalOf } from "../fixture/refused.ts";
import { runnerPeer } from "../fixture/runner-peer.ts";

const keyOf = (sessionId: string, project = "default"): SessionKey => ({ project, sessionId });

/** Sessions s-00 and on; every third one with the label team=red, every second one parked on a gate. */
async function withSessions(count: number): Promise<GatewayFixture & { gates: string[] }> {
  const fixture = await gatewayFixture();
  const gates: string[] = [];
  for (let index = 0; index < count; index++) {
    const key = keyOf(`s-${String(index).padStart(2, "0")}`);
    const labels: Record<string, string> = index % 3 === 0 ? { team: "red" } : { team: "blue" };
    const held = await runningTurn(fixture.ledger, NOBODY, { labels }, key);
    if (index % 2 === 0) gates.push(await openGate(fixture.ledger, held, { approvalExpiryMs: 600_000 + index }));
    await loseOwner(fixture.ledger, { ...held, ...(await fixture.store.records.get(key)) });
  }
  return { ...fixture, gates };
}

describe("ListSessions", () => {
  it("gives every session once, page by page, in the order of their ids", async () => {
    const { client } = await withSessions(7);
    const ids: string[] = [];
    const sizes: number[] = [];
    let pageToken = "";
    do {
      const page = await client.rpc.listSessions({ pageSize: 3, pageToken });
      ids.push(...page.sessions.map(({ sessionId }) => sessionId));
      sizes.push(page.sessions.length);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(ids).toEqual(["s-00", "s-01", "s-02", "s-03", "s-04", "s-05", "s-06"]);
    expect(sizes).toEqual([3, 3, 1]);
  });

  it("filters by state and by labels, and fills its pages with what passes", async () => {
    const { client } = await withSessions(10);
    const parked = await client.rpc.listSessions({ states: [SessionState.PARKED], pageSize: 4 });
    expect(parked.sessions.map(({ sessionId }) => sessionId)).toEqual(["s-00", "s-02", "s-04", "s-06"]);
    const red = await client.rpc.listSessions({ labels: { team: "red" }, states: [SessionState.COLD] });
    expect(red.sessions.map(({ sessionId }) => sessionId)).toEqual(["s-03", "s-09"]);
    expect(red.nextPageToken).toBe("");
  });

  it("takes a token only with the filter it was made for", async () => {
    const { client } = await withSessions(3);
    const { nextPageToken: pageToken } = await client.rpc.listSessions({ pageSize: 1 });
    const other = client.rpc.listSessions({ pageSize: 1, pageToken, labels: { team: "red" } });
    expect(await refusalOf(other)).toMatchObject({
      code: status.INVALID_ARGUMENT,
      violations: [{ field: "page_token" }],
    });
  });

  it("passes over a record that cannot be read, says so in the log, and shows the others", async () => {
    const broken = { key: keyOf("s-01"), document: "{ damaged" };
    const store = openMemoryStore([broken]);
    const fixture = await gatewayFixture({}, store);
    for (const id of ["s-00", "s-02"])
      await loseOwner(fixture.ledger, await runningTurn(fixture.ledger, NOBODY, {}, keyOf(id)));
    const { sessions } = await fixture.client.rpc.listSessions({});
    expect(sessions.map(({ sessionId }) => sessionId)).toEqual(["s-00", "s-02"]);
    expect(fixture.lines.join("")).toMatch(/record\.unreadable.*s-01/);
    expect(await refusalOf(fixture.client.rpc.getSession({ sessionId: "s-01" }))).toMatchObject({
      code: status.DATA_LOSS,
      reason: "RECORD_UNREADABLE",
    });
  });

  it("settles what a dead owner left before it shows it", async () => {
    const fixture = await gatewayFixture();
    await runningTurn(fixture.ledger, NOBODY);
    const { sessions } = await fixture.client.rpc.listSessions({});
    expect(sessions).toMatchObject([{ sessionId: "s-1", state: SessionState.COLD }]);
    expect(sessions[0]?.owner).toBeUndefined();
    expect(await fixture.telemetry.value("ownerLookups", { result: "dead" })).toBe(1);
  });
});

describe("ListApprovals", () => {
  it("gives every pending gate once, oldest first, with a preview of its call", async () => {
    const { client, gates } = await withSessions(10);
    const ids: string[] = [];
    let pageToken = "";
    do {
      const page = await client.rpc.listApprovals({ pageSize: 2, pageToken });
      ids.push(...page.gates.map(({ gateId }) => gateId));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(new Set(ids)).toEqual(new Set(gates));
    expect(ids).toHaveLength(gates.length);
    const { gates: all } = await client.rpc.listApprovals({});
    const opened = all.map(({ openedAt }) => Number(openedAt?.seconds) * 1e9 + Number(openedAt?.nanos));
    expect(opened).toEqual([...opened].sort((one, other) => one - other));
    expect(all[0]).toMatchObject({
      warm: false,
      toolCall: { rawInputJson: '{"command":"date"}' },
      labels: { team: "red" },
    });
  });

  it("filters by session, agent, labels and warmth", async () => {
    const fixture = await withSessions(6);
    const { client, ledger } = fixture;
    const { owner } = await runnerPeer(fixture.store);
    const warm = await openGate(ledger, await runningTurn(ledger, owner, {}, keyOf("warm")));
    const list = async (filter: object) =>
      (await client.rpc.listApprovals({ filter })).gates.map(({ sessionId }) => sessionId);
    expect(await list({ sessionId: "s-02" })).toEqual(["s-02"]);
    expect(await list({ labels: { team: "red" } })).toEqual(["s-00"]);
    expect(await list({ agent: "another" })).toEqual([]);
    expect(await list({ warm: true })).toEqual(["warm"]);
    expect(await list({ warm: false })).toEqual(["s-00", "s-02", "s-04"]);
    expect((await client.rpc.listApprovals({ filter: { warm: true } })).gates[0]?.gateId).toBe(warm);
  });

  it("shows neither an answered gate nor one that has expired", async () => {
    const fixture = await gatewayFixture();
    const held = await runningTurn(fixture.ledger, NOBODY);
    const answered = await openGate(fixture.ledger, held);
    await openGate(fixture.ledger, held, { approvalExpiryMs: -1 });
    const decision = { case: "optionId", value: "allow-once" } as const;
    await fixture.client.rpc.respondApproval({ sessionId: "s-1", gateId: answered, decision });
    expect((await fixture.client.rpc.listApprovals({})).gates).toEqual([]);
  });
});
