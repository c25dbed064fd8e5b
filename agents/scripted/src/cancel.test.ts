import { afterEach, describe, expect, test, vi } from "vitest";
import { Driver, isAlive, writtenPid } from "./driver.ts";
import { readLedger } from "./ledger.ts";

let driver: Driver;

afterEach(() => driver.end());

describe("a cancel", () => {
  test("withdraws every open gate, ends the prompt, and a late allow runs nothing", async () => {
    driver = new Driver();
    const session = await driver.newSession();
    const prompt = driver.prompt(session, "both echo a && echo b", "say never");
    const gates = [await driver.gate(0), await driver.gate(1)];
    await driver.cancel(session);
    expect((await prompt).stopReason).toBe("cancelled");
    expect(gates.map((gate) => gate.withdrawn)).toEqual([true, true]);
    for (const gate of gates) gate.choose("allow-once");

    const next = driver.prompt(session, "pid", "run echo c");
    (await driver.gate(2)).choose("allow-once");
    expect((await next).stopReason).toBe("end_turn");
    expect(driver.said).toEqual([`pid ${driver.child.pid}`]);
    expect(driver.statuses("call-1")).toEqual(["pending", "failed"]);
    expect(driver.statuses("call-2")).toEqual(["pending", "failed"]);
    expect(readLedger(driver.directory).map((line) => line.command)).toEqual(["echo c"]);
  });

  test("is also what a gate answered `cancelled` means", async () => {
    driver = new Driver();
    const prompt = driver.prompt(await driver.newSession(), "both echo a && echo b", "say never");
    await driver.gate(1);
    (await driver.gate(0)).cancel();
    expect((await prompt).stopReason).toBe("cancelled");
    expect(driver.gates[1]?.withdrawn).toBe(true);
    expect(driver.said).toEqual([]);
    expect(readLedger(driver.directory)).toEqual([]);
  });

  test("kills a running command with all its descendants", async () => {
    driver = new Driver();
    const session = await driver.newSession();
    const prompt = driver.prompt(session, "run (sh -c 'echo $$ > pid; sleep 60; echo x > late') | cat", "say never");
    (await driver.gate(0)).choose("allow-once");
    const inner = await writtenPid(driver.directory, "pid");
    expect(isAlive(inner)).toBe(true);
    await driver.cancel(session);
    expect((await prompt).stopReason).toBe("cancelled");
    expect(driver.statuses("call-1")).toEqual(["pending", "in_progress", "failed"]);
    await vi.waitFor(() => expect(isAlive(inner)).toBe(false));
  });

  test("ends a sleep and a flood early", async () => {
    driver = new Driver();
    const session = await driver.newSession();
    const sleeping = driver.prompt(session, "say asleep", "sleep 1000000", "say never");
    await driver.until(() => driver.said.length === 1);
    await driver.cancel(session);
    expect((await sleeping).stopReason).toBe("cancelled");

    const flooding = driver.prompt(session, "flood 10000000");
    await driver.until(() => driver.said.length > 100);
    await driver.cancel(session);
    expect((await flooding).stopReason).toBe("cancelled");
    expect(driver.said).not.toContain("never");
  });

  test("that finds no prompt changes nothing", async () => {
    driver = new Driver();
    const session = await driver.newSession();
    await driver.cancel(session);
    expect((await driver.prompt(session, "say hi")).stopReason).toBe("end_turn");
  });
});

describe("while cancels are ignored", () => {
  test("the script goes on, a late allow runs its command, and the prompt ends `cancelled` when the time is over", async () => {
    driver = new Driver();
    const session = await driver.newSession();
    const prompt = driver.prompt(session, "ignore-cancel 1500", "run echo late", "say still here");
    const gate = await driver.gate(0);
    await driver.cancel(session);
    gate.choose("allow-once");
    await driver.until(() => driver.said.includes("still here"));
    expect(driver.gates[0]?.withdrawn).toBe(false);
    expect((await prompt).stopReason).toBe("cancelled");
    expect(readLedger(driver.directory).map((line) => line.command)).toEqual(["echo late"]);
  });

  test("a gate answered `cancelled` runs nothing, and the next gate is opened all the same", async () => {
    driver = new Driver();
    const prompt = driver.prompt(await driver.newSession(), "ignore-cancel 1000", "run echo a", "run echo b");
    (await driver.gate(0)).cancel();
    const second = await driver.gate(1);
    expect((await prompt).stopReason).toBe("cancelled");
    expect(second.withdrawn).toBe(true);
    expect(readLedger(driver.directory)).toEqual([]);
  });

  test("a prompt nobody cancels ends with its script", async () => {
    driver = new Driver();
    const { stopReason } = await driver.prompt(await driver.newSession(), "ignore-cancel 1000000", "say hi");
    expect(stopReason).toBe("end_turn");
  });
});
