import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { LOG_EVENTS } from "./events.ts";

const REFERENCE = fileURLToPath(new URL("../../../../docs/operations.md", import.meta.url));
const WORD = /[a-z_]+(\.[a-z_]+)*/g;

/** The section on logs: the first column of its table, and the list of what is reserved. */
function documented(): readonly string[] {
  const logs = readFileSync(REFERENCE, "utf8")
    .split("\n## ")
    .find((section) => section.startsWith("Logs\n"));
  const rows = [...(logs ?? "").matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, first = ""]) => first.match(WORD) ?? []);
  const reserved = /Reserved and not written by this version: ([\s\S]*?)\.\n/.exec(logs ?? "")?.[1] ?? "";
  return [...rows, ...(reserved.match(WORD) ?? [])].filter((word) => word !== "event");
}

it("the reference of the log names every event once, and no other", () => {
  expect([...documented()].sort()).toEqual([...LOG_EVENTS].sort());
});
