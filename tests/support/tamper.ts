/**
 * Acts of an intruder with the rights of the tables' owner: changes of rows with the rules that
 * forbid it switched off.
 *
 * @module
 */
import type { Tx } from "../../db/database.ts";
import { leaveBroken, type TestRealm } from "./realm.ts";

const GUARDED = [
  "transactions",
  "transaction_references",
  "transaction_reverts",
  "entries",
  "chain_links",
  "account_states",
  "accounts",
  "blocks",
  "currency_issues",
  "write_offs",
  "ledger_events",
  "audit",
  "aliases",
  "currencies",
  "chain_orders",
  "order_attempts",
  "idempotency",
  "idempotency_earlier",
  "withdrawals",
  "external_ramps",
  "ramp_transfers",
  "currencies",
  "addresses",
  "users",
  "api_keys",
  "second_factors",
  "deposits",
  "archived_parts",
  "balance_checkpoints",
];

/** Records of archived parts in a realm that has none, each with the code of what finds it. */
export const FORGED_ARCHIVES: [
  "archive.part" | "archive.checkpoints" | "archive.issues",
  string,
][] = [
  [
    "archive.part",
    `insert into archived_parts (bound, transactions, entries, last_seq, last_hash, accounts, checkpoints, issues, manifest)
      select t.id, 0, 0, 0, decode(repeat('00', 32), 'hex'), 0, checkpoint_digest(t.id), issue_digest(null, t.id), sha256('x')
      from transactions t order by t.id desc limit 1`,
  ],
  [
    "archive.issues",
    `insert into archived_parts (bound, transactions, entries, last_seq, last_hash, accounts, checkpoints, issues, manifest)
      select t.id, 0, 0, 0, decode(repeat('00', 32), 'hex'), 0, checkpoint_digest(t.id), sha256('x'), sha256('x')
      from transactions t order by t.id desc limit 1`,
  ],
  [
    "archive.checkpoints",
    `insert into balance_checkpoints (account, bound, seq, balance)
      select account, transaction, seq, balance from entries order by account, seq limit 1`,
  ],
];

/** Losses that were written off otherwise than their transactions say, or without one. */
export const FORGED_WRITE_OFFS: readonly (readonly ["write_off.transaction", string])[] = [
  ["write_off.transaction", "update write_offs set amount = amount / 2"],
  ["write_off.transaction", "update write_offs set height = height + 1"],
  ["write_off.transaction", "delete from write_offs"],
  [
    "write_off.transaction",
    `insert into write_offs select gen_random_uuid(), asset, testnet, amount, drift, height, position, created_at
      from write_offs`,
  ],
];

/** Changes rows of a realm behind the back of every rule. */
export async function tamper(realm: TestRealm, ...statements: string[]): Promise<void> {
  await leaveBroken(realm);
  await realm.database.platform.sql.begin((tx) => change(tx, realm, statements));
}

/** Changes rows as {@link tamper} does, lets `look` read them, and takes everything back. */
export async function tampering<T>(
  realm: TestRealm,
  statements: readonly string[],
  advance: (tx: Tx) => Promise<T>,
): Promise<T> {
  const seen: T[] = [];
  const end = new Error("enough seen");
  await realm.database.platform.sql.begin(async (tx) => {
    await change(tx, realm, statements);
    seen.push(await advance(tx));
    throw end;
  }).catch((error) => {
    if (error !== end) throw error;
  });
  return seen[0];
}

async function change(tx: Tx, realm: TestRealm, statements: readonly string[]): Promise<void> {
  const { schema } = (await realm.services.realms.find(realm.id))!.location;
  await tx`set local search_path to ${tx(schema)}`;
  for (const table of GUARDED) await tx.unsafe(`alter table ${table} disable trigger user`);
  for (const statement of statements) await tx.unsafe(statement);
  for (const table of GUARDED) await tx.unsafe(`alter table ${table} enable trigger user`);
}
