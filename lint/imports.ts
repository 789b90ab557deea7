/**
 * Imports: the layers' direction, the order of capabilities within a layer, and the
 * packages that only some layers may know or that must wait until they are needed.
 *
 * @module
 */

import { AROUND, inLayer, type Layer, type SourceFile, sourceFileOf } from "./layers.ts";

/** One import of a module, in whichever of the five forms it was written. */
export interface Import {
  readonly node: Deno.lint.Node;
  readonly specifier: string;
  /** The whole statement is erased by the compiler; `import { type X }` is not. */
  readonly typeOnly: boolean;
  /** An `import()` that runs when it is reached. */
  readonly dynamic: boolean;
}

const DIRECTION = "imports run main → commands → routes, workers → domain → db";

const MAY_IMPORT: Readonly<Record<Layer, readonly Layer[]>> = {
  main: ["commands", "config", "db"],
  commands: [
    "commands",
    "routes",
    "workers",
    "domain",
    "db",
    "config",
    "log",
    "tracing",
    "progress",
  ],
  launcher: ["launcher", "config", "domain", "db", "tracing", "progress"],
  config: ["config"],
  log: [],
  tracing: [],
  progress: [],
  routes: ["routes", "domain", "log", "tracing"],
  domain: ["domain", "db"],
  db: ["db", "tracing", "progress"],
  workers: ["workers", "domain", "db", "log", "tracing"],
  tests: [
    ...["main", "commands", "launcher", "config", "log", "tracing", "progress"] as const,
    ...["routes", "domain", "db", "workers"] as const,
    ...["tests", "bench", "lint", "examples", "client"] as const,
  ],
  // What is measured gets the allocator that users get.
  bench: [
    "main",
    "launcher",
    "config",
    "log",
    "routes",
    "domain",
    "db",
    "workers",
    "tests",
    "bench",
    "lint",
    "progress",
  ],
  lint: ["lint"],
  // Nodes of chains that no package brings are those of the tests.
  examples: ["examples", "client", "tests", "progress"],
  // It is published by itself: what it needs is its own, or a package.
  client: ["client"],
  ci: ["ci"],
};

/** The folder of a layer's own files, which all its capabilities share. */
const LAYER_ROOT = ".";

/**
 * The capabilities of each layer, earliest first. A file imports its own folder and earlier ones.
 * Later folders are free of each other where they can be: a file in the list is a permission, and
 * no reason to use it.
 */
const CAPABILITIES: Readonly<Partial<Record<Layer, readonly string[]>>> = {
  routes: ["http", LAYER_ROOT],
  domain: [
    ...[LAYER_ROOT, "collections", "security", "chains", "identity", "accounts", "people"],
    ...["stops", "jobs", "ledger", "realms", "sending", "audit"],
    ...["messages", "currencies", "deposits", "withdrawals", "consolidations", "exchanges"],
    "search",
    "webhooks",
    "recovery",
    "backup",
  ],
  db: [
    ...[LAYER_ROOT, "embedded", "collections", "security", "chains", "identity", "accounts"],
    ...["people", "stops", "jobs", "ledger", "realms", "sending", "audit"],
    ...["messages", "currencies", "deposits", "withdrawals", "consolidations", "exchanges"],
    "search",
    "webhooks",
    "recovery",
    "backup",
    "moves",
  ],
  workers: [
    ...["chains", "keys", LAYER_ROOT, "gateways", "installation", "tokens", "sending", "scanning"],
    ...[
      "sweeping",
      "messages",
      "people",
      "exchanges",
      "recovery",
      "backup",
      "archive",
      "audit",
      "webhooks",
      "jobs",
    ],
    "schedule",
    "moves",
  ],
};

/** Modules that one module alone imports: statements whose rule lives there. */
const OWNED: Readonly<Record<string, string>> = {
  "db/sending/order_states.ts": "domain/sending/order_states.ts",
};

/** The list of all routes is the one file of the HTTP machinery that knows them. */
const KNOWS_ALL: readonly string[] = ["routes/http/route_list.ts"];

// Config and progress are passed down as values, so these layers need their types and nothing else of them. Config's own fields have the
// types of the domain that takes them.
const MAY_IMPORT_TYPES: Readonly<Partial<Record<Layer, readonly Layer[]>>> = {
  routes: ["config"],
  domain: ["progress"],
  workers: ["config", "progress"],
  config: ["domain"],
};

// Loaded by `import()` where they are first used: each costs a cold start that most runs never need.
const HEAVY: readonly string[] = [
  "@opentelemetry/api",
  "@bitauth/libauth",
  "@bitcoinerlab/secp256k1",
  "@solana/spl-token",
  "@solana/web3.js",
  "age-encryption",
  "bip32",
  "bip39",
  "bitcoinjs-lib",
  "ccxt",
  "ecpair",
  "ethers",
  "nodemailer",
  "prom-client",
  "tronweb",
];

// A package that carries a layer's own knowledge stays in that layer.
const WALLED: Readonly<Record<string, readonly Layer[]>> = {
  "hono": ["routes"],
  "postgres": ["db"],
};

const OUTSIDE_WORLD =
  /^(node:)?(child_process|cluster|dgram|dns|fs|http|http2|https|net|os|perf_hooks|process|timers|tls|worker_threads)(\/|$)/;

