/**
 * Transactions in the domain. Domain functions are given one; process state and provisioning,
 * which need pools, live in `domain/realms` and `domain/security`. Only the files named here open others.
 *
 * @module
 */
import { onImport, pathOf } from "./imports.ts";
import { sourceFileOf } from "./layers.ts";
import { propertyOf } from "./nodes.ts";

/** Folders of process state and provisioning: caches, key rotation, migrations, logins. */
const FOLDERS: readonly string[] = ["domain/realms/", "domain/security/"];

/** Files that open transactions by their nature, with the reason. */
const FILES: Readonly<Record<string, string>> = {
  "domain/command.ts": "runs every command in its one transaction",
  "domain/audit/ledger_check.ts": "checks one snapshot of a realm",
  "domain/audit/trail.ts": "reads the platform's trail beside the realm's",
  "domain/chains/address_directory.ts":
    "reads the platform's directory beside the realm's addresses",
  "domain/identity/password_changes.ts": "hashes a password between two transactions",
  "domain/ledger/batches.ts": "reads parties before the posting queue",
  "domain/ledger/transactions.ts": "reads parties before the posting queue",
  "domain/ledger/transfer_answers.ts": "reads what the posting queue stored",
};

const MESSAGE =
  "Only domain/realms, domain/security and the files that lint/transactions.ts names" +
  " open transactions; a domain function is given one";

/** Modules whose functions open transactions, with their functions for use within one. */
const OPENERS: Readonly<Record<string, readonly string[]>> = {
  "db/transaction.ts": ["savepoint"],
  "domain/command.ts": [],
};
/** Methods that open a transaction, or a connection with all rights. */
const OPENING: readonly string[] = ["begin", "owner"];

/** Refuses a transaction, or a connection, that the domain opens by itself. */
export const transactions: Deno.lint.Rule = {
  create(context) {
    const file = sourceFileOf(context.filename);
    if (file.layer !== "domain") return {};
    const isNamed = Object.hasOwn(FILES, file.path) ||
      FOLDERS.some((folder) => file.path.startsWith(folder));
    const report = (node: Deno.lint.Node) => context.report({ node, message: MESSAGE });
    return {
      ...onImport(({ node, specifier, typeOnly }) => {
        const within = OPENERS[pathOf(file.path, specifier) ?? ""];
        if (within === undefined || typeOnly) return;
        // A file that may open transactions does not export functions that open them.
        if (isNamed && !node.type.startsWith("Export")) return;
        const taken = namesOf(node);
        if (taken === null || taken.some((name) => !within.includes(name))) report(node);
      }),
      CallExpression(node) {
        const { callee } = node;
        if (isNamed || callee.type !== "MemberExpression") return;
        if (OPENING.includes(propertyOf(callee) ?? "")) report(node);
      },
    };
  },
};

/** The values that a statement takes from a module; null where it may take them all. */
function namesOf(node: Deno.lint.Node): string[] | null {
  if (node.type !== "ImportDeclaration" && node.type !== "ExportNamedDeclaration") return null;
  const names: string[] = [];
  for (const one of node.specifiers) {
    if (one.type === "ImportSpecifier" && one.importKind === "type") continue;
    if (one.type === "ExportSpecifier" && one.exportKind === "type") continue;
    const name = one.type === "ImportSpecifier"
      ? one.imported
      : one.type === "ExportSpecifier"
      ? one.local
      : null;
    if (name?.type !== "Identifier") return null;
    names.push(name.name);
  }
  return names;
}
