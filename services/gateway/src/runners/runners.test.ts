import { recordTelemetry, systemClock } from "@holdfast/runtime";
import { openMemoryStore } from "@holdfast/store";
import { bearerToken, type ServedCall } from "@holdfast/wire";
import { expect, it, onTestFinished, vi } from "vitest";
import { runnerPeer } from "../fixture/runner-peer.ts";
import { Runners } from "./runners.ts";

function runnersWith(token: string | null = null) {
  const telemetry = recordTelemetry();
  const runners = new Runners({ clock: systemClock, telemetry, token });
  onTestFinished(() => runners.close());
  return { runners, telemetry };
}

it("asks who answers once for a connection, and again when the connection was lost", async () => {
  const { runners } = runnersWith();
  const store = openMemoryStore();
  const first = await runnerPeer(store);
  for (let times = 0; times < 3; times++) expect((await runners.reach(first.owner)).kind).toBe("reached");
  expect(first.calls).toEqual(["describePool"]);

  await first.stop();
  const port = Number(first.owner.address.split(":")[1]);
  const second = await runnerPeer(store, { port, incarnation: "inc_second", lease: null });
  await vi.waitFor(async () => {
    expect(await runners.reach(first.owner)).toMatchObject({
      kind: "refused",
      refusal: { reason: "NOT_OWNER", metadata: { owner_incarnation: "inc_second" } },
    });
  });
  expect(new Set(second.calls)).toEqual(new Set(["describePool"]));
  expect((await runners.reach(second.owner)).kind).toBe("reached");
});

it("shows the gateway's token and the trace with every call, and makes a span of it", async () => {
  const { runners, telemetry } = runnersWith("the-gateway");
  const seen: (string | null)[] = [];
  const cancelTurn = async (_request: unknown, call: ServedCall) => {
    seen.push(bearerToken(call.header("authorization")), call.header("traceparent"));
    return { ok: { duplicate: false } };
  };
  const peer = await runnerPeer(openMemoryStore(), { handlers: { cancelTurn } });
  const reached = await runners.reach(peer.owner);
  if (reached.kind !== "reached") throw new Error(reached.kind);
  await reached.channel.rpc.cancelTurn({});
  const [span] = telemetry.spans().filter(({ name }) => name === "holdfast.v1.RunnerService/CancelTurn");
  expect(span).toMatchObject({ kind: "client", failed: false });
  expect(seen).toEqual(["the-gateway", expect.stringContaining(span?.spanId ?? "")]);
});

it("tells a refusal of its own credential as a runner that cannot be reached", async () => {
  const { runners } = runnersWith("wrong");
  const refusal = { reason: "CREDENTIAL_INVALID", message: "no", nextStep: "no", metadata: {} } as const;
  const peer = await runnerPeer(openMemoryStore(), { handlers: { describePool: async () => ({ refusal }) } });
  expect(await runners.reach(peer.owner)).toEqual({
    kind: "unreachable",
    why: "it does not accept this gateway's token",
  });
});

it("keeps no connection to an address that no runner has any more", async () => {
  const { runners } = runnersWith();
  const store = openMemoryStore();
  const gone = await runnerPeer(store, { runner: "runner-0" });
  const there = await runnerPeer(store, { runner: "runner-1" });
  for (const { owner } of [gone, there]) await runners.reach(owner);
  runners.keepOnly(new Set([there.owner.address]));
  for (const { owner } of [gone, there]) await runners.reach(owner);
  expect([gone.calls.length, there.calls.length]).toEqual([2, 1]);
});
