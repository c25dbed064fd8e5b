import { describe, expect, it } from "vitest";
import { suspendAwareClock } from "./boottime.ts";
import { type Clock, systemClock } from "./clock.ts";
import { ManualClock } from "./manual-clock.ts";

const clocks: readonly [string, () => { clock: Clock; pass: (ms: number) => Promise<void> }][] = [
  ["the system clock", () => ({ clock: systemClock, pass: async () => undefined })],
  [
    "a manual clock",
    () => {
      const clock = new ManualClock(1_700_000_000_000);
      return { clock, pass: (ms: number) => clock.advance(ms) };
    },
  ],
];

describe.each(clocks)("%s", (_, make) => {
  it("wakes a sleeper after its time, and not before", async () => {
    const { clock, pass } = make();
    const before = clock.monotonicMs();
    const slept = clock.sleep(20).then(() => clock.monotonicMs() - before);
    await pass(20);
    expect(await slept).toBeGreaterThanOrEqual(19);
  });

  it("moves wall and monotonic time together", async () => {
    const { clock, pass } = make();
    const [wall, monotonic] = [clock.now(), clock.monotonicMs()];
    const slept = clock.sleep(30);
    await pass(30);
    await slept;
    expect(clock.now() - wall - (clock.monotonicMs() - monotonic)).toBeLessThan(20);
  });

  it("ends a sleep with the reason of the signal", async () => {
    const { clock } = make();
    const stop = new AbortController();
    const slept = clock.sleep(60_000, stop.signal);
    stop.abort(new Error("enough"));
    await expect(slept).rejects.toThrow("enough");
    await expect(clock.sleep(60_000, stop.signal)).rejects.toThrow("enough");
  });

  it("never calls a cancelled timer, and calls the others in order of their deadlines", async () => {
    const { clock, pass } = make();
    const fired: string[] = [];
    const done = new Promise<void>((resolve) => {
      clock.timer(40, () => resolve());
    });
    clock.timer(20, () => fired.push("late"));
    clock.timer(1, () => fired.push("early"));
    clock.timer(10, () => fired.push("cancelled")).cancel();
    expect(fired).toEqual([]);
    await pass(40);
    await done;
    expect(fired).toEqual(["early", "late"]);
  });

  it("does not fire at once a timer that is longer than a system timer can be", async () => {
    const { clock, pass } = make();
    let fired = false;
    const timer = clock.timer(2 ** 40, () => {
      fired = true;
    });
    const slept = clock.sleep(5);
    await pass(5);
    await slept;
    timer.cancel();
    expect(fired).toBe(false);
  });
});

describe("a manual clock", () => {
  it("fires a timer that another timer set, when both fall into one move", async () => {
    const clock = new ManualClock();
    const at: number[] = [];
    clock.timer(10, () => clock.timer(10, () => at.push(clock.monotonicMs())));
    await clock.advance(25);
    expect(at).toEqual([20]);
    expect(clock.timers).toBe(0);
  });

  it("can have its wall clock set without time passing", () => {
    const clock = new ManualClock(5);
    clock.setWall(1_000);
    expect([clock.now(), clock.monotonicMs()]).toEqual([1_000, 0]);
  });
});

describe("the monotonic clock", () => {
  it("adds the time the machine slept, once and for good", () => {
    const reading = { fine: 0, boot: 5_000 };
    const clock = suspendAwareClock({ fineMs: () => reading.fine, sinceBootMs: () => reading.boot });
    Object.assign(reading, { fine: 100, boot: 5_100 });
    expect(clock()).toBe(100);
    Object.assign(reading, { fine: 200, boot: 12_200 });
    expect(clock()).toBe(7_200);
    Object.assign(reading, { fine: 300, boot: 12_290 });
    expect(clock()).toBe(7_300);
  });

  it("takes the coarse steps of the boot clock for what they are", () => {
    const reading = { fine: 0, boot: 5_000 };
    const clock = suspendAwareClock({ fineMs: () => reading.fine, sinceBootMs: () => reading.boot });
    let last = clock();
    for (let fine = 0; fine < 200; fine += 3) {
      Object.assign(reading, { fine, boot: 5_000 + Math.ceil(fine / 10) * 10 });
      expect(clock()).toBe(fine);
      expect(clock()).toBeGreaterThanOrEqual(last);
      last = clock();
    }
  });

  it("does without a boot clock where there is none", () => {
    expect(suspendAwareClock({ fineMs: () => 7, sinceBootMs: null })()).toBe(7);
  });
});
