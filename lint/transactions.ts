/**
 * Transactions in the domain. Domain functions are given one; process state and provisioning,
 * which need pools, live in `domain/realms` and `domain/security`. Only the files named here open others.
 *
 * @module
 */
import { pathOf } from "./imports.ts";
import { sourceFileOf } from "./layers.ts";

/** Folders of process state and provisioning: caches, key rotation, migrations, logins. */
const FOLDERS: readonly string[] = ["domain/realms/", "domain/security/"];

/** Files that open transactions by their nature, with the reason. */
const FILES: Readonly<Record<string, string>> = {
  "domain/command.ts": "runs every command in its one transaction",
  "domain/audit/ledger_check.ts": "checks one snapshot of a realm",
  "domain/audit/trail.ts": "reads the platform's trail beside the realm's",
  "domain/chains/address_directory.ts":
    "reads the platform's directory beside the realm's addresses",
  "domain/identity/api_keys.ts": "keeps the keys in use of a process",
  "domain/identity/logins.ts": "records the uses of logins after the answer",
  "domain/identity/password_changes.ts": "hashes a password between two transactions",
  "domain/ledger/batches.ts": "reads parties before the posting queue",
  "domain/ledger/transactions.ts": "reads parties before the posting queue",
  "domain/ledger/transfer_answers.ts": "reads what the posting queue stored",
};

const MESSAGE =
  "Only domain/realms, domain/security and the files that lint/transactions.ts names" +
  " open transactions; a domain function is given one";

const MODULE = "db/transaction.ts";
/** Functions that work within the transaction that they are given. */
const WITHIN: ReadonlySet<string> = new Set(["savepoint"]);
/** Methods that open a transaction, or a connection with all rights. */
const OPENING: ReadonlySet<string> = new Set(["begin", "owner"]);

/** Refuses a transaction, or a connection, that the domain opens by itself. */
export const transactions: Deno.lint.Rule = {
  create(context) {
    const file = sourceFileOf(context.filename);
    if (file.layer !== "domain" || Object.hasOwn(FILES, file.path)) return {};
    if (FOLDERS.some((folder) => file.path.startsWith(folder))) return {};
    return {
      ImportDeclaration({ source, specifiers, importKind }) {
        if (importKind === "type" || pathOf(file.path, source.value) !== MODULE) return;
        for (const one of specifiers) {
          if (one.type === "ImportSpecifier") {
            if (one.importKind === "type") continue;
            if (one.imported.type === "Identifier" && WITHIN.has(one.imported.name)) continue;
          }
          context.report({ node: one, message: MESSAGE });
        }
      },
      CallExpression(node) {
        const { callee } = node;
        if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return;
        if (callee.computed || !OPENING.has(callee.property.name)) return;
        context.report({ node, message: MESSAGE });
      },
    };
  },
};
