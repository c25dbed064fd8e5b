// The walls of the house: what may not import what, and the shape that every source file keeps.
//
//  W1  packages/pool imports nothing but itself; its tests may use vitest and fast-check besides.
//  W2  packages/pool is pure: no clock, timer, randomness, process or waiting (purity.ts says what each is).
//  W3  A service is imported by nobody but itself: services meet over the wire.
//  W4  NATS is known only in packages/store/src/nats.
//  W5  The ACP SDK is known only in services/runner/src/acp, to the scripted agent, and to the tests of real agents.
//  W6  OpenTelemetry is known only in packages/runtime.
//  W7  No file is longer than FILE_LIMIT_LINES.
//  W8  An index.ts is a table of contents: it only re-exports.
//  W9  Every import outside the tests can be read off the text; a computed one could be anything.
//
// One pure function over (path, text): the tree it is run over, and the planted violations its test runs it over,
// are the caller's. Generated code is not passed in.

import { posix } from "node:path";
import { impuritiesIn } from "./purity.ts";
import { isNode, type ModuleUse, modulesUsed, parse, type SyntaxNode } from "./syntax.ts";

/** The longest a source file may be. */
export const FILE_LIMIT_LINES = 500;

export type Wall =
  | "pool-imports"
  | "pool-pure"
  | "services-apart"
  | "nats-in-store"
  | "acp-in-runner"
  | "telemetry-in-runtime"
  | "file-size"
  | "index-re-exports"
  | "import-readable"
  | "parses";

/** One breach: the file, the line (from 1) where it begins, the wall, and a sentence for whoever has to fix it. */
export interface Violation {
  readonly path: string;
  readonly line: number;
  readonly wall: Wall;
  readonly message: string;
}

/** A breach before it has a place: `start` counts UTF-16 units from the start of the text. */
interface Breach {
  readonly wall: Wall;
  readonly start: number;
  readonly message: string;
}

/** A library that only some folders may know. */
interface Enclosure {
  readonly wall: Wall;
  readonly library: RegExp;
  readonly name: string;
  readonly homes: readonly string[];
}

const ENCLOSURES: readonly Enclosure[] = [
  {
    wall: "nats-in-store",
    library: /^(@nats-io\/|nats(\.ws|\.deno)?(\/|$))/,
    name: "NATS",
    homes: ["packages/store/src/nats/"],
  },
  {
    wall: "acp-in-runner",
    library: /^@agentclientprotocol\/sdk(\/|$)/,
    name: "the ACP SDK",
    homes: ["services/runner/src/acp/", "agents/scripted/", "e2e/agents/"],
  },
  {
    wall: "telemetry-in-runtime",
    library: /^@opentelemetry\//,
    name: "OpenTelemetry",
    homes: ["packages/runtime/"],
  },
];

const POOL = "packages/pool/";
const POOL_TEST_LIBRARIES = new Set(["vitest", "fast-check"]);
const SERVICES = ["gateway", "runner", "local"];
const SCOPE = "@holdfast/";

/** The breaches of every wall by one file. `path` is relative to the checkout, with forward slashes. */
export function violationsIn(path: string, text: string): readonly Violation[] {
  const breaches = [...sizeBreaches(text), ...syntaxBreaches(path, text)];
  return breaches.map(({ wall, start, message }) => ({ path, line: lineAt(text, start), wall, message }));
}

function syntaxBreaches(path: string, text: string): readonly Breach[] {
  const parsed = parse(path, text);
  if (parsed.kind === "unreadable") {
    return parsed.problems.map((message) => ({ wall: "parses", start: 0, message }));
  }
  const breaches = modulesUsed(parsed.program).flatMap((use) => importBreaches(path, use));
  if (posix.basename(path) === "index.ts") breaches.push(...indexBreaches(parsed.program));
  if (path.startsWith(POOL) && !isTest(path)) {
    for (const { what, start } of impuritiesIn(parsed.program)) {
      breaches.push({ wall: "pool-pure", start, message: `${what} in packages/pool, which is pure` });
    }
  }
  return breaches;
}

function importBreaches(path: string, { specifier, start }: ModuleUse): Breach[] {
  if (specifier === null) {
    if (isTest(path)) return [];
    return [{ wall: "import-readable", start, message: "the module imported here is computed at run time" }];
  }
  const target = specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : undefined;
  const breaches: Breach[] = [];
  if (path.startsWith(POOL) && !isAllowedInPool(path, specifier, target)) {
    breaches.push({ wall: "pool-imports", start, message: `packages/pool imports ${specifier}` });
  }
  const service = serviceNamed(specifier, target);
  if (service !== undefined && !path.startsWith(service)) {
    breaches.push({ wall: "services-apart", start, message: `${service} is imported from outside itself` });
  }
  for (const { wall, library, name, homes } of ENCLOSURES) {
    if (!library.test(specifier) || homes.some((home) => path.startsWith(home))) continue;
    breaches.push({ wall, start, message: `${name} is known only in ${homes.join(", ")}` });
  }
  return breaches;
}

function isAllowedInPool(path: string, specifier: string, target: string | undefined): boolean {
  if (target !== undefined) return target.startsWith(POOL);
  return isTest(path) && POOL_TEST_LIBRARIES.has(specifier);
}

/** The folder of the service that an import reaches, by its path or by its workspace's name. */
function serviceNamed(specifier: string, target: string | undefined): string | undefined {
  const name = SERVICES.find(
    (service) => target?.startsWith(`services/${service}/`) || `${specifier}/`.startsWith(`${SCOPE}${service}/`),
  );
  return name === undefined ? undefined : `services/${name}/`;
}

function indexBreaches(program: SyntaxNode): readonly Breach[] {
  return (program.body as readonly SyntaxNode[])
    .filter((statement) => !isReExport(statement))
    .map(({ start }) => ({ wall: "index-re-exports", start, message: "an index.ts only re-exports" }));
}

function isReExport(statement: SyntaxNode): boolean {
  if (statement.type === "ExportAllDeclaration") return true;
  return statement.type === "ExportNamedDeclaration" && isNode(statement.source);
}

function sizeBreaches(text: string): readonly Breach[] {
  const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  if (lines <= FILE_LIMIT_LINES) return [];
  return [{ wall: "file-size", start: 0, message: `${lines} lines, more than ${FILE_LIMIT_LINES}` }];
}

function isTest(path: string): boolean {
  return path.endsWith(".test.ts");
}

function lineAt(text: string, start: number): number {
  return text.slice(0, start).split("\n").length;
}
