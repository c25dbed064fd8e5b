import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { INSTRUMENTS, instrumentsTable } from "./instruments.ts";

const REFERENCE = fileURLToPath(new URL("../../../../docs/telemetry.md", import.meta.url));

it("the reference of the metrics is the table they are made from", () => {
  expect(Object.keys(INSTRUMENTS).length).toBeGreaterThan(0);
  expect(readFileSync(REFERENCE, "utf8")).toContain(`\n\n${instrumentsTable()}\n\n`);
});
