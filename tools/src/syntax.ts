// A source file as the walls see it: its syntax tree, and every module it names.
//
// The tree is ESTree with TypeScript's nodes, as oxc-parser gives it. A comment or a string that merely looks like
// an import is no import here, and a type-only import is one: a wall holds for types too.

import { parseSync, visitorKeys } from "oxc-parser";

/** One node of the tree: its kind, where it begins (UTF-16 units from the start of the text), its parts by name. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly [part: string]: unknown;
}

/** A module named by a file. `specifier` is null where it is computed at run time, so that nobody can check it. */
export interface ModuleUse {
  readonly specifier: string | null;
  readonly start: number;
}

/** A parsed file, or why it could not be parsed (the parser's own words, at least one). */
export type Parsed =
  | { readonly kind: "tree"; readonly program: SyntaxNode }
  | { readonly kind: "unreadable"; readonly problems: readonly string[] };

export function parse(path: string, text: string): Parsed {
  const { program, errors } = parseSync(path, text, { sourceType: "module" });
  if (errors.length > 0) return { kind: "unreadable", problems: errors.map((error) => error.message) };
  return { kind: "tree", program: program as unknown as SyntaxNode };
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";
}

/** A node's children with the name of the part they are in, in source order. */
export function* childrenOf(node: SyntaxNode): Generator<{ readonly part: string; readonly child: SyntaxNode }> {
  for (const part of visitorKeys[node.type] ?? []) {
    const value = node[part];
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) yield { part, child };
  }
}

/** Every module the file names: import, export from, import(), import = require(), require(), and import types. */
export function modulesUsed(program: SyntaxNode): readonly ModuleUse[] {
  const uses: ModuleUse[] = [];
  const pending = [program];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const named = moduleNamedBy(node);
    if (named !== undefined) uses.push({ specifier: constantText(named), start: node.start });
    for (const { child } of childrenOf(node)) pending.push(child);
  }
  return uses.sort((one, other) => one.start - other.start);
}

/** The expression that names a module, undefined for a node that names none. */
function moduleNamedBy(node: SyntaxNode): unknown {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportAllDeclaration":
    case "ImportExpression":
    case "TSImportType":
      return node.source;
    case "ExportNamedDeclaration":
      return node.source ?? undefined;
    case "TSExternalModuleReference":
      return node.expression;
    case "CallExpression":
      return isRequire(node.callee) ? (node.arguments as unknown[])[0] : undefined;
    default:
      return undefined;
  }
}

/** `require` and `require.resolve`, whoever made them. */
function isRequire(callee: unknown): boolean {
  if (!isNode(callee)) return false;
  if (callee.type === "MemberExpression") return isRequire(callee.object);
  return callee.type === "Identifier" && callee.name === "require";
}

function constantText(expression: unknown): string | null {
  if (!isNode(expression)) return null;
  if (expression.type === "Literal" && typeof expression.value === "string") return expression.value;
  if (expression.type !== "TemplateLiteral" || (expression.expressions as unknown[]).length > 0) return null;
  const [quasi] = expression.quasis as { readonly value: { readonly cooked: string | null } }[];
  return quasi?.value.cooked ?? null;
}
