/**
 * Queries on syntax trees that several rules share.
 *
 * @module
 */

const FUNCTIONS: readonly string[] = [
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
];

/** Names the property a member expression reads: `a.b` and `a["b"]` give `b`, `a[i]` null. */
export function propertyOf(node: Deno.lint.MemberExpression): string | null {
  const { property } = node;
  if (property.type === "Identifier" && !node.computed) return property.name;
  if (property.type === "Literal" && typeof property.value === "string") return property.value;
  return null;
}

/** Names a key of an object, a pattern or an interface; null when it is computed. */
export function keyOf(node: Deno.lint.Node): string | null {
  if (node.type === "Identifier") return node.name;
  return node.type === "Literal" && typeof node.value === "string" ? node.value : null;
}

/** Tells whether an expression is the global of that name, bare or through `globalThis`. */
export function isGlobal(node: Deno.lint.Node, name: string): boolean {
  if (node.type === "Identifier") return node.name === name;
  if (node.type !== "MemberExpression" || propertyOf(node) !== name) return false;
  return node.object.type === "Identifier" && node.object.name === "globalThis";
}

/** Tells whether a member expression reads `owner.property`, where `owner` is a global. */
export function reads(
  node: Deno.lint.MemberExpression,
  owner: string,
  property: string,
): boolean {
  return propertyOf(node) === property && isGlobal(node.object, owner);
}

/** Tells whether an identifier stands for a value, and is not merely the name of a member or key. */
export function isReference(node: Deno.lint.Identifier): boolean {
  const { parent } = node;
  if (parent.type === "MemberExpression") return parent.object === node || parent.computed;
  if (parent.type === "Property") return parent.shorthand || parent.value === node;
  return !["MethodDefinition", "PropertyDefinition", "TSPropertySignature", "TSMethodSignature"]
    .includes(parent.type);
}

/** Tells whether a node makes a function with a body. */
export function isFunction(
  node: Deno.lint.Node | null | undefined,
): node is
  | Deno.lint.FunctionDeclaration
  | Deno.lint.FunctionExpression
  | Deno.lint.ArrowFunctionExpression {
  return node !== null && node !== undefined && FUNCTIONS.includes(node.type);
}

/** Tells whether a node runs while its module is loaded, outside every function. */
export function runsOnLoad(context: Deno.lint.RuleContext, node: Deno.lint.Node): boolean {
  return !context.sourceCode.getAncestors(node).some(isFunction);
}

/** Removes syntax for the type checker alone: `x as T`, `x!`, `x satisfies T`. */
export function withoutTypes(node: Deno.lint.Node): Deno.lint.Node {
  if (
    node.type === "TSAsExpression" || node.type === "TSNonNullExpression" ||
    node.type === "TSSatisfiesExpression" || node.type === "TSTypeAssertion" ||
    node.type === "ChainExpression"
  ) return withoutTypes(node.expression);
  return node;
}
