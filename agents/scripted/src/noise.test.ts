import { afterEach, describe, expect, test } from "vitest";
import { Driver } from "./driver.ts";
import { readLedger } from "./ledger.ts";

let driver: Driver;

afterEach(() => driver.end());

async function noise(...lines: string[]): Promise<string> {
  driver = new Driver();
  const session = await driver.newSession();
  await driver.prompt(session, ...lines);
  return session;
}

describe("noise", () => {
  test.each([
    ["text", ["Warning: this line is no JSON at all"]],
    ["blank", ["", "   ", ""]],
    ["partial-line", ['{"jsonrpc":"2.0","method":"session/upd']],
    ["non-object", ["42", '"text"', "null", "true", "[1,2]", "{}"]],
  ])("`%s` prints lines that are no message, and the next message is whole", async (kind, junk) => {
    await noise(`noise ${kind}`);
    expect(driver.junk).toEqual(junk);
    expect(driver.said).toEqual([`noise ${kind} done`]);
  });

  test("`bad-utf8` prints bytes that are no text", async () => {
    await noise("noise bad-utf8");
    expect(driver.junk.join()).toContain("\ufffd");
    expect(driver.said).toEqual(["noise bad-utf8 done"]);
  });

  test("`split-line` is one message for whoever waits for the end of the line", async () => {
    await noise("noise split-line");
    expect(driver.said).toEqual(["in two pieces", "noise split-line done"]);
  });

  test("`glued` spoils the message after it and no other", async () => {
    await noise("noise glued");
    expect(driver.junk).toHaveLength(1);
    expect(driver.said).toEqual(["noise glued done"]);
  });

  test("`no-newline` ends the process after a last message without an end of line", async () => {
    driver = new Driver();
    const prompt = driver.prompt(await driver.newSession(), "noise no-newline");
    await expect(prompt).rejects.toThrow();
    expect(await driver.exitCode()).toBe(0);
    await driver.until(() => driver.lastLine.includes("the last line has no end"));
    expect(JSON.parse(driver.lastLine)).toMatchObject({ method: "session/update" });
  });

  test("`oversized` prints one message of the size it is told", async () => {
    await noise("noise oversized 3");
    expect(driver.said.map((text) => text.length)).toEqual([3 * 1_024 * 1_024, "noise oversized done".length]);
  });

  test("`unknown-request` and `malformed-gate` report the error they were answered with", async () => {
    await noise("noise unknown-request", "noise malformed-gate");
    expect(driver.said).toEqual([
      "answered -32601",
      "noise unknown-request done",
      "answered -32602",
      "noise malformed-gate done",
    ]);
    expect(driver.gates).toEqual([]);
  });

  test.each(["unknown-notification", "unknown-update", "unknown-response"])(
    "`%s` is well formed and means nothing to anybody",
    async (kind) => {
      await noise(`noise ${kind}`);
      expect(driver.junk).toEqual([]);
      expect(driver.said).toEqual([`noise ${kind} done`]);
    },
  );

  test("`foreign-session` sends a message for a session nobody has", async () => {
    const session = await noise("noise foreign-session");
    expect(driver.updates.map((each) => each.session)).toEqual(["nobody", session]);
  });

  test("`reused-tool-call` announces two calls with one id", async () => {
    await noise("noise reused-tool-call");
    expect(driver.statuses("call-1")).toEqual(["pending", "completed", "pending", "completed"]);
  });

  test("`stray-update` sends a message after the prompt was answered", async () => {
    await noise("noise stray-update");
    expect(driver.said).toEqual(["noise stray-update done"]);
    await driver.until(() => driver.said.includes("after the end of the turn"));
  });

  test("`stray-gate` asks after the prompt was answered, and runs its command when somebody allows it", async () => {
    await noise("noise stray-gate");
    expect(driver.gates).toEqual([]);
    (await driver.gate(0)).choose("allow-once");
    await driver.until(() => driver.statuses("call-1").includes("completed"));
    expect(readLedger(driver.directory).map((line) => line.command)).toEqual(["echo stray"]);
  });

  test("`prompt-error` rejects the prompt, and the next one works", async () => {
    driver = new Driver();
    const session = await driver.newSession();
    await expect(driver.prompt(session, "noise prompt-error")).rejects.toMatchObject({ code: -32603 });
    expect((await driver.prompt(session, "say hi")).stopReason).toBe("end_turn");
  });

  test("on stderr arrives in full when it is read", async () => {
    driver = new Driver();
    let bytes = 0;
    driver.child.stderr?.on("data", (text: string) => {
      bytes += text.length;
    });
    await driver.prompt(await driver.newSession(), "stderr 2");
    expect(bytes).toBe(2 * 1_024 * 1_024);
    expect(driver.said).toEqual(["stderr 2 done"]);
  });
});
