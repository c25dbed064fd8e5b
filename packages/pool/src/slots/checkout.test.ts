import { describe, expect, test } from "vitest";
import { inShort, keyOf, LIMITS, Rehearsal } from "./rehearsal/rehearsal.ts";
import { sessionOf, slotKey } from "./slot.ts";

describe("a session's first turn", () => {
  test("is cold, and seated before anything is acquired", () => {
    const play = new Rehearsal();
    expect(play.checkout("a")).toEqual({ kind: "cold", instance: "process-1", reason: "first_turn" });
    expect(play.state("a")).toBe("starting");
    expect(play.effects).toEqual([{ kind: "start", key: keyOf("a"), instance: "process-1" }]);
  });

  test("leaves the session idle, and the next turn runs on the same process", () => {
    const play = new Rehearsal().idle("a");
    expect(play.checkout("a")).toMatchObject({ kind: "warm", instance: "process-1" });
    expect(play.state("a")).toBe("busy");
    expect(play.effects).toEqual([]);
  });

  test("of another project's session with the same id gets a slot of its own", () => {
    const mine = slotKey({ project: "one", sessionId: "a" });
    const theirs = slotKey({ project: "two", sessionId: "a" });
    expect(mine).not.toBe(theirs);
    expect(slotKey({ project: 'x","y', sessionId: "z" })).not.toBe(slotKey({ project: "x", sessionId: 'y","z' }));
    expect(sessionOf(mine)).toEqual({ project: "one", sessionId: "a" });
  });
});

describe("a second RunTurn", () => {
  test("while the session is starting does not spawn a second process", () => {
    const play = new Rehearsal().starting("a");
    const before = play.pool;
    expect(play.checkout("a")).toMatchObject({ kind: "refused", refusal: { reason: "TURN_IN_PROGRESS" } });
    expect(play.effects).toEqual([]);
    expect(play.pool).toBe(before);
  });

  test("while a prompt runs is refused TURN_IN_PROGRESS", () => {
    const play = new Rehearsal().running("a");
    expect(play.checkout("a")).toMatchObject({ kind: "refused", refusal: { reason: "TURN_IN_PROGRESS" } });
  });

  test("while gates are open is refused GATES_PENDING and names them", () => {
    const play = new Rehearsal().parked("a", ["g1", "g2"]);
    expect(play.checkout("a")).toMatchObject({
      kind: "refused",
      refusal: { reason: "GATES_PENDING", metadata: { session_id: "a", gate_ids: "g1,g2" } },
    });
  });

  test("while the session is closing waits until its teardown ended, then starts with that reason", () => {
    const play = new Rehearsal().closing("a");
    expect(play.checkout("a")).toEqual({ kind: "wait", reason: "closed" });
    expect(play.effects).toEqual([]);
    play.closed("a");
    expect(play.effects).toEqual([{ kind: "ask_again", key: keyOf("a") }]);
    expect(play.checkout("a")).toMatchObject({ kind: "cold", reason: "closed" });
  });
});

