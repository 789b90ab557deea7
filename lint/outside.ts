/**
 * Access to the outside of the program: the database's language, the network, the clock,
 * the environment and the console. The rules name the layers that may use each.
 *
 * @module
 */

import { isGlobal, isReference, propertyOf, reads, runsOnLoad } from "./nodes.ts";
import { AROUND, inLayer, type Layer, type SourceFile, sourceFileOf } from "./layers.ts";

const SQL_LAYERS: readonly Layer[] = ["db", "tests", "bench"];
const ENV_LAYERS: readonly Layer[] = ["config", "commands", "tests", "bench", "examples", "ci"];
const CONSOLE_LAYERS: readonly Layer[] = ["log", "main", "commands", "launcher", ...AROUND];
const LOADERS: readonly Layer[] = ["main", ...AROUND];

// A UUIDv7 carries the moment it was made, so the one file that makes them reads the time.
const CLOCK_FILES: readonly string[] = ["domain/ids.ts"];

const STATEMENT =
  /^\s*(select|insert\s+into|update|delete\s+from|merge\s+into|truncate|with\s+\w+\s+as|(create|alter|drop|lock)\s+(table|schema|role))\b/i;

const OUTWARD: Readonly<Record<string, string>> = {
  Deno: "the computer",
  EventSource: "the network",
  WebSocket: "the network",
  XMLHttpRequest: "the network",
  fetch: "the network",
  globalThis: "the global scope",
  performance: "a clock",
  setInterval: "a clock",
  setTimeout: "a clock",
};

/** Refuses SQL text outside `db/`: tagged templates, and the driver's way around them. */
export const sql: Deno.lint.Rule = {
  create(context) {
    if (inLayer(sourceFileOf(context.filename), SQL_LAYERS)) return {};
    const message = "SQL belongs in db/";
    return {
      TaggedTemplateExpression(node) {
        const first = node.quasi.quasis[0]?.raw ?? "";
        if (isHandle(node.tag) || STATEMENT.test(first)) context.report({ node, message });
      },
      CallExpression(node) {
        const { callee } = node;
        const unsafe = callee.type === "MemberExpression" && propertyOf(callee) === "unsafe";
        const direct = callee.type === "Identifier" && isHandle(callee);
        if (unsafe || direct) context.report({ node, message });
      },
    };
  },
};

/** Refuses the network, the computer and the clock in `domain/`. */
export const pure: Deno.lint.Rule = {
  create(context) {
    const file = sourceFileOf(context.filename);
    if (file.layer !== "domain") return {};
    return {
      ...clockVisitor(context, file),
      Identifier(node) {
        const what = Object.hasOwn(OUTWARD, node.name) ? OUTWARD[node.name] : undefined;
        if (what && isReference(node)) {
          context.report({ node, message: `domain may not know ${what}: ${node.name}` });
        }
      },
    };
  },
};

/** Refuses the environment to all but `config.ts` and `commands/`. */
export const env: Deno.lint.Rule = {
  create(context) {
    if (inLayer(sourceFileOf(context.filename), ENV_LAYERS)) return {};
    const message = "Only config.ts reads the environment; the rest is given a Config";
    return {
      MemberExpression(node) {
        if (reads(node, "Deno", "env") || reads(node, "process", "env")) {
          context.report({ node, message });
        }
      },
      VariableDeclarator(node) {
        const { id, init } = node;
        if (id.type !== "ObjectPattern" || !init) return;
        if (!isGlobal(init, "Deno") && !isGlobal(init, "process")) return;
        const taken = id.properties.some((property) =>
          property.type === "Property" && property.key.type === "Identifier" &&
          property.key.name === "env"
        );
        if (taken) context.report({ node, message });
      },
      ImportSpecifier(node) {
        const { parent, imported } = node;
        if (parent.type !== "ImportDeclaration" || parent.source.value !== "node:process") return;
        if (imported.type === "Identifier" && imported.name === "env") {
          context.report({ node, message });
        }
      },
    };
  },
};

/** Refuses `console` where `log.ts` must be used. */
export const consoleCalls: Deno.lint.Rule = {
  create(context) {
    if (inLayer(sourceFileOf(context.filename), CONSOLE_LAYERS)) return {};
    return {
      MemberExpression(node) {
        if (isGlobal(node.object, "console")) {
          context.report({
            node,
            message: "Only log.ts, main.ts and commands/ write to the console",
          });
        }
      },
    };
  },
};

/** Refuses work that starts by importing a module: awaiting, calling the computer, timers. */
export const loading: Deno.lint.Rule = {
  create(context) {
    if (inLayer(sourceFileOf(context.filename), LOADERS)) return {};
    const message = "Importing a module does no I/O; put this in a function that a command calls";
    function refuse(node: Deno.lint.Node): void {
      if (runsOnLoad(context, node)) context.report({ node, message });
    }
    return {
      AwaitExpression: refuse,
      ForOfStatement(node) {
        if (node.await) refuse(node);
      },
      CallExpression(node) {
        let callee: Deno.lint.Node = node.callee;
        if (isGlobal(callee, "setTimeout") || isGlobal(callee, "setInterval")) refuse(node);
        if (isGlobal(callee, "fetch")) refuse(node);
        while (callee.type === "MemberExpression") {
          callee = callee.object;
          if (isGlobal(callee, "Deno")) return refuse(node);
        }
      },
    };
  },
};

function clockVisitor(context: Deno.lint.RuleContext, file: SourceFile): Deno.lint.LintVisitor {
  if (CLOCK_FILES.includes(file.path)) return {};
  const message = "domain may not read a clock; the time comes from SQL or from the caller";
  return {
    MemberExpression(node) {
      const now = reads(node, "Date", "now") || reads(node, "Temporal", "Now");
      if (now) context.report({ node, message });
    },
    NewExpression(node) {
      if (isGlobal(node.callee, "Date") && node.arguments.length === 0) {
        context.report({ node, message });
      }
    },
    CallExpression(node) {
      if (isGlobal(node.callee, "Date")) context.report({ node, message });
    },
  };
}

/** A tag or callee that is a connection or transaction by its name: `sql`, `tx`, `realm.sql`. */
function isHandle(node: Deno.lint.Node): boolean {
  const name = node.type === "Identifier"
    ? node.name
    : node.type === "MemberExpression"
    ? propertyOf(node)
    : null;
  return name === "sql" || name === "tx";
}
