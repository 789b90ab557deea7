/**
 * Names of operations, as a person would choose them: a verb and a noun, derived from method and
 * path. `POST /v1/accounts/{id}/blocks/{block}/capture` is `captureBlock`.
 * @module
 */
import type { AnyRoute } from "./route.ts";

/** Last parts of paths that are verbs of the noun before. */
const ACTIONS: Readonly<Record<string, string>> = {
  activate: "activate",
  cancel: "cancel",
  capture: "capture",
  confirm: "confirm",
  consolidate: "consolidate",
  deactivate: "deactivate",
  deploy: "deploy",
  destroy: "destroy",
  discard: "discard",
  estimate: "estimate",
  freeze: "freeze",
  issue: "issue",
  register: "register",
  rescan: "rescan",
  resend: "resend",
  retry: "retry",
  revert: "revert",
  "speed-up": "speedUp",
  sync: "sync",
  test: "test",
  undelete: "undelete",
  unfreeze: "unfreeze",
  verify: "verify",
};
/** Last parts of paths that read several entities of the noun before. */
const READINGS: Readonly<Record<string, string>> = { all: "find", count: "count" };
const METHODS = { GET: "get", POST: "create", PATCH: "update", PUT: "set", DELETE: "delete" };
/** Nouns whose plural, or position in the path, would give an unclear name. */
const NOUNS: Readonly<Record<string, string>> = {
  "apps/deposit": "DepositApplication",
  "fungible/token": "Token",
  "realms/keys": "ApplicationKey",
  "realms/users": "RealmUser",
  "realms/credits/available": "AvailableCredits",
  "realms/realm-key": "RealmKey",
  "realms/realm-key/previous": "PreviousRealmKey",
  keys: "ApiKey",
  "aliases": "Alias",
  "audit": "AuditLine",
  "accounts/address": "Address",
  "accounts/assign": "ExternalAddress",
  "accounts/balance": "AccountBalance",
  "accounts/statement": "AccountStatement",
  "accounts/entries": "AccountEntry",
  "accounts/blocks": "Block",
  "accounts/consolidations": "Consolidation",
  "users/logins": "UserLogin",
  "users/totp": "Totp",
  "deposits/unmatched": "UnmatchedDeposit",
  "transactions/head": "ChainHead",
  "transactions/chain": "ChainLink",
};

/** Gives the operation's name; the route's own where it declares one. */
export function operationId(route: AnyRoute): string {
  if (route.operation !== undefined) return route.operation;
  const parts = route.path.replace(/^\/v1\//, "").split("/").filter((part) => part !== "");
  const byId = parts.at(-1)!.startsWith("{");
  const words = parts.filter((part) => !part.startsWith("{"));
  const last = words.at(-1)!;
  const nouns = words.slice(0, -1);
  if (!byId && words.length > 1) {
    const reading = READINGS[last];
    if (reading !== undefined) return reading + plural(nounOf(nouns));
    const action = ACTIONS[last];
    if (action !== undefined) return action + nounOf(nouns);
  }
  const noun = nounOf(words);
  if (route.method === "GET" && !byId && isMany(route)) return `list${plural(noun)}`;
  const all = route.method === "DELETE" && !byId && /s$/.test(last);
  return METHODS[route.method] + (all ? plural(noun) : noun);
}

/** Whether a route answers with several entities. */
function isMany({ answer }: AnyRoute): boolean {
  const { type, shape } = answer.def as { type: string; shape?: Record<string, unknown> };
  return type === "array" || shape?.rows !== undefined;
}

/** The noun that a path names, in the singular. */
function nounOf(words: readonly string[]): string {
  const path = words.join("/");
  const known = NOUNS[path];
  if (known !== undefined) return known;
  return singular(capital(words.at(-1)!));
}

function singular(noun: string): string {
  return noun.replace(/ies$/, "y").replace(/([a-z]s)es$/, "$1").replace(/([^s])s$/, "$1");
}

function plural(noun: string): string {
  if (/[^aeiou]y$/.test(noun)) return noun.replace(/y$/, "ies");
  return /(s|ss|x)$/.test(noun) ? `${noun}es` : `${noun}s`;
}

function capital(word: string): string {
  return word.split(/[^A-Za-z0-9]+/).map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("");
}
