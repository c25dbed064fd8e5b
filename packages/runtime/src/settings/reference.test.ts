import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { settingsTable } from "./settings.ts";

const REFERENCE = fileURLToPath(new URL("../../../../docs/operations.md", import.meta.url));

it("the reference of the settings is the table they are read by", () => {
  expect(readFileSync(REFERENCE, "utf8")).toContain(`\n\n${settingsTable()}\n\n`);
});
