import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { INTERNAL_REASON, internalStatus, TOO_LARGE_REASON, tooLargeStatus } from "./exceptions.ts";
import { STATUS_CODES } from "./status-code.ts";

const REFERENCE = fileURLToPath(new URL("../../../../docs/operations.md", import.meta.url));

test("the reference of the errors names every reason with its status, and no other", () => {
  const section = readFileSync(REFERENCE, "utf8")
    .split("\n## ")
    .find((text) => text.startsWith("What errors mean\n"));
  const documented = [...(section ?? "").matchAll(/^\| ([A-Z_]+) \| ([A-Z_]+) \| \S/gm)].map(([, ...cells]) => cells);
  const known = {
    ...STATUS_CODES,
    [TOO_LARGE_REASON]: tooLargeStatus(2, 1).code,
    [INTERNAL_REASON]: internalStatus("incident").code,
  };
  expect(documented).toEqual(Object.entries(known).map(([reason, code]) => [reason, status[code]]));
});