describe("the warm checks of an idle process", () => {
  const changed = { base: "other", model: "small", mode: "ask" };
  test.each([
    ["another configuration", { config: changed }, "config_changed"],
    ["a model it does not offer", { config: { base: "base", model: "huge", mode: "ask" } }, "config_changed"],
    ["a mode it does not offer", { config: { base: "base", model: "small", mode: "yolo" } }, "config_changed"],
    ["another history", { history: "edited" }, "history_changed"],
    ["other credentials", { credentials: "changed" }, "credentials_changed"],
    ["expired credentials", { credentials: "expired" }, "credentials_expired"],
    ["a lost working directory", { workspace: "lost" }, "workspace_lost"],
    ["a record that knows of no process", { mustBeNew: true }, "owner_lost"],
    [
      "everything at once: configuration comes first",
      { config: changed, history: "edited", workspace: "lost" },
      "config_changed",
    ],
    ["history before credentials", { history: "edited", credentials: "changed" }, "history_changed"],
    ["credentials before the directory", { credentials: "expired", workspace: "lost" }, "credentials_expired"],
  ] as const)("end it for %s, and the successor starts cold with that reason", (_case, asked, reason) => {
    const play = new Rehearsal().idle("a");
    expect(play.checkout("a", asked)).toEqual({ kind: "wait", reason });
    expect(inShort(play.effects)).toEqual([`end:${reason}`]);
    play.closed("a");
    expect(play.checkout("a", asked)).toMatchObject({ kind: "cold", reason });
  });

  test("pass when the caller sent no history, or the predicted one", () => {
    expect(new Rehearsal().idle("a").checkout("a", { history: null }).kind).toBe("warm");
    expect(new Rehearsal().idle("a").checkout("a", { history: "history" }).kind).toBe("warm");
  });

  test("apply a change of the model alone to the live process when it offers that model", () => {
    const play = new Rehearsal().idle("a");
    const large = { base: "base", model: "large", mode: "ask" };
    expect(play.checkout("a", { config: large })).toMatchObject({
      kind: "warm",
      apply: { model: "large", mode: null },
    });
    play.give({ kind: "prompt_started", ...play.named("a") });
    play.settle("a");
    expect(play.checkout("a", { config: large })).toMatchObject({ kind: "warm", apply: { model: null, mode: null } });
  });

  test("take the limits of the new turn", () => {
    const play = new Rehearsal().idle("a");
    play.checkout("a", { limits: { ...LIMITS, idleTtlMs: 0 } });
    play.give({ kind: "prompt_started", ...play.named("a") });
    expect(play.settle("a")).toMatchObject({ slot: "closing" });
  });
});

describe("a checkout that is returned", () => {
  test("leaves the idle slot as it was, idle since when it was", () => {
    const play = new Rehearsal().idle("a");
    const before = play.slot("a");
    play.now += 5_000;
    play.checkout("a", { config: { base: "base", model: "large", mode: "ask" } });
    play.give({ kind: "checkout_returned", ...play.named("a") });
    expect(play.slot("a")).toEqual(before);
  });

  test("gives up a start through the same close as any", () => {
    const play = new Rehearsal().starting("a");
    play.give({ kind: "checkout_returned", ...play.named("a") });
    expect(inShort(play.effects)).toEqual(["end:closed"]);
    play.closed("a");
    expect(play.pool.slots.size).toBe(0);
  });

  test("keeps a process that was made for it, idle", () => {
    const play = new Rehearsal().due("a");
    play.give({ kind: "checkout_returned", ...play.named("a") });
    expect(play.state("a")).toBe("idle");
    expect(play.checkout("a", { history: "something" })).toEqual({ kind: "wait", reason: "history_changed" });
  });
});

describe("a start", () => {
  test("that fails leaves no seat once what it held is released", () => {
    const play = new Rehearsal().starting("a");
    play.give({ kind: "start_failed", ...play.named("a") });
    expect(inShort(play.effects)).toEqual(["end:start_failed"]);
    play.closed("a");
    expect(play.pool.slots.size).toBe(0);
  });

  test("that hangs is ended at the start limit", () => {
    const play = new Rehearsal().starting("a");
    play.wait(59_999);
    expect(play.state("a")).toBe("starting");
    play.wait(1);
    expect(inShort(play.effects)).toEqual(["end:start_failed"]);
  });

  test("whose process exits is a failed start", () => {
    const play = new Rehearsal().starting("a");
    play.give({ kind: "exited", ...play.named("a") });
    expect(inShort(play.effects)).toEqual(["end:start_failed"]);
  });

  test("that is ready after it was given up changes nothing", () => {
    const play = new Rehearsal().starting("a");
    const late = play.named("a");
    play.stop("a");
    const before = play.pool;
    expect(play.give({ kind: "started", offers: { models: [], modes: [] }, ...late })).toEqual({
      kind: "ignored",
      why: "closing",
    });
    expect(play.pool).toBe(before);
  });
});
