import { AsyncLocalStorage } from "node:async_hooks";
import { expect, it } from "vitest";
import { createLane } from "./lane.ts";

function gate(): { wait: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { wait: promise, open: resolve };
}

it("tasks of one key run one after the other, in the order they came", async () => {
  const lane = createLane();
  const trace: string[] = [];
  const first = gate();
  const tasks = [
    lane.run("s", async () => {
      trace.push("a in");
      await first.wait;
      trace.push("a out");
    }),
    lane.run("s", () => trace.push("b")),
    lane.runAlways("s", () => trace.push("c")),
  ];
  await Promise.resolve();
  first.open();
  await Promise.all(tasks);
  expect(trace).toEqual(["a in", "a out", "b", "c"]);
});

it("one key does not wait for another", async () => {
  const lane = createLane();
  const held = gate();
  const slow = lane.run("slow", () => held.wait);
  expect(await lane.run("quick", () => 7)).toEqual({ kind: "ran", value: 7 });
  held.open();
  await slow;
});

it("a task that fails fails its caller only", async () => {
  const lane = createLane();
  const failing = lane.run("s", () => {
    throw new Error("mine");
  });
  const next = lane.run("s", () => "fine");
  await expect(failing).rejects.toThrow("mine");
  expect(await next).toEqual({ kind: "ran", value: "fine" });
});

it("a full lane refuses at once and runs nothing, except what must not be lost", async () => {
  const lane = createLane(2);
  const held = gate();
  const ran: string[] = [];
  const inside = [
    lane.run("s", () => held.wait),
    lane.run("s", () => ran.push("first waiting")),
    lane.run("s", () => ran.push("second waiting")),
  ];
  expect(await lane.run("s", () => ran.push("one too many"))).toEqual({ kind: "full", waiting: 2 });
  const exit = lane.runAlways("s", () => ran.push("exit"));
  expect(lane.depth("s")).toBe(4);
  held.open();
  await Promise.all([...inside, exit]);
  expect(ran).toEqual(["first waiting", "second waiting", "exit"]);
});

it("nothing is left of a key whose tasks are over", async () => {
  const lane = createLane();
  await Promise.all(Array.from({ length: 1_000 }, (_, i) => lane.run(`session-${i}`, () => i)));
  await lane
    .run("s", () => Promise.reject(new Error("gone")))
    .catch((error: Error) => expect(error.message).toBe("gone"));
  expect(lane.size).toBe(0);
  expect(lane.depth("s")).toBe(0);
});

it("empty waits for tasks, and for those they add", async () => {
  const lane = createLane();
  const held = gate();
  let added = false;
  const first = lane.run("s", async () => {
    await held.wait;
    void lane.run("t", () => {
      added = true;
    });
  });
  const empty = lane.empty();
  held.open();
  await empty;
  await first;
  expect(added).toBe(true);
});

it("a task runs in the context of its caller", async () => {
  const lane = createLane();
  const caller = new AsyncLocalStorage<string>();
  const held = gate();
  const seen: (string | undefined)[] = [];
  const tasks = ["one", "two"].map((name) =>
    caller.run(name, () =>
      lane.run("s", async () => {
        await held.wait;
        seen.push(caller.getStore());
      }),
    ),
  );
  held.open();
  await Promise.all(tasks);
  expect(seen).toEqual(["one", "two"]);
});
