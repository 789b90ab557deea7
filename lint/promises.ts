/**
 * No promise is dropped: a statement that is a promise is awaited, or its rejection
 * is caught there. Deno's linter knows no types, so this check uses the compiler: it
 * type-checks a copy of the sources in which each such statement is passed to a function that
 * takes no promise. A copy without any fault tells that the sources have none either, so that they need not be
 * type-checked once more, which would take as long again.
 *
 * @module
 */
import { dirname, join } from "node:path";
import ts from "typescript";

const NAME = "__noPromise";
const DECLARED = `
declare function ${NAME}<T>(value: 0 extends 1 & T ? T
  : Extract<T, PromiseLike<unknown>> extends never ? T : "a dropped promise"): void;
`;
const FAULT = /parameter of type '"a dropped promise"'[^]*?at file:\/\/(\S+?):(\d+):\d+/g;
/** Functions that call back and ignore a promise that the callback returns. */
const HEEDLESS = ["setTimeout", "setInterval", "queueMicrotask", "addEventListener", "forEach"];

/** All that it exports gives no promise, but `rejects` and `doesNotReject`. */
const ASSERT = "node:assert/strict";
/** Never returns. */
const EXIT = "Deno.exit";

/** Files that the copy needs beside the modules themselves, from the folder of their configuration. */
const ALONGSIDE = ["deno.json", "deno.lock"];

/**
 * Flags of V8 for the compiler, which makes many small things and keeps most of them: with room for them the collector
 * looks through them less often. An eighth of its processor time.
 */
export const ROOMY = "--min-semi-space-size=64,--max-semi-space-size=64";

/** What the compiler says of a marked copy. */
export interface MarkedCheck {
  /** The dropped promises, a line each; null where there is none. */
  dropped: string | null;
  /** Whether the compiler finds no fault at all: the modules as they stand have no fault of types. */
  clean: boolean;
}

/** Looks for dropped promises in these modules of a folder. */
export async function checkMarked(
  root: URL,
  modules: readonly string[],
  configured = root,
): Promise<MarkedCheck> {
  const copy = await Deno.makeTempDir({ prefix: "purser-promises-" });
  try {
    for (const name of ALONGSIDE) {
      await Deno.copyFile(new URL(name, configured), `${copy}/${name}`);
    }
    const faults: string[] = [];
    const parsed = await Promise.all(modules.map(async (name) => {
      const text = await Deno.readTextFile(new URL(name, root));
      return ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
    }));
    const narrowing = new Set(parsed.flatMap(narrowingOf));
    for (const source of parsed) {
      const { fileName: name } = source;
      const marked = markStatements(source, narrowing);
      faults.push(...marked.faults);
      await Deno.mkdir(dirname(`${copy}/${name}`), { recursive: true });
      await Deno.writeTextFile(`${copy}/${name}`, marked.text);
      for (const { path, isLocal } of importsOf(source)) {
        if (!isLocal || !path.endsWith(".json") || ALONGSIDE.includes(path)) continue;
        await Deno.mkdir(dirname(`${copy}/${path}`), { recursive: true });
        await Deno.copyFile(new URL(path, root), `${copy}/${path}`);
      }
    }
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", ...modules],
      cwd: copy,
      env: { NO_COLOR: "1", DENO_V8_FLAGS: ROOMY },
    }).output();
    const said = new TextDecoder().decode(stderr);
    for (const [, file, line] of said.matchAll(FAULT)) {
      faults.push(`${file.slice(file.indexOf(copy) + copy.length + 1)}:${line}`);
    }
    // Marks may cost narrowing, so other faults need not be those of the modules as they stand.
    if (!success && !/^TS\d+ /m.test(said)) faults.push(said);
    const dropped = faults.length === 0 ? null : `promises dropped:\n${faults.sort().join("\n")}`;
    return { dropped, clean: success };
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
}

interface Imported {
  /** The file from the root on, or a package. */
  path: string;
  isLocal: boolean;
  /** Names in the importing module, each with `path name` of what it stands for. */
  names: [string, string][];
}

