/**
 * Every house rule on snippets that it must refuse and on their nearest neighbours that it must
 * leave alone.
 *
 * @module
 */

import { deepEqual, equal } from "node:assert/strict";
import plugin from "../../lint/plugin.ts";

/** A file's path from the project's root, and its text. */
type Snippet = readonly [file: string, source: string];

type Cases = Readonly<Record<"refuses" | "allows", readonly Snippet[]>>;

const CASES: Readonly<Record<string, Cases>> = {
  imports: {
    refuses: [
      ["routes/aliases.ts", `import { selectAlias } from "../db/aliases.ts";`],
      ["routes/aliases.ts", `import type { AliasRow } from "../db/aliases.ts";`],
      ["routes/aliases.ts", `type Row = import("../db/aliases.ts").AliasRow;`],
      ["routes/aliases.ts", `export { selectAlias } from "../db/aliases.ts";`],
      ["routes/aliases.ts", `const db = () => import("../db/aliases.ts");`],
      ["routes/aliases.ts", `import { send } from "../workers/messages.ts";`],
      ["routes/aliases.ts", `import { readConfig } from "../config.ts";`],
      ["routes/aliases.ts", `import { serve } from "../main.ts";`],
      ["domain/aliases.ts", `import { app } from "../routes/app.ts";`],
      ["domain/aliases.ts", `import { send } from "../workers/messages.ts";`],
      ["domain/aliases.ts", `import type { Config } from "../config.ts";`],
      ["domain/aliases.ts", `import { log } from "../log.ts";`],
      ["db/aliases.ts", `import { DomainError } from "../domain/errors.ts";`],
      ["db/aliases.ts", `import { log } from "../log.ts";`],
      ["db/aliases.ts", `import type { Config } from "../config.ts";`],
      ["workers/messages.ts", `import { app } from "../routes/app.ts";`],
      ["workers/chains/evm/chain.ts", `import { readConfig } from "../../../config.ts";`],
      ["config.ts", `import { log } from "./log.ts";`],
      ["log.ts", `import type { Config } from "./config.ts";`],
      ["main.ts", `import { testRealm } from "./tests/support/realm.ts";`],
      ["domain/aliases.ts", `import { testRealm } from "../tests/support/realm.ts";`],
      ["domain/aliases.ts", `import { x } from "../lib/x.ts";`],
      ["domain/aliases.ts", `import { x } from "/srv/app/domain/x.ts";`],
      ["domain/aliases.ts", `import { x } from "file:///srv/app/domain/x.ts";`],
    ],
    allows: [
      [
        "main.ts",
        `import { app } from "./routes/app.ts";\nimport { run } from "./workers/run.ts";`,
      ],
      ["main.ts", `import { readConfig } from "./config.ts";\nimport { log } from "./log.ts";`],
      ["main.ts", `import { openPool } from "./db/database.ts";`],
      ["routes/aliases.ts", `import { createAlias } from "../domain/aliases.ts";`],
      ["routes/aliases.ts", `import { body } from "./validation.ts";`],
      ["routes/app.ts", `import { log } from "../log.ts";`],
      ["routes/app.ts", `import type { Config } from "../config.ts";`],
      ["domain/aliases.ts", `import { insertAlias } from "../db/aliases.ts";`],
      ["db/aliases.ts", `import { column } from "./filter.ts";`],
      [
        "workers/messages.ts",
        `import { claim } from "../db/jobs.ts";\nimport "../domain/jobs.ts";`,
      ],
      ["workers/chains/evm/chain.ts", `import type { Chain } from "../chain.ts";`],
      ["tests/db/aliases_test.ts", `import { selectAlias } from "../../db/aliases.ts";`],
      ["bench/transfers.ts", `import { testRealm } from "../tests/support/realm.ts";`],
      ["routes/openapi.ts", `import deno from "../deno.json" with { type: "json" };`],
      ["domain/aliases.ts", `import { z } from "zod";`],
    ],
  },
  packages: {
    refuses: [
      ["workers/chains/evm/payment.ts", `import { Wallet } from "ethers";`],
      ["workers/chains/evm/payment.ts", `import { type Wallet } from "ethers";`],
      ["workers/chains/evm/payment.ts", `import { keccak256 } from "ethers/crypto";`],
      ["workers/chains/evm/payment.ts", `export { Wallet } from "npm:ethers@6.17.0";`],
      ["domain/addresses.ts", `import * as bitcoin from "bitcoinjs-lib";`],
      ["domain/addresses.ts", `import { decodeCashAddress } from "@bitauth/libauth";`],
      ["workers/chains/solana/chain.ts", `import { Connection } from "@solana/web3.js";`],
      ["workers/chains/tron/chain.ts", `import { TronWeb } from "tronweb";`],
      ["workers/gateways/exchanges.ts", `import ccxt from "ccxt";`],
      ["workers/gateways/email.ts", `import nodemailer from "nodemailer";`],
      ["domain/aliases.ts", `import postgres from "postgres";`],
      ["routes/aliases.ts", `import type { Sql } from "postgres";`],
      ["domain/aliases.ts", `import type { Context } from "hono";`],
      ["workers/runner.ts", `import { Hono } from "hono";`],
      ["domain/codes.ts", `import { readFileSync } from "node:fs";`],
      ["domain/codes.ts", `import { request } from "node:http";`],
      ["domain/codes.ts", `import { setTimeout } from "node:timers/promises";`],
      ["domain/codes.ts", `import process from "process";`],
    ],
    allows: [
      ["workers/chains/evm/payment.ts", `import type { Wallet } from "ethers";`],
      ["workers/chains/evm/payment.ts", `const load = () => import("ethers");`],
      ["tests/chains/evm_test.ts", `import { Wallet } from "ethers";`],
      ["db/database.ts", `import postgres from "postgres";`],
      ["routes/aliases.ts", `import { Hono } from "hono";`],
      ["routes/app.ts", `import { secureHeaders } from "hono/secure-headers";`],
      ["domain/withdrawals.ts", `import { z } from "@hono/zod-openapi";`],
      ["domain/webhooks.ts", `import { createHmac } from "node:crypto";`],
      ["domain/netting.ts", `import { net } from "./net.ts";`],
    ],
  },
  sql: {
    refuses: [
      ["domain/ledger.ts", "const rows = () => sql`select id from accounts`;"],
      ["domain/ledger.ts", "const rows = (tx) => tx<[Row]>`lock accounts`;"],
      ["routes/ledger.ts", "const rows = (c) => c.var.tx`lock accounts`;"],
      ["workers/ledger.ts", "const rows = (db) => db` select id from accounts`;"],
      ["workers/ledger.ts", "const run = (tx) => tx.unsafe('select 1');"],
      ["domain/ledger.ts", "const run = (realm) => realm.sql.unsafe(text);"],
      ["domain/ledger.ts", "const run = (tx) => tx(values);"],
      ["main.ts", "const run = (sql) => sql`select 1`;"],
    ],
    allows: [
      ["db/ledger.ts", "const rows = (tx) => tx<[Row]>`select id from accounts`;"],
      ["db/ledger.ts", "const run = (sql) => sql.unsafe(text);"],
      ["tests/db/ledger_test.ts", "const rows = (sql) => sql`select id from accounts`;"],
      ["bench/transfers.ts", "const rows = (sql) => sql`select id from accounts`;"],
      ["routes/docs.ts", "const page = html`<p>select one</p>`;"],
      ["domain/ledger.ts", "const run = (tx) => selectAccount(tx, id);"],
      ["domain/ledger.ts", "const text = `update ${name} later`;"],
    ],
  },
  paper: {
    refuses: [
      ["domain/rates.ts", `const get = () => fetch(url);`],
      ["domain/rates.ts", `const get = () => globalThis.fetch(url);`],
      ["domain/rates.ts", `const get = withRetry(fetch);`],
      ["domain/rates.ts", `const zone = () => Deno.env.get("ZONE");`],
      ["domain/rates.ts", `const { env } = Deno;`],
      ["domain/rates.ts", `const text = () => Deno.readTextFile(path);`],
      ["domain/rates.ts", `const at = () => Date.now();`],
      ["domain/rates.ts", `const clock = Date.now;`],
      ["domain/rates.ts", `const at = () => new Date();`],
      ["domain/rates.ts", `const at = () => Date();`],
      ["domain/rates.ts", `const at = () => performance.now();`],
      ["domain/rates.ts", `const at = () => globalThis.performance.now();`],
      ["domain/rates.ts", `const at = () => Temporal.Now.instant();`],
      ["domain/rates.ts", `const wait = () => new Promise((go) => setTimeout(go, 5));`],
      ["domain/ids.ts", `const get = () => fetch(url);`],
    ],
    allows: [
      ["domain/rates.ts", `const at = (row) => new Date(row.created_at);`],
      ["domain/rates.ts", `const at = (text) => Date.parse(text);`],
      ["domain/rates.ts", `const get = (store) => store.fetch(id);`],
      ["domain/rates.ts", `const plan = { fetch: 1, performance: 2 };`],
      ["domain/ids.ts", `const at = () => Date.now();`],
      ["workers/rates.ts", `const get = () => fetch(url);`],
      ["db/rates.ts", `const at = () => Date.now();`],
      ["tests/domain/rates_test.ts", `const at = () => Date.now();`],
    ],
  },
  env: {
    refuses: [
      ["routes/app.ts", `const port = () => Deno.env.get("PORT");`],
      ["db/database.ts", `const all = () => globalThis.Deno.env.toObject();`],
      ["workers/runner.ts", `const { env } = Deno;`],
      ["workers/runner.ts", `const { env: settings } = Deno;`],
      ["workers/runner.ts", `const port = () => Deno["env"];`],
      ["log.ts", `const level = () => process.env.LOG_LEVEL;`],
      ["log.ts", `import { env } from "node:process";`],
    ],
    allows: [
      ["config.ts", `const port = () => Deno.env.get("PORT");`],
      ["main.ts", `const port = () => Deno.env.get("PORT");`],
      ["tests/config_test.ts", `const port = () => Deno.env.get("PORT");`],
      ["bench/transfers.ts", `const port = () => Deno.env.get("PORT");`],
      ["routes/app.ts", `const env = (c) => c.env.remote;`],
      ["workers/runner.ts", `const { pid } = Deno;`],
    ],
  },
  money: {
    refuses: [
      ["bench/transfers.ts", `const rate = () => parseFloat(text);`],
      ["tests/domain/money_test.ts", `const rate = () => Number.parseFloat(text);`],
      ["config.ts", `const wait = () => parseFloat(text);`],
      ["domain/money.ts", `const n = () => Number(amount);`],
      ["domain/money.ts", `const n = () => Number(row.amount ?? 0);`],
      ["domain/money.ts", `const n = () => Number(row.amount!.toString() as string);`],
      ["domain/money.ts", `const n = () => Number(String(account.balance.available));`],
      ["domain/money.ts", `const n = () => Number(BigInt(units));`],
      ["domain/money.ts", `const n = () => Number(feeOf(order));`],
      ["domain/money.ts", "const n = () => Number(`${total}`);"],
      ["domain/money.ts", `const n = () => globalThis.Number(total);`],
      ["db/ledger.ts", `const n = () => Number(row.total_supply);`],
      ["db/ledger.ts", `const n = () => parseInt(row.blocked, 10);`],
      ["workers/rates.ts", `const n = () => Number.parseInt(gasPrice, 16);`],
      ["workers/rates.ts", `const n = () => +rate;`],
      ["workers/rates.ts", `const n = () => +row["value"];`],
      ["routes/accounts.ts", `const n = () => Number(input.amount);`],
      ["domain/money.ts", `const n = () => amount * 100;`],
      ["domain/money.ts", `const n = () => 1e8 * input.amount;`],
      ["domain/money.ts", `function add() { fee *= 1.1; }`],
      ["domain/money.ts", `const n = () => Math.round(amount * scale);`],
      ["domain/money.ts", `const n = () => Math.max(...fees);`],
      ["domain/money.ts", `const n = () => Number(available).toFixed(2);`],
      ["routes/accounts.ts", `const n = (x) => x.toFixed(2);`],
      ["log.ts", `const n = (x) => x.toPrecision(2);`],
      ["domain/money.ts", `function pay(amount: number) {}`],
      ["domain/money.ts", `interface Quote { readonly networkFee: number }`],
      ["domain/money.ts", `interface Quote { min_amount?: number }`],
      ["domain/money.ts", `const New = z.object({ amount: z.number().positive() });`],
      ["domain/money.ts", `const New = z.object({ fee: z.coerce.number() });`],
      ["routes/accounts.ts", `const New = z.object({ amount: z.number().optional() });`],
    ],
    allows: [
      ["domain/money.ts", `const n = () => BigInt(amount) * 100n;`],
      ["domain/money.ts", `const n = () => amount + fee;`],
      ["domain/money.ts", `const n = () => Number(amount.length);`],
      ["domain/money.ts", `const n = () => amounts.length - 1;`],
      ["domain/money.ts", `const n = () => Number(feeCount);`],
      ["domain/money.ts", `const n = () => Number(row.rate_limit);`],
      ["domain/money.ts", `const n = () => Number(row.count);`],
      ["domain/money.ts", `const n = () => parseInt(height, 16);`],
      ["domain/money.ts", `const n = () => -amount;`],
      ["domain/money.ts", `const n = () => Math.max(attempts, 1);`],
      ["domain/money.ts", `const n = () => amounts.indexOf(amount) + 1;`],
      ["domain/money.ts", `function pay(amount: bigint, feeBlocks: number) {}`],
      ["domain/money.ts", `const New = z.object({ amount: Amount, limit: z.number() });`],
      ["domain/money.ts", `interface Page { total: number; rate: number }`],
      ["routes/validation.ts", `const n = (value: string) => Number(value);`],
      ["routes/collection.ts", `const n = () => Math.ceil(total / pageSize);`],
      ["config.ts", `const n = (value: string) => Number(value);`],
      ["bench/transfers.ts", `const n = (ratio: number) => ratio.toFixed(2);`],
      ["tests/domain/money_test.ts", `const n = () => Number(amount);`],
    ],
  },
  console: {
    refuses: [
      ["domain/ledger.ts", `const say = () => console.log("moved");`],
      ["routes/app.ts", `const say = () => console.error(fault);`],
      ["workers/runner.ts", `const say = { warn: console.warn };`],
      ["config.ts", `const say = () => globalThis.console.log("read");`],
    ],
    allows: [
      ["log.ts", `const say = () => console.log("moved");`],
      ["main.ts", `const say = () => console.log("moved");`],
      ["bench/transfers.ts", `const say = () => console.log("moved");`],
      ["tests/support/server.ts", `const say = () => console.log("moved");`],
      ["lint/check.ts", `const say = () => console.log("moved");`],
      ["routes/app.ts", `const say = (view) => view.console.log;`],
    ],
  },
  loading: {
    refuses: [
      ["db/migrate.ts", `const ladder = await readLadder();`],
      ["config.ts", `const text = Deno.readTextFileSync(".env");`],
      ["log.ts", `const tty = Deno.stdout.isTerminal();`],
      ["workers/runner.ts", `setInterval(tick, 1000);`],
      ["workers/rates.ts", `export const rates = fetch(url);`],
      ["workers/rates.ts", `for await (const one of feed) add(one);`],
    ],
    allows: [
      ["main.ts", `await start();`],
      ["bench/transfers.ts", `await start();`],
      ["db/migrate.ts", `async function readLadder() { return await readAll(); }`],
      ["config.ts", `function text() { return Deno.readTextFileSync(".env"); }`],
      ["workers/runner.ts", `const tick = { run: () => setInterval(go, 1000) };`],
      ["routes/app.ts", `export const app = new Hono().get("/", async (c) => await show(c));`],
    ],
  },
  "default-export": {
    refuses: [
      ["domain/ledger.ts", `export default function move() {}`],
      ["routes/app.ts", `const app = 1;\nexport { app as default };`],
      ["tests/support/realm.ts", `export default 1;`],
    ],
    allows: [
      ["domain/ledger.ts", `export function move() {}`],
      ["lint/plugin.ts", `export default {};`],
      ["domain/ledger.ts", `import postgres from "postgres";`],
    ],
  },
  barrel: {
    refuses: [
      ["domain/ledger.ts", `export * from "./accounts.ts";`],
      ["domain/ledger.ts", `export * as accounts from "./accounts.ts";`],
      ["domain/ledger.ts", `export { a } from "./a.ts";\nexport type { B } from "./b.ts";`],
    ],
    allows: [
      ["domain/ledger.ts", `export { a } from "./a.ts";\nexport function b() {}`],
      ["domain/ledger.ts", `import "./a.ts";`],
      ["domain/ledger.ts", `function b() {}\nexport { b };`],
    ],
  },
  classes: {
    refuses: [
      ["domain/ledger.ts", `class Ledger {}`],
      ["workers/chains/chain.ts", `export class Bitcoin extends Chain {}`],
      ["domain/ledger.ts", `const Ledger = class {};`],
    ],
    allows: [
      ["domain/errors.ts", `export class DomainError extends Error {}`],
      ["workers/chains/chain.ts", `class Rejected extends ChainError {}`],
      ["domain/ledger.ts", `interface Ledger {}`],
    ],
  },
  enums: {
    refuses: [
      ["domain/ledger.ts", `enum State { open, closed }`],
      ["domain/ledger.ts", `export const enum State { open }`],
    ],
    allows: [["domain/ledger.ts", `type State = "open" | "closed";`]],
  },
  declarations: {
    refuses: [
      ["domain/ledger.ts", `export const move = async (tx) => {};`],
      ["domain/ledger.ts", `const move = function () {};`],
    ],
    allows: [
      ["domain/ledger.ts", `export async function move(tx) {}`],
      ["routes/auth.ts", `export const auth: MiddlewareHandler = async (c, next) => {};`],
      ["domain/ledger.ts", `function move() { const one = () => 1; return one; }`],
      ["domain/ledger.ts", `const moves = list.map((one) => one.id);`],
      ["tests/domain/ledger_test.ts", `const move = () => 1;`],
    ],
  },
  "file-name": {
    refuses: [
      ["domain/utils.ts", ""],
      ["routes/common.ts", "let a;"],
      ["routes/index.ts", "let a;"],
      ["routes/mod.ts", "let a;"],
      ["db/sql_utils.ts", "let a;"],
      ["workers/helpers/http.ts", "let a;"],
      ["tests/db/index_test.ts", "let a;"],
      ["domain/fungibleTokens.ts", "let a;"],
      ["domain/fungible-tokens.ts", "let a;"],
      ["workers/chains/evmChain/chain.ts", "let a;"],
      ["server.ts", "let a;"],
    ],
    allows: [
      ["domain/fungible_tokens.ts", "let a;"],
      ["tests/domain/fungible_tokens_test.ts", "let a;"],
      ["db/block_index.ts", "let a;"],
      ["main.ts", "let a;"],
      [new URL("../domain/ids.ts", import.meta.url).pathname, "let a;"],
    ],
  },
  size: {
    refuses: [
      ["domain/ledger.ts", "\n".repeat(400) + "let a;\n"],
      ["domain/ledger.ts", `function move() {\n${"go();\n".repeat(69)}}`],
      ["domain/ledger.ts", `const move = () => {\n${"go();\n".repeat(69)}};`],
      ["routes/app.ts", `const app = { move() {\n${"go();\n".repeat(69)}} };`],
      ["tests/a_test.ts", `Deno.test("a", () => {\n${"go();\n".repeat(69)}});`],
    ],
    allows: [
      ["domain/ledger.ts", "\n".repeat(399) + "let a;\n"],
      ["domain/ledger.ts", `/** 😀 */\nfunction move() {\n${"go();\n".repeat(68)}}\n`],
      ["domain/ledger.ts", `const table = [\n${"1,\n".repeat(200)}];`],
      ["tests/a_test.ts", `describe("a", () => {\n${"it();\n".repeat(200)}});`],
    ],
  },
  todo: {
    refuses: [
      ["domain/ledger.ts", "// TODO later\nlet a;"],
      ["domain/ledger.ts", "// TODO(name): later\nlet a;"],
      ["domain/ledger.ts", "// TODO(#12)\nlet a;"],
      ["domain/ledger.ts", "/**\n * Moves.\n * FIXME this\n */\nlet a;"],
      ["tests/a_test.ts", "// TODO(#1): one\n/* HACK */\nlet a;"],
    ],
    allows: [
      ["domain/ledger.ts", "// TODO(#12): refuse the second one.\nlet a;"],
      ["domain/ledger.ts", "// A note without TODO(s) is plain.\nlet a;"],
      ["domain/ledger.ts", `const text = "// TODO later";`],
    ],
  },
};

for (const [rule, { refuses, allows }] of Object.entries(CASES)) {
  Deno.test(`house/${rule} refuses what the house forbids`, () => {
    for (const [file, source] of refuses) {
      equal(broken(file, source).has(`house/${rule}`), true, `${file} passes:\n${source}`);
    }
  });
  Deno.test(`house/${rule} leaves the rest alone`, () => {
    for (const [file, source] of allows) {
      equal(broken(file, source).has(`house/${rule}`), false, `${file} is refused:\n${source}`);
    }
  });
}

Deno.test("every house rule has its snippets", () => {
  deepEqual(Object.keys(CASES).sort(), Object.keys(plugin.rules).sort());
});

Deno.test("a fault is reported at the line that has it", () => {
  const source = `/** 😀 é */\nimport "zod";\nimport { log } from "../log.ts";\n`;
  const [fault] = Deno.lint.runPlugin(plugin, "domain/ledger.ts", source);
  equal(source.slice(...fault.range), `import { log } from "../log.ts";`);
  equal(fault.message, "domain may not import log");
});

function broken(file: string, source: string): Set<string> {
  return new Set(Deno.lint.runPlugin(plugin, file, source).map((fault) => fault.id));
}
