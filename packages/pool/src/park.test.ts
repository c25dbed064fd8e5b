import { describe, expect, test } from "vitest";
import { PARK_LATEST_MS, PARK_QUIET_MS, ParkWatch } from "./park.ts";

const GATE = { gateId: "g-1", callSeq: 6 };
const OPENED = { seq: 7, isShown: true, gate: { state: "open", gateId: "g-1" } } as const;
const said = (seq: number) => ({ seq, isShown: true, gate: null });

describe("the end of a parked turn's stream", () => {
  test("is never due while a pending gate was not shown, or none is pending", () => {
    const watch = new ParkWatch(5, 0);
    expect(watch.due([GATE], 7, 0)).toBeNull();
    watch.note(OPENED, 10);
    expect(watch.due([], 7, 10)).toBeNull();
    watch.note({ ...said(8), gate: { state: "over", gateId: "g-1" } }, 20);
    expect(watch.due([GATE], 8, 20)).toBeNull();
  });

  test("is due after a silence, which a shown event begins anew and one that is left out does not", () => {
    const watch = new ParkWatch(5, 0);
    watch.note(OPENED, 10);
    expect(watch.due([GATE], 7, 10)).toBe(10 + PARK_QUIET_MS);
    watch.note(said(8), 200);
    expect(watch.due([GATE], 8, 200)).toBe(200 + PARK_QUIET_MS);
    watch.note({ ...said(9), isShown: false }, 300);
    expect(watch.due([GATE], 9, 300)).toBe(200 + PARK_QUIET_MS);
  });

  test("is due a bound after the gate at the latest, whatever goes on being said or is left to show", () => {
    const watch = new ParkWatch(5, 0);
    watch.note(OPENED, 10);
    watch.due([GATE], 7, 10);
    watch.note(said(8), 1_990);
    expect(watch.due([GATE], 8, 1_990)).toBe(10 + PARK_LATEST_MS);
    expect(watch.due([GATE], 20, 2_000)).toBe(10 + PARK_LATEST_MS);
  });

  test("counts from the newest park when the turn went on in between", () => {
    const watch = new ParkWatch(5, 0);
    watch.note(OPENED, 10);
    watch.due([GATE], 7, 10);
    watch.due([], 7, 500);
    expect(watch.due([GATE], 20, 600)).toBe(600 + PARK_LATEST_MS);
  });

  test("takes a gate from before the stream's first number as shown", () => {
    expect(new ParkWatch(6, 0).due([GATE], 6, 0)).toBe(PARK_QUIET_MS);
  });
});
