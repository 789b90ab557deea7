/**
 * No promise is dropped: a statement that is a promise is awaited, or its rejection
 * is caught there. Deno's linter knows no types, so this check uses the compiler: it
 * type-checks a copy of the sources in which each such statement is passed to a function that
 * takes no promise.
 *
 * @module
 */
import { dirname } from "node:path";
import ts from "typescript";

const NAME = "__noPromise";
const DECLARED = `
declare function ${NAME}<T>(value: 0 extends 1 & T ? T
  : Extract<T, PromiseLike<unknown>> extends never ? T : "a dropped promise"): void;
`;
const FAULT = /parameter of type '"a dropped promise"'[^]*?at file:\/\/(\S+?):(\d+):\d+/g;
/** Functions that call back and ignore a promise that the callback returns. */
const HEEDLESS = ["setTimeout", "setInterval", "queueMicrotask", "addEventListener", "forEach"];

/** Files that the copy needs beside the modules themselves, from the folder of their configuration. */
const ALONGSIDE = ["deno.json", "deno.lock"];

/**
 * Flags of V8 for the compiler, which makes many small things and keeps most of them: with room for them the collector
 * looks through them less often. An eighth of its processor time.
 */
export const ROOMY = "--min-semi-space-size=64,--max-semi-space-size=64";

/** Lists the dropped promises of these modules of a folder, a line each; null where there is none. */
export async function droppedPromises(
  root: URL,
  modules: readonly string[],
  configured = root,
): Promise<string | null> {
  const copy = await Deno.makeTempDir({ prefix: "purser-promises-" });
  try {
    for (const name of ALONGSIDE) {
      await Deno.copyFile(new URL(name, configured), `${copy}/${name}`);
    }
    const faults: string[] = [];
    for (const name of modules) {
      const marked = markStatements(name, await Deno.readTextFile(new URL(name, root)));
      faults.push(...marked.faults);
      await Deno.mkdir(dirname(`${copy}/${name}`), { recursive: true });
      await Deno.writeTextFile(`${copy}/${name}`, marked.text);
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
    // The marks cost narrowing after assertions, so other faults mean nothing here.
    if (!success && !/^TS\d+ /m.test(said)) faults.push(said);
    return faults.length === 0 ? null : `promises dropped:\n${faults.sort().join("\n")}`;
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
}

/** Marks the statements of a module that may be promises; lines stay where they are. */
function markStatements(name: string, text: string): { text: string; faults: string[] } {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const marks: { at: number; insert: string }[] = [];
  const faults: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isExpressionStatement(node)) {
      const value = unwrapped(node.expression);
      if (ts.isCallExpression(value) ? !isCaught(value) : ts.isIdentifier(value)) {
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
