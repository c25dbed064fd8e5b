import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { tour } from "./tour.ts";

const README = fileURLToPath(new URL("../../../README.md", import.meta.url));

/** The lines to paste, with the comments above them, as they are printed. */
function steps(printed: string): string {
  const lines = printed.split("\n").filter((line) => line === "" || line.startsWith("  "));
  return lines
    .map((line) => line.slice(2))
    .join("\n")
    .trim()
    .replaceAll(/\n{3,}/g, "\n\n");
}

it("the README's tour is the one that `npm start` prints", () => {
  const printed = tour({ address: "127.0.0.1:7420", data: ".holdfast", needsToken: false });
  expect(steps(printed)).toContain("# a turn");
  expect(readFileSync(README, "utf8")).toContain(`\`\`\`sh\n${steps(printed)}\n\`\`\`\n`);
});
