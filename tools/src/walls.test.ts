import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sourceFiles } from "./tree.ts";
import { FILE_LIMIT_LINES, violationsIn, type Wall } from "./walls.ts";

const ROOT = join(import.meta.dirname, "../..");

const POOL_FILE = "packages/pool/src/slot.ts";
const POOL_TEST = "packages/pool/src/slot.test.ts";
const GATEWAY_FILE = "services/gateway/src/run-turn.ts";
const RUNTIME_FILE = "packages/runtime/src/clock.ts";

function wallsBroken(path: string, text: string): readonly Wall[] {
  return violationsIn(path, text).map(({ wall }) => wall);
}

describe("the present tree", () => {
  it("holds every wall", async () => {
    const files = await sourceFiles(ROOT);
    expect(files.length).toBeGreaterThan(0);
    expect(files.flatMap(({ path, text }) => violationsIn(path, text))).toEqual([]);
  });

  it("is read without what is generated or installed", async () => {
    const paths = (await sourceFiles(ROOT)).map(({ path }) => path);
    expect(paths).toContain("tools/src/walls.ts");
    expect(paths.filter((path) => path.startsWith("proto/gen/") || path.includes("node_modules"))).toEqual([]);
  });
});

describe("a planted violation is found", () => {
  const planted: readonly (readonly [Wall, string, string])[] = [
    ["pool-imports", POOL_FILE, `import { readFileSync } from "node:fs";`],
    ["pool-imports", POOL_FILE, `import { z } from "zod";`],
    ["pool-imports", POOL_FILE, `import type { Gate } from "@holdfast/proto";`],
    ["pool-imports", POOL_FILE, `export { Gate } from "@holdfast/proto";`],
    ["pool-imports", POOL_FILE, `export * from "../../../proto/index.ts";`],
    ["pool-imports", POOL_FILE, `type Gate = import("@holdfast/proto").Gate;`],
    ["pool-imports", POOL_FILE, `import fs = require("node:fs");`],
    ["pool-imports", POOL_FILE, `import { it } from "vitest";`],
    ["pool-imports", POOL_TEST, `import { readFileSync } from "node:fs";`],
    ["pool-imports", POOL_TEST, `import { sqliteStore } from "@holdfast/store";`],
    ["pool-pure", POOL_FILE, `export const now = Date.now();`],
    ["pool-pure", POOL_FILE, `export type When = Date;`],
    ["pool-pure", POOL_FILE, `setTimeout(() => undefined, 1);`],
    ["pool-pure", POOL_FILE, `export const roll = Math.random();`],
    ["pool-pure", POOL_FILE, `const { random } = Math; export const roll = random();`],
    ["pool-pure", POOL_FILE, `export const pid = process.pid;`],
    ["pool-pure", POOL_FILE, `declare const process: { pid: number }; export const pid = process.pid;`],
    ["pool-pure", POOL_FILE, `export const id = crypto.randomUUID();`],
    ["pool-pure", POOL_FILE, `export const at = performance.now();`],
    ["pool-pure", POOL_FILE, `export const at = globalThis["Date"];`],
    ["pool-pure", POOL_FILE, `export const done = Promise.resolve();`],
    ["pool-pure", POOL_FILE, `export const done = new Promise<void>(() => undefined);`],
    ["pool-pure", POOL_FILE, `export async function step() {}`],
    ["pool-pure", POOL_FILE, `export const step = async () => 1;`],
    ["pool-pure", POOL_FILE, `export const pool = { async step() { return 1; } };`],
    ["pool-pure", POOL_FILE, `const held = await step();`],
    ["pool-pure", POOL_FILE, `for await (const event of events) take(event);`],
    ["pool-pure", POOL_FILE, `const store = import("./store.ts");`],
    ["pool-pure", POOL_FILE, `function end(process: { pid: number }) { return process.pid; } kill(process);`],
    ["services-apart", GATEWAY_FILE, `import { Lane } from "@holdfast/runner";`],
    ["services-apart", GATEWAY_FILE, `import { Lane } from "../../runner/src/lane.ts";`],
    ["services-apart", GATEWAY_FILE, `const lane = await import("@holdfast/runner/lane");`],
    ["services-apart", "services/local/src/main.ts", `import "../../gateway/src/main.ts";`],
    ["services-apart", RUNTIME_FILE, `export type { Lane } from "@holdfast/runner";`],
    ["nats-in-store", GATEWAY_FILE, `import { connect } from "@nats-io/transport-node";`],
    ["nats-in-store", "packages/store/src/sqlite/records.ts", `import { connect } from "nats";`],
    ["acp-in-runner", "services/runner/src/lane.ts", `import type { Client } from "@agentclientprotocol/sdk";`],
    ["acp-in-runner", "e2e/park.test.ts", `import { client } from "@agentclientprotocol/sdk";`],
    ["telemetry-in-runtime", GATEWAY_FILE, `import { trace } from "@opentelemetry/api";`],
    ["telemetry-in-runtime", "services/runner/src/pool.ts", `const api = require("@opentelemetry/api");`],
    ["file-size", GATEWAY_FILE, "export {};\n".repeat(FILE_LIMIT_LINES + 1)],
    ["index-re-exports", "packages/store/src/index.ts", `export const LIMIT = 1;`],
    ["index-re-exports", "packages/store/src/index.ts", `import { open } from "./open.ts"; export { open };`],
    ["import-readable", GATEWAY_FILE, `const library = await import(name);`],
    ["parses", GATEWAY_FILE, `export const = 1;`],
  ];

  const cases = planted.map(([wall, path, text]) => ({ wall, path, text, firstLine: text.split("\n", 1)[0] }));

  it.each(cases)("$wall in $path: $firstLine", ({ wall, path, text }) => {
    expect(wallsBroken(path, text)).toContain(wall);
  });
});

