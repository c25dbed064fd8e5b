import { describe, expect, it } from "vitest";
import { lastErrorIn } from "./last-words.ts";

const line = (fields: object) => JSON.stringify({ service: "gateway", ...fields });

describe("the last words of a service", () => {
  it("are its last error, whatever came after it", () => {
    const log = [
      line({ level: "error", event: "credentials", error: { message: "an earlier one" } }),
      line({ level: "error", event: "crash", error: { message: "cannot listen" }, msg: "could not start" }),
      line({ level: "info", event: "closed" }),
      '{"level":"err',
    ];
    expect(lastErrorIn(log.join("\n"))).toBe("cannot listen");
    expect(lastErrorIn(line({ level: "error", msg: "no cause" }))).toBe("no cause");
  });

  it("are what it printed, if it never came to have a log", () => {
    const text = "the settings cannot be used:\n  HOLDFAST_PORT is no port\n";
    expect(lastErrorIn(text)).toBe("the settings cannot be used:\n  HOLDFAST_PORT is no port");
    expect(lastErrorIn("")).toBe("");
  });
});
