/**
 * Money never passes through a float. A linter sees names, not types, so a value counts as money
 * when its name says so; the type checker keeps bigint and string apart from number for the rest.
 *
 * @module
 */

import { isGlobal, keyOf, propertyOf, withoutTypes } from "./nodes.ts";
import { inLayer, PRODUCT, sourceFileOf } from "./layers.ts";

// Always money in this service, in every layer.
const SURE: readonly string[] = [
  "amount",
  "amounts",
  "balance",
  "balances",
  "fee",
  "fees",
  "price",
  "prices",
  "supply",
  "units",
];

// Money in the inner layers; in the HTTP layer the same words also name header values and page totals.
const LIKELY: readonly string[] = [
  ...SURE,
  "available",
  "blocked",
  "rate",
  "rates",
  "total",
  "totals",
  "value",
];

// A name that ends so counts, measures or names something: feeCount, rateLimit, valueLength.
const NOT_MONEY: readonly string[] = [
  ...["at", "attempts", "bits", "blocks", "bps", "bytes", "code", "count", "days", "decimals"],
  ...["digits", "height", "hours", "id", "ids", "index", "interval", "key", "kind", "length"],
  ...["limit", "minutes", "ms", "name", "offset", "page", "pages", "places", "position", "scale"],
  ...["seconds", "seq", "size", "status", "target", "ttl", "type", "version", "width"],
];

// Calls that hand their own object on, still as that amount.
const KEEPS_MEANING: readonly string[] = [
  ...["at", "padEnd", "padStart", "replace", "replaceAll", "slice", "toString", "trim", "valueOf"],
];

const TO_NUMBER: readonly string[] = ["Number", "parseInt"];
const ARITHMETIC: readonly string[] = ["+", "-", "*", "/", "%", "**"];
const ROUNDING: readonly string[] = ["toFixed", "toPrecision", "toExponential"];

const HINT = "Keep amounts as decimal text or bigint; domain/money.ts converts.";

/** Refuses money in a float: conversions, arithmetic, rounding, and `number` as its type. */
export const money: Deno.lint.Rule = {
  create(context) {
    const file = sourceFileOf(context.filename);
    const words = file.layer === "routes" ? SURE : LIKELY;
    const refuse: Refuse = (node, message) => context.report({ node, message, hint: HINT });
    const shipped = inLayer(file, [...PRODUCT, "main", "commands", "config", "log"]);
    return {
      ...(inLayer(file, PRODUCT) && nameVisitor(refuse, words)),
      CallExpression(node) {
        if (isParseFloat(node.callee)) refuse(node, "parseFloat makes a float of any text");
        if (shipped && node.callee.type === "MemberExpression") {
          const method = propertyOf(node.callee) ?? "";
          if (ROUNDING.includes(method)) refuse(node, `${method} rounds a float`);
        }
        if (inLayer(file, PRODUCT)) refuseCall(node, words, refuse);
      },
    };
  },
};

type Refuse = (node: Deno.lint.Node, message: string) => void;

function nameVisitor(refuse: Refuse, words: readonly string[]): Deno.lint.LintVisitor {
  function typed(node: Deno.lint.Node, key: Deno.lint.Node, annotation?: Annotation | null): void {
    if (annotation?.typeAnnotation.type !== "TSNumberKeyword") return;
    const name = keyOf(key);
    if (name !== null && endsAsMoney(name)) refuse(node, `${name} is money, not a number`);
  }
  return {
    UnaryExpression(node) {
      if (node.operator !== "+") return;
      const name = moneyIn(node.argument, words);
      if (name) refuse(node, `Unary plus makes a float of ${name}`);
    },
    BinaryExpression(node) {
      if (!ARITHMETIC.includes(node.operator)) return;
      const name = isNumber(node.right)
        ? moneyIn(node.left, SURE)
        : isNumber(node.left)
        ? moneyIn(node.right, SURE)
        : null;
      if (name) refuse(node, `Float arithmetic on ${name}`);
    },
    AssignmentExpression(node) {
      if (node.operator === "=" || !isNumber(node.right)) return;
      const name = moneyIn(node.left, SURE);
      if (name) refuse(node, `Float arithmetic on ${name}`);
    },
    Identifier: (node) => typed(node, node, node.typeAnnotation),
    TSPropertySignature: (node) => typed(node, node.key, node.typeAnnotation),
    Property(node) {
      const name = keyOf(node.key);
      if (name !== null && endsAsMoney(name) && isNumberSchema(node.value)) {
        refuse(node, `${name} is money, not a number`);
      }
    },
  };
}

