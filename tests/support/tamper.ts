/**
 * What an intruder with the rights of the tables' owner could do: change rows with the rules that
 * forbid it switched off.
 *
 * @module
 */
import type { TestRealm } from "./realm.ts";

const GUARDED = [
  "transactions",
  "entries",
  "seals",
  "account_states",
  "accounts",
  "blocks",
  "currency_issues",
];

/** Changes rows of a realm behind the back of every rule. */
export async function tamper(realm: TestRealm, ...statements: string[]): Promise<void> {
  const { schema } = (await realm.services.realms.find(realm.id))!.place;
  await realm.database.platform.sql.begin(async (tx) => {
    await tx`set local search_path to ${tx(schema)}`;
    for (const table of GUARDED) await tx.unsafe(`alter table ${table} disable trigger user`);
    for (const statement of statements) await tx.unsafe(statement);
    for (const table of GUARDED) await tx.unsafe(`alter table ${table} enable trigger user`);
  });
}
