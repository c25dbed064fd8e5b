// Which names a stretch of code declares itself, so that a local called `process` is not taken for the global one.
//
// A name counts from the node that opens its scope, wherever in it the declaration stands. What is only declared
// (`declare const process`) declares nothing new: it names the global, and is left out.

import { childrenOf, isNode, type SyntaxNode } from "./syntax.ts";

const SCOPES = new Set([
  "Program",
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
  "TSEmptyBodyFunctionExpression",
  "BlockStatement",
  "StaticBlock",
  "ForStatement",
  "ForInStatement",
  "ForOfStatement",
  "SwitchStatement",
  "CatchClause",
  "ClassDeclaration",
  "ClassExpression",
  "TSDeclareFunction",
  "TSFunctionType",
  "TSConstructorType",
  "TSMethodSignature",
  "TSCallSignatureDeclaration",
  "TSConstructSignatureDeclaration",
  "TSTypeAliasDeclaration",
  "TSInterfaceDeclaration",
]);

/** The parts of a node that hold the name or pattern it declares. */
const DECLARING_PARTS: Readonly<Record<string, readonly string[]>> = {
  VariableDeclarator: ["id"],
  FunctionDeclaration: ["id", "params"],
  FunctionExpression: ["id", "params"],
  ArrowFunctionExpression: ["params"],
  TSEmptyBodyFunctionExpression: ["params"],
  TSDeclareFunction: ["params"],
  ClassDeclaration: ["id"],
  ClassExpression: ["id"],
  CatchClause: ["param"],
  ImportSpecifier: ["local"],
  ImportDefaultSpecifier: ["local"],
  ImportNamespaceSpecifier: ["local"],
  TSFunctionType: ["params"],
  TSConstructorType: ["params"],
  TSMethodSignature: ["params"],
  TSCallSignatureDeclaration: ["params"],
  TSConstructSignatureDeclaration: ["params"],
  TSIndexSignature: ["parameters"],
  TSTypeAliasDeclaration: ["id"],
  TSInterfaceDeclaration: ["id"],
  TSTypeParameter: ["name"],
  TSMappedType: ["key"],
};

export function opensScope(node: SyntaxNode): boolean {
  return SCOPES.has(node.type);
}

/** The names that hold everywhere inside `scope`, and outside of it only where an outer scope has them too. */
export function namesDeclaredIn(scope: SyntaxNode): ReadonlySet<string> {
  const names = new Set<string>();
  declare(scope, names);
  const pending = [scope];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    for (const { child } of childrenOf(node)) {
      if (child.declare === true) continue;
      // A nested function or class is named here; what it declares inside is its own.
      if (opensScope(child)) declareName(child, names);
      else {
        declare(child, names);
        pending.push(child);
      }
    }
  }
  return names;
}

function declare(node: SyntaxNode, names: Set<string>): void {
  for (const part of DECLARING_PARTS[node.type] ?? []) {
    const value = node[part];
    for (const pattern of Array.isArray(value) ? value : [value]) addPattern(pattern, names);
  }
}

function declareName(node: SyntaxNode, names: Set<string>): void {
  if (node.type.endsWith("Declaration")) addPattern(node.id, names);
}

/** The identifiers that a binding pattern binds; its defaults and computed keys are uses, not bindings. */
function addPattern(pattern: unknown, names: Set<string>): void {
  if (!isNode(pattern)) return;
  switch (pattern.type) {
    case "Identifier":
      names.add(String(pattern.name));
      return;
    case "AssignmentPattern":
      addPattern(pattern.left, names);
      return;
    case "RestElement":
      addPattern(pattern.argument, names);
      return;
    case "ArrayPattern":
      for (const element of pattern.elements as unknown[]) addPattern(element, names);
      return;
    case "ObjectPattern":
      for (const property of pattern.properties as SyntaxNode[]) {
        addPattern(property.type === "RestElement" ? property : property.value, names);
      }
      return;
    default:
      return;
  }
}
