// What makes code impure: a clock, a timer, randomness, the process it runs in, or waiting.
//
// packages/pool decides and never does; given the same arguments it must answer the same for ever, so that a
// simulation replays from a seed. This file finds what would break that, by name and by scope: `slot.process`,
// a parameter called `process`, a property `Date:` are all fine, the global is not. Types may speak of promises
// (a contract that others keep is a type), code may not make or await one.

import { namesDeclaredIn, opensScope } from "./scope.ts";
import { childrenOf, isNode, type SyntaxNode } from "./syntax.ts";

/** Something that pure code may not contain: what, in words, and where it begins in the text. */
export interface Impurity {
  readonly what: string;
  readonly start: number;
}

/** Globals that read the world or reach past the walls, and what each of them is. */
const IMPURE_GLOBALS: Readonly<Record<string, string>> = {
  Date: "a clock",
  Temporal: "a clock",
  performance: "a clock",
  Intl: "the machine's locale and clock",
  setTimeout: "a timer",
  setInterval: "a timer",
  setImmediate: "a timer",
  clearTimeout: "a timer",
  clearInterval: "a timer",
  clearImmediate: "a timer",
  queueMicrotask: "the event loop",
  Promise: "a promise",
  AbortSignal: "a signal",
  AbortController: "a signal",
  Atomics: "shared memory",
  WeakRef: "the garbage collector",
  FinalizationRegistry: "the garbage collector",
  crypto: "randomness",
  process: "the process",
  NodeJS: "the process",
  Buffer: "Node's API",
  console: "the process' output",
  fetch: "the network",
  WebSocket: "the network",
  EventSource: "the network",
  BroadcastChannel: "other threads",
  MessageChannel: "other threads",
  Worker: "other threads",
  navigator: "the machine",
  globalThis: "every global",
  global: "every global",
  eval: "code from text",
  Function: "code from text",
  require: "another module",
};

/** Globals that a type may name although code may not use them. */
const ALLOWED_AS_TYPES = new Set(["Promise", "AbortSignal", "Function"]);

const TYPE_PARENTS = new Set([
  "TSTypeReference",
  "TSQualifiedName",
  "TSTypeQuery",
  "TSInterfaceHeritage",
  "TSClassImplements",
]);

/** Everything impure in a file, in source order. */
export function impuritiesIn(program: SyntaxNode): readonly Impurity[] {
  const found: Impurity[] = [];
  visit(program, [], found);
  return found.sort((one, other) => one.start - other.start);
}

function visit(node: SyntaxNode, outer: readonly ReadonlySet<string>[], found: Impurity[]): void {
  const scopes = opensScope(node) ? [...outer, namesDeclaredIn(node)] : outer;
  const waiting = waitingIn(node);
  if (waiting !== undefined) found.push({ what: waiting, start: node.start });
  for (const { part, child } of childrenOf(node)) {
    if (child.type !== "Identifier") visit(child, scopes, found);
    else {
      const what = isUse(node, part) ? impurityOf(node, child, scopes) : undefined;
      if (what !== undefined) found.push({ what, start: child.start });
      // A parameter's annotation hangs on its identifier.
      for (const { child: annotation } of childrenOf(child)) visit(annotation, scopes, found);
    }
  }
}

function waitingIn(node: SyntaxNode): string | undefined {
  if (node.async === true) return "an async function";
  if (node.type === "AwaitExpression") return "await";
  if (node.type === "ForOfStatement" && node.await === true) return "for await";
  if (node.type === "VariableDeclaration" && node.kind === "await using") return "await using";
  if (node.type === "ImportExpression") return "import() (a promise)";
  if (node.type === "MetaProperty" && isNode(node.meta) && node.meta.name === "import") return "import.meta";
  return undefined;
}

/** Is an identifier in this part of its parent a reference, not just a name for a key, label or export? */
function isUse(parent: SyntaxNode, part: string): boolean {
  if (part === "property" || part === "key") return parent.computed === true;
  if (parent.type === "TSQualifiedName") return part === "left";
  return !["label", "imported", "exported", "qualifier", "meta"].includes(part);
}

function impurityOf(parent: SyntaxNode, use: SyntaxNode, scopes: readonly ReadonlySet<string>[]): string | undefined {
  const name = String(use.name);
  if (scopes.some((names) => names.has(name))) return undefined;
  if (name === "Math") return isSafeMath(parent) ? undefined : "Math.random (randomness)";
  const what = Object.hasOwn(IMPURE_GLOBALS, name) ? IMPURE_GLOBALS[name] : undefined;
  if (what === undefined) return undefined;
  if (ALLOWED_AS_TYPES.has(name) && TYPE_PARENTS.has(parent.type)) return undefined;
  return `${name} (${what})`;
}

/** Math is pure but for one member; an access that cannot be read off the text may be that one. */
function isSafeMath(parent: SyntaxNode): boolean {
  if (parent.type !== "MemberExpression" || !isNode(parent.property)) return false;
  return parent.computed !== true && parent.property.name !== "random";
}
