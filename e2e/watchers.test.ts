// Clients that watch a session while the services behind it come and go.
import { status } from "@grpc/grpc-js";
import { Outcome } from "@holdfast/proto";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Caller } from "./src/caller.ts";
import { Follower } from "./src/follower.ts";
import { Stack } from "./src/stack.ts";

const LONG_MS = 300_000;

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

async function drained(stream: AsyncGenerator<unknown>): Promise<void> {
  for await (const _ of stream);
}
