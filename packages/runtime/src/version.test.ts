import { expect, it } from "vitest";
import { VERSION } from "./version.ts";

it("the version is three numbers", () => {
  expect(VERSION).toMatch(/^\d+\.\d+\.\d+/);
});