type Annotation = Deno.lint.TSTypeAnnotation;

function refuseCall(
  node: Deno.lint.CallExpression,
  words: readonly string[],
  refuse: Refuse,
): void {
  const { callee } = node;
  const converts = TO_NUMBER.some((name) => isGlobal(callee, name)) ||
    callee.type === "MemberExpression" && isGlobal(callee.object, "Number") &&
      propertyOf(callee) === "parseInt";
  if (converts && node.arguments[0]) {
    const name = moneyIn(node.arguments[0], words);
    if (name) refuse(node, `Conversion makes a float of ${name}`);
  }
  if (callee.type === "MemberExpression" && isGlobal(callee.object, "Math")) {
    const name = node.arguments.map((argument) => moneyIn(argument, SURE)).find(Boolean);
    if (name) refuse(node, `Math works on floats, and ${name} is money`);
  }
}

/** Finds the name by which an expression carries money, or null. */
function moneyIn(expression: Deno.lint.Node, words: readonly string[]): string | null {
  const node = withoutTypes(expression);
  switch (node.type) {
    case "Identifier":
      return isMoney(node.name, words) ? node.name : null;
    case "MemberExpression": {
      const name = propertyOf(node);
      if (name === null) return moneyIn(node.object, words);
      return isMoney(name, words) ? name : null;
    }
    case "CallExpression":
      return moneyInCall(node, words);
    case "LogicalExpression":
    case "BinaryExpression":
      return moneyIn(node.left, words) ?? moneyIn(node.right, words);
    case "ConditionalExpression":
      return moneyIn(node.consequent, words) ?? moneyIn(node.alternate, words);
    case "UnaryExpression":
    case "AwaitExpression":
    case "SpreadElement":
      return moneyIn(node.argument, words);
    case "TemplateLiteral":
      return node.expressions.length === 1 ? moneyIn(node.expressions[0], words) : null;
    default:
      return null;
  }
}

function moneyInCall(node: Deno.lint.CallExpression, words: readonly string[]): string | null {
  const { callee } = node;
  if (isGlobal(callee, "String") || isGlobal(callee, "BigInt") || isGlobal(callee, "Number")) {
    return node.arguments[0] ? moneyIn(node.arguments[0], words) : null;
  }
  if (callee.type === "MemberExpression" && KEEPS_MEANING.includes(propertyOf(callee) ?? "")) {
    return moneyIn(callee.object, words);
  }
  return moneyIn(callee, words);
}

function isMoney(name: string, words: readonly string[]): boolean {
  const parts = wordsOf(name);
  return !NOT_MONEY.includes(parts.at(-1) ?? "") && parts.some((part) => words.includes(part));
}

function endsAsMoney(name: string): boolean {
  return SURE.includes(wordsOf(name).at(-1) ?? "");
}

function wordsOf(name: string): string[] {
  return name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase().split(/[_$-]+/).filter(Boolean);
}

function isParseFloat(callee: Deno.lint.Node): boolean {
  if (isGlobal(callee, "parseFloat")) return true;
  return callee.type === "MemberExpression" && propertyOf(callee) === "parseFloat";
}

function isNumber(node: Deno.lint.Node): boolean {
  return node.type === "Literal" && typeof node.value === "number";
}

/** A zod schema that begins with `z.number()` or `z.coerce.number()`, whatever follows. */
function isNumberSchema(node: Deno.lint.Node): boolean {
  if (node.type === "CallExpression") return isNumberSchema(node.callee);
  if (node.type !== "MemberExpression") return false;
  const property = propertyOf(node);
  if (property === "number" || property === "int" || property === "float64") {
    const { object } = node;
    if (object.type === "Identifier" && object.name === "z") return true;
    if (object.type === "MemberExpression" && propertyOf(object) === "coerce") return true;
  }
  return isNumberSchema(node.object);
}