/** Lists what a module imports. */
function importsOf(source: ts.SourceFile): Imported[] {
  return source.statements.filter(ts.isImportDeclaration).map((one) => {
    const from = (one.moduleSpecifier as ts.StringLiteral).text;
    const isLocal = from.startsWith(".");
    const path = isLocal ? join(dirname(source.fileName), from) : from;
    const bindings = one.importClause?.namedBindings;
    const elements = bindings && ts.isNamedImports(bindings) ? [...bindings.elements] : [];
    const names = elements.map(({ name, propertyName }): [string, string] => [
      name.text,
      `${path} ${(propertyName ?? name).text}`,
    ]);
    return { path, isLocal, names };
  });
}

/** Lists functions of a module whose call narrows what follows it: they assert, or never return. */
function narrowingOf(source: ts.SourceFile): string[] {
  return source.statements.filter(ts.isFunctionDeclaration)
    .filter(({ type }) =>
      type?.kind === ts.SyntaxKind.NeverKeyword ||
      type !== undefined && ts.isTypePredicateNode(type) && type.assertsModifier !== undefined
    )
    .map(({ name }) => `${source.fileName} ${name?.text}`);
}

/** The functions by whose declared type a call gives no promise, and narrows what follows it; by their names here. */
function narrowingIn(source: ts.SourceFile, all: ReadonlySet<string>): Set<string> {
  const here = narrowingOf(source).map((one) => one.split(" ")[1]);
  const imported = importsOf(source).flatMap(({ path, names }) =>
    names.filter(([, other]) => all.has(other) || path === ASSERT && !/reject/i.test(other))
      .map(([name]) => name)
  );
  const found = new Set([...here, ...imported]);
  // Another thing of that name, in some scope, may well be a promise.
  const visit = (node: ts.Node): void => {
    const declared = ts.isVariableDeclaration(node) || ts.isParameter(node) ||
      ts.isBindingElement(node);
    if (declared && ts.isIdentifier(node.name)) found.delete(node.name.text);
    ts.forEachChild(node, visit);
  };
  if (found.size > 0) visit(source);
  return found;
}

/** Marks the statements of a module that may be promises; lines stay where they are. */
function markStatements(
  source: ts.SourceFile,
  all: ReadonlySet<string>,
): { text: string; faults: string[] } {
  const { fileName: name, text } = source;
  const narrowing = narrowingIn(source, all);
  const narrows = ({ expression }: ts.CallExpression) =>
    ts.isIdentifier(expression) ? narrowing.has(expression.text) : expression.getText() === EXIT;
  const marks: { at: number; insert: string }[] = [];
  const faults: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isExpressionStatement(node)) {
      const value = unwrapped(node.expression);
      const isPossible = ts.isCallExpression(value)
        ? !isCaught(value) && !narrows(value)
        : ts.isIdentifier(value);
      if (isPossible) {
        marks.push({ at: value.getStart(), insert: `${NAME}(` }, {
          at: value.getEnd(),
          insert: ")",
        });
      }
    }
    if (ts.isCallExpression(node) && isHeedless(node)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      faults.push(`${name}:${line + 1}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  let marked = text;
  for (const { at, insert } of marks.sort((one, other) => other.at - one.at)) {
    marked = marked.slice(0, at) + insert + marked.slice(at);
  }
  return { text: marked + DECLARED, faults };
}

/** The value of `void x` and `(x)` is x. */
function unwrapped(value: ts.Expression): ts.Expression {
  return ts.isVoidExpression(value) || ts.isParenthesizedExpression(value)
    ? unwrapped(value.expression)
    : value;
}

/** Whether a call is `….catch(…)`, `….then(…, …)`, or such a one with `.finally(…)` behind it. */
function isCaught(call: ts.CallExpression): boolean {
  if (call.expression.kind === ts.SyntaxKind.SuperKeyword) return true; // no value to look at
  if (!ts.isPropertyAccessExpression(call.expression)) return false;
  const { name, expression } = call.expression;
  if (name.text === "finally" && ts.isCallExpression(expression)) return isCaught(expression);
  return name.text === "catch" || name.text === "then" && call.arguments.length === 2;
}

/** Whether an async function is passed to a function that drops its promise. */
function isHeedless({ expression, arguments: given }: ts.CallExpression): boolean {
  const name = ts.isPropertyAccessExpression(expression) ? expression.name : expression;
  if (!ts.isIdentifier(name) || !HEEDLESS.includes(name.text)) return false;
  return given.some((one) =>
    (ts.isArrowFunction(one) || ts.isFunctionExpression(one)) &&
    one.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword)
  );
}
