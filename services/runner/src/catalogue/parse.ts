// A catalogue's text to its agents, or to a list of everything that is wrong with it: file, line, agent, field.

import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from "yaml";
import type { z } from "zod";
import { type AgentShape, catalogueShape } from "./shape.ts";

/** What is wrong, one line for each problem. */
export class CatalogueInvalid extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "CatalogueInvalid";
    this.problems = problems;
  }
}

/** `file` is for the messages. Throws CatalogueInvalid. */
export function parseCatalogue(text: string, file: string): readonly AgentShape[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0) {
    throw new CatalogueInvalid(
      document.errors.map(({ pos: [start], message }) => `${file}:${lines.linePos(start).line}: ${message}`),
    );
  }
  const parsed = catalogueShape.safeParse(document.toJS() ?? {});
  if (parsed.success) return parsed.data.agents;
  const problems = parsed.error.issues.flatMap((issue) => describe(issue, document));
  const inOrder = problems.sort((one, other) => one.offset - other.offset);
  throw new CatalogueInvalid(inOrder.map(({ offset, words }) => `${file}:${lines.linePos(offset).line}: ${words}`));
}

type Path = readonly PropertyKey[];

type Problem = { readonly offset: number; readonly words: string };

function describe(issue: z.core.$ZodIssue, document: Document): readonly Problem[] {
  const isUnknown = issue.code === "unrecognized_keys";
  const paths = isUnknown ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
  const message = isUnknown ? "there is no such field" : wordOf(issue);
  return paths.map((path) => {
    const words = [agentNamed(document, path), fieldOf(path), message].filter((part) => part !== "");
    return { offset: offsetOf(document, path), words: words.join(": ") };
  });
}

/** A key's or a union's own complaint stands inside the issue. */
function wordOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_key") return issue.issues[0]?.message ?? issue.message;
  if (issue.code === "invalid_union") {
    const closest = issue.errors.flat().find(({ code }) => code !== "invalid_type");
    return closest?.message ?? issue.message;
  }
  return issue.message;
}

function agentNamed(document: Document, [agents, index]: Path): string {
  if (agents !== "agents" || typeof index !== "number") return "";
  const name = document.getIn([agents, index, "name"]);
  return typeof name === "string" ? `agent ${name}` : `agent number ${index + 1}`;
}

function fieldOf(path: Path): string {
  const within = path[0] === "agents" && typeof path[1] === "number" ? path.slice(2) : path;
  return within
    .map((part, at) => (typeof part === "number" ? `[${part}]` : `${at > 0 ? "." : ""}${String(part)}`))
    .join("");
}

/** Where the field stands; where it is missing, the nearest thing that holds it. */
function offsetOf(document: Document, path: Path): number {
  for (let length = path.length; length > 0; length--) {
    const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true);
    const key = path[length - 1];
    if (isMap(parent)) {
      const pair = parent.items.find((item) => isScalar(item.key) && item.key.value === key);
      if (pair !== undefined && isNode(pair.key)) return pair.key.range?.[0] ?? 0;
    }
    const node = document.getIn(path.slice(0, length), true);
    if (isNode(node)) return node.range?.[0] ?? 0;
  }
  return 0;
}
