import { expect, test } from "vitest";
import { ManualClock } from "./manual-clock.ts";
import { within } from "./within.ts";

test("what comes in time is given, and no timer stays", async () => {
  const clock = new ManualClock(0);
  expect(await within(clock, 100, Promise.resolve("here"))).toBe("here");
  await expect(within(clock, 100, Promise.reject(new Error("broken")))).rejects.toThrow("broken");
  expect(clock.timers).toBe(0);
});

test("what does not come in time is null, and goes on", async () => {
  const clock = new ManualClock(0);
  const work = Promise.withResolvers<string>();
  const waited = within(clock, 100, work.promise);
  await clock.advance(100);
  expect(await waited).toBeNull();
  work.resolve("later");
  expect(await work.promise).toBe("later");
});
