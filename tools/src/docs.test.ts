// What the documents say of the code, where it can be looked up: links, limits, the matrix, the tests they cite.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const textOf = (path: string): string => readFileSync(join(ROOT, path), "utf8");

const DOCUMENTS = [
  "README.md",
  "AGENTS.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .map((path) => join("docs", path)),
];
const ARCHITECTURE = textOf("docs/architecture.md");

function headingsOf(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, "")
      .trim()
      .replaceAll(" ", "-"),
  );
}

describe.each(DOCUMENTS)("%s", (path) => {
  const text = textOf(path);

  it("links to files and headings that are there", () => {
    for (const [, target = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [file = "", heading] = target.split("#");
      const linked = file === "" ? path : join(dirname(path), file);
      expect(existsSync(join(ROOT, linked)), `${target} is there`).toBe(true);
      if (heading !== undefined) expect(headingsOf(textOf(linked)), target).toContain(heading);
    }
  });

  it("cites tests that are there", () => {
    for (const [, file = "", name = ""] of text.matchAll(/`([\w./-]+\.test\.ts)`\s"([^"]+)"/g))
      expect(textOf(file), file).toContain(name);
  });

  it("names files of the repository that are there", () => {
    for (const [, file = ""] of text.matchAll(/`((?:packages|services|agents|tools|e2e|proto|docs)\/[\w./-]+\.\w+)`/g))
      expect(existsSync(join(ROOT, file)), `${file} is there`).toBe(true);
  });
});

describe("docs/architecture.md", () => {
  it("has every limit with the value that its file gives it", () => {
    const rows = [...ARCHITECTURE.matchAll(/^\| `([A-Z_]+)` \| `([^`]+)` \| .+ \| `([^`]+)` \|$/gm)];
    expect(rows.length).toBeGreaterThan(40);
    for (const [, name, value, file = ""] of rows) expect(textOf(file), file).toContain(`const ${name} = ${value};`);
  });

  it("has the matrix that its test holds", () => {
    const matrix = /const MATRIX = `\n([^`]+)`/.exec(textOf("packages/pool/src/record/matrix.test.ts"))?.[1] ?? "";
    const rows = matrix.trim().split("\n");
    expect(rows.length).toBeGreaterThan(20);
    const cells = rows.map((row) => row.split("|").map((cell) => cell.trim()));
    expect(ARCHITECTURE).toContain(cells.map((row) => `| ${row.join(" | ")} |\n`).join(""));
  });
});