describe("what is no violation stays unreported", () => {
  const innocent: readonly (readonly [string, string, string])[] = [
    ["an import in a comment", POOL_FILE, `// import { z } from "zod";\n/* Date.now() */ export const a = 1;`],
    ["an import in a string", POOL_FILE, `export const text = 'import { z } from "zod"; Date.now()';`],
    ["a global's name in a regular expression", POOL_FILE, `export const text = /Date|process/;`],
    ["a promise in a type", POOL_FILE, `export interface Store { get(key: string): Promise<string>; }`],
    ["a member that is called like a global", POOL_FILE, `export const pid = slot.process.pid;`],
    ["a key that is called like a global", POOL_FILE, `export const slot = { process: 1, Date: 2 };`],
    ["a parameter that is called like a global", POOL_FILE, `export const pid = (process: Pid) => process.pid;`],
    ["a pattern that binds such a name", POOL_FILE, `export function f({ process }: Slot) { return process; }`],
    ["such a name in a function's type", POOL_FILE, `export type End = (process: Pid) => void;`],
    ["a local that is used in a nested function", POOL_FILE, `const process = 1; export const f = () => process;`],
    ["the rest of Math", POOL_FILE, `export const least = Math.min(1, 2);`],
    ["an import inside the pool", POOL_FILE, `export { step } from "./step.ts";`],
    ["a pool's test that waits", POOL_TEST, `import { it } from "vitest"; it("waits", async () => { await 1; });`],
    ["a pool's test with properties", POOL_TEST, `import fc from "fast-check"; fc.nat();`],
    ["a service's own module", GATEWAY_FILE, `import { place } from "./place.ts";`],
    ["a shared package in a service", GATEWAY_FILE, `import { decide } from "@holdfast/pool";`],
    ["NATS at home", "packages/store/src/nats/records.ts", `import { connect } from "@nats-io/transport-node";`],
    ["ACP at home", "services/runner/src/acp/client.ts", `import { client } from "@agentclientprotocol/sdk";`],
    ["ACP in the scripted agent", "agents/scripted/src/main.ts", `import { agent } from "@agentclientprotocol/sdk";`],
    ["a real agent, which is no SDK", "e2e/x.test.ts", `const at = "@agentclientprotocol/claude-agent-acp";`],
    ["OpenTelemetry at home", "packages/runtime/src/spans.ts", `import { trace } from "@opentelemetry/api";`],
    ["a file of the longest length", GATEWAY_FILE, "export {};\n".repeat(FILE_LIMIT_LINES)],
    ["a table of contents", "packages/store/src/index.ts", `export * from "./a.ts";\nexport { b } from "./b.ts";`],
    ["an index that is a page's", "services/gateway/src/index.test.ts", `const a = 1; export { a };`],
  ];

  it.each(innocent)("%s", (_name, path, text) => {
    expect(violationsIn(path, text)).toEqual([]);
  });
});

it("a violation says in which line it begins", () => {
  const [violation] = violationsIn(POOL_FILE, `export const a = 1;\n\nexport const b = Date.now();\n`);
  expect(violation).toEqual({
    path: POOL_FILE,
    line: 3,
    wall: "pool-pure",
    message: "Date (a clock) in packages/pool, which is pure",
  });
});
