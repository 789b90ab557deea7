/**
 * Form of a file: its exports, its name, and the length of the file and its functions.
 *
 * @module
 */

import { isFunction } from "./nodes.ts";
import { AROUND, inLayer, sourceFileOf } from "./layers.ts";

const FILE_LINES = 400;
const FUNCTION_LINES = 70;

const VAGUE_NAMES = /^(utils?|helpers?|common|misc|index|mod)$|_(utils?|helpers?)$/;
const SNAKE_CASE = /^[a-z0-9]+(_[a-z0-9]+)*$/;

/** Refuses default exports; the linter itself wants one from its plugin. */
export const defaultExport: Deno.lint.Rule = {
  create(context) {
    if (sourceFileOf(context.filename).path === "lint/plugin.ts") return {};
    const message = "Exports have names";
    return {
      ExportDefaultDeclaration: (node) => context.report({ node, message }),
      ExportSpecifier(node) {
        const { exported } = node;
        const name = exported.type === "Identifier" ? exported.name : exported.value;
        if (name === "default") context.report({ node, message });
      },
    };
  },
};

/** Refuses `export *`, and files that do nothing but pass exports on. */
export const barrel: Deno.lint.Rule = {
  create(context) {
    return {
      ExportAllDeclaration: (node) => context.report({ node, message: "Exports are named, not *" }),
      Program(node) {
        const passedOn = node.body.filter(isReExport);
        const rest = node.body.filter((one) =>
          !isReExport(one) && one.type !== "ImportDeclaration"
        );
        if (passedOn.length > 0 && rest.length === 0) {
          context.report({
            node: passedOn[0],
            message: "A file holds something; import its source",
          });
        }
      },
    };
  },
};

/** Refuses a class that is not an error. */
export const classes: Deno.lint.Rule = {
  create(context) {
    function refuse(node: Deno.lint.ClassDeclaration | Deno.lint.ClassExpression): void {
      const { superClass } = node;
      if (superClass?.type === "Identifier" && superClass.name.endsWith("Error")) return;
      context.report({ node, message: "Classes are for errors; use functions and plain data" });
    }
    return { ClassDeclaration: refuse, ClassExpression: refuse };
  },
};

/** Refuses enums. */
export const enums: Deno.lint.Rule = {
  create(context) {
    const message = "Use a union of strings instead of an enum";
    return { TSEnumDeclaration: (node) => context.report({ node, message }) };
  },
};

/** Refuses `const f = () => …` at the top of a module, unless a declared type gives it its shape. */
export const declarations: Deno.lint.Rule = {
  create(context) {
    if (inLayer(sourceFileOf(context.filename), AROUND)) return {};
    return {
      VariableDeclarator(node) {
        const { id, init } = node;
        if (!isFunction(init) || id.type !== "Identifier" || id.typeAnnotation) return;
        const [around] = context.sourceCode.getAncestors(node).slice(-2);
        if (around?.type === "Program" || around?.type === "ExportNamedDeclaration") {
          context.report({ node, message: `Write function ${id.name}() { … }` });
        }
      },
    };
  },
};

/** Refuses a file that belongs to no layer, is not named in snake_case, or has a vague name. */
export const fileName: Deno.lint.Rule = {
  create(context) {
    const { path, layer } = sourceFileOf(context.filename);
    const message = nameFault(path, layer !== null);
    return { Program: () => message && context.report({ range: [0, 0], message }) };
  },
};

/** Refuses a file over 400 lines and a function over 70. */
export const size: Deno.lint.Rule = {
  create(context) {
    const { text } = context.sourceCode;
    function measure(node: Deno.lint.Node): void {
      const lines = linesOf(text.slice(...node.range));
      if (lines <= FUNCTION_LINES || isSuite(node)) return;
      const message = `Function has ${lines} lines; the limit is ${FUNCTION_LINES}`;
      context.report({ node, message });
    }
    return {
      Program() {
        const lines = linesOf(text);
        const message = `File has ${lines} lines; the limit is ${FILE_LINES}`;
        if (lines > FILE_LINES) context.report({ range: [0, 0], message });
      },
      FunctionDeclaration: measure,
      FunctionExpression: measure,
      ArrowFunctionExpression: measure,
    };
  },
};

/** Refuses a note of unfinished work without a number. */
export const todo: Deno.lint.Rule = {
  create(context) {
    const message = "Unfinished work carries a number: TODO(#12): …";
    return {
      Program() {
        for (const { value, range } of context.sourceCode.getAllComments()) {
          const notes = value.matchAll(/^[\s*]*(?:TODO|FIXME|HACK)\b.*/gm);
          const faulty = notes.some(([note]) => !/^[\s*]*TODO\(#\d+\): \S/.test(note));
          if (faulty) context.report({ range, message });
        }
      },
    };
  },
};

function isReExport(node: Deno.lint.Statement): boolean {
  return node.type === "ExportAllDeclaration" ||
    node.type === "ExportNamedDeclaration" && Boolean(node.source);
}

function nameFault(path: string, known: boolean): string | null {
  if (!known) return `${path} belongs to no layer`;
  const folders = path.split("/");
  const file = folders.pop()!.replace(/\.[a-z]+$/, "");
  const stem = file.replace(/_(test|bench)$/, "");
  const vague = [...folders, stem].find((name) => VAGUE_NAMES.test(name));
  if (vague) return `"${vague}" names nothing; a file is named after its noun`;
  const odd = [...folders, file].find((name) => !SNAKE_CASE.test(name) && name !== ".ci");
  return odd ? `"${odd}" is not snake_case` : null;
}

function linesOf(text: string): number {
  return text.replace(/\n$/, "").split("\n").length;
}

/** `describe()` only holds tests, so its length says nothing. */
function isSuite(node: Deno.lint.Node): boolean {
  if (node.type !== "ArrowFunctionExpression" && node.type !== "FunctionExpression") return false;
  const { parent } = node;
  return parent.type === "CallExpression" && parent.callee.type === "Identifier" &&
    parent.callee.name === "describe";
}
