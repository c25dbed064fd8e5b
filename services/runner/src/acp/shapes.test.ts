import { describe, expect, it } from "vitest";
import { OPTION_TEXT_CHARACTERS, OPTIONS, permissionRequestShape } from "./shapes.ts";

const longest = "x".repeat(OPTION_TEXT_CHARACTERS);

function isRead(count: number, change: Readonly<Record<string, string>> = {}): boolean {
  const option = { optionId: longest, name: longest, kind: "allow_once", ...change };
  const options = Array.from({ length: count }, () => option);
  return permissionRequestShape.safeParse({ sessionId: "s", toolCall: { toolCallId: "c" }, options }).success;
}

describe("a permission request", () => {
  it("is read with as many options as a gate may have, each as long as it may be", () => {
    expect(isRead(OPTIONS)).toBe(true);
  });

  it("with one option more is malformed", () => {
    expect(isRead(OPTIONS + 1)).toBe(false);
  });

  it("whose option has a longer id is malformed: an id is never cut", () => {
    expect(isRead(1, { optionId: `${longest}x` })).toBe(false);
  });

  it("whose option has a longer name is read, with the name cut", () => {
    const option = { optionId: "a", name: `${longest}y`, kind: "allow_once" };
    const read = permissionRequestShape.parse({ sessionId: "s", toolCall: { toolCallId: "c" }, options: [option] });
    expect(read.options[0]?.name).toBe(longest);
  });
});