/** Builds the visitor that hands every import of a file to `found`. */
export function onImport(found: (one: Import) => void): Deno.lint.LintVisitor {
  function statement(
    node:
      | Deno.lint.ImportDeclaration
      | Deno.lint.ExportNamedDeclaration
      | Deno.lint.ExportAllDeclaration,
  ): void {
    if (!node.source) return;
    const kind = node.type === "ImportDeclaration" ? node.importKind : node.exportKind;
    found({ node, specifier: node.source.value, typeOnly: kind === "type", dynamic: false });
  }
  return {
    ImportDeclaration: statement,
    ExportNamedDeclaration: statement,
    ExportAllDeclaration: statement,
    ImportExpression(node) {
      const specifier = textOf(node.source);
      if (specifier !== null) found({ node, specifier, typeOnly: false, dynamic: true });
    },
    TSImportType(node) {
      const { argument } = node;
      if (argument.type !== "TSLiteralType" || argument.literal.type !== "Literal") return;
      const { value } = argument.literal;
      if (typeof value === "string") {
        found({ node, specifier: value, typeOnly: true, dynamic: false });
      }
    },
  };
}

/** The text of a literal, in quotes or backticks; null where it is computed. */
function textOf(node: Deno.lint.Node): string | null {
  if (node.type === "TemplateLiteral" && node.expressions.length === 0) {
    return node.quasis[0].cooked;
  }
  return node.type === "Literal" && typeof node.value === "string" ? node.value : null;
}

/** Resolves a relative specifier to a path from the project's root; null for a package. */
export function pathOf(from: string, specifier: string): string | null {
  if (!specifier.startsWith(".")) return null;
  return decodeURIComponent(new URL(specifier, `file:///${from}`).pathname.slice(1));
}

/** Refuses an import that runs against the direction of the layers. */
export const imports: Deno.lint.Rule = {
  create(context) {
    const from = sourceFileOf(context.filename);
    const visitor = onImport((one) => {
      const fault = directionFault(from, one);
      if (fault) context.report({ node: one.node, message: fault, hint: `${DIRECTION}.` });
    });
    if (inLayer(from, AROUND)) return visitor;
    return {
      ...visitor,
      ImportExpression(node) {
        if (textOf(node.source) !== null) visitor.ImportExpression?.(node);
        else context.report({ node, message: "import() takes a literal, which a rule can read" });
      },
    };
  },
};

/** Refuses a package where a layer may not know it, or a heavy one before it is needed. */
export const packages: Deno.lint.Rule = {
  create(context) {
    const from = sourceFileOf(context.filename);
    return onImport((one) => {
      const fault = packageFault(from, one);
      if (fault) context.report({ node: one.node, message: fault });
    });
  },
};

function directionFault(from: SourceFile, one: Import): string | null {
  if (/^(\/|file:)/.test(one.specifier)) return "A module of ours is imported by a relative path";
  const path = pathOf(from.path, one.specifier);
  // Data (JSON, SQL, text) belongs to no layer.
  if (path === null || !/\.[cm]?[jt]sx?$/.test(path) || from.layer === null) return null;
  const to = sourceFileOf(path);
  if (to.layer === null) return `${path} belongs to no layer`;
  const owner = OWNED[path];
  if (owner !== undefined && from.path !== owner) return `${path} is imported by ${owner} alone`;
  if (to.layer === from.layer) return orderFault(from, to);
  if (MAY_IMPORT[from.layer].includes(to.layer)) return null;
  if (MAY_IMPORT_TYPES[from.layer]?.includes(to.layer)) {
    return one.typeOnly ? null : `${from.layer} takes only types from ${to.layer}`;
  }
  return `${from.layer} may not import ${to.layer}`;
}

/** Refuses an import of a later capability, and a folder that no list names. */
function orderFault(from: SourceFile, to: SourceFile): string | null {
  const order = from.layer === null ? undefined : CAPABILITIES[from.layer];
  if (order === undefined || KNOWS_ALL.includes(from.path)) return null;
  const [here, there] = [capabilityOf(from.path), capabilityOf(to.path)];
  const unknown = [here, there].find((folder) => !order.includes(folder));
  if (unknown !== undefined) return `${unknown} is no capability of ${from.layer}`;
  if (order.indexOf(there) <= order.indexOf(here)) return null;
  return `${here} may not import ${there}, which comes later in ${from.layer}`;
}

/** The capability of a file: its folder below the layer's. */
function capabilityOf(path: string): string {
  const parts = path.split("/");
  return parts.length > 2 ? parts[1] : LAYER_ROOT;
}

function packageFault(from: SourceFile, one: Import): string | null {
  if (inLayer(from, AROUND) || one.specifier.startsWith(".")) return null;
  const name = packageOf(one.specifier);
  if (HEAVY.includes(name) && !one.typeOnly && !one.dynamic) {
    return `${name} is loaded by import() when it is first needed; its types by import type`;
  }
  const layers = WALLED[name];
  if (layers && !inLayer(from, layers)) return `Only ${layers.join(" and ")} may import ${name}`;
  if (from.layer === "domain" && OUTSIDE_WORLD.test(one.specifier)) {
    return `domain may not import ${one.specifier}: it knows no computer, network or clock`;
  }
  return null;
}

function packageOf(specifier: string): string {
  const bare = specifier.replace(/^(npm|jsr):\/?/, "");
  return /^(@[^/]+\/)?[^/@]+/.exec(bare)?.[0] ?? bare;
}
