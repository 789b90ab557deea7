import { equal } from "node:assert/strict";
import { insertAccount, type NewAccountRow, updateAccount } from "../../db/accounts/accounts.ts";
import type { Pool, Tx } from "../../db/database.ts";
import { serializable } from "../../db/transaction.ts";
import type { Actor } from "../../domain/actor.ts";
import { type BlockOrder, freeBlock, openBlock } from "../../domain/ledger/blocks.ts";
import { type InternalMove, postMove } from "../../domain/ledger/posting.ts";
import { testRealm } from "../support/realm.ts";

/** What is refused to a transaction without the ledger lock: `deno task check types` reads this. */
export const REFUSED = {
  // @ts-expect-error posting needs the ledger lock
  post: (tx: Tx, actor: Actor, move: InternalMove) => postMove(tx, actor, move),
  // @ts-expect-error opening a block needs the ledger lock
  open: (tx: Tx, actor: Actor, order: BlockOrder) => openBlock(tx, actor, order),
  // @ts-expect-error releasing a block needs the ledger lock
  free: (tx: Tx, id: string) => freeBlock(tx, id),
  // @ts-expect-error an account row is made under the ledger lock
  insert: (tx: Tx, account: NewAccountRow) => insertAccount(tx, account),
  // @ts-expect-error an account row is changed under the ledger lock
  update: (tx: Tx) => updateAccount(tx, "", { data: {}, is_default: false, ramp: null }, 0),
  // @ts-expect-error a transaction does not have the ledger lock unless it asks for it
  unlocked: (pool: Pool, id: string) => serializable(pool, (tx) => freeBlock(tx, id)),
  unsure: (pool: Pool, id: string, lockLedger: boolean) =>
    // @ts-expect-error a transaction that may have the ledger lock may also lack it
    serializable(pool, (tx) => freeBlock(tx, id), { lockLedger }),
};

/** What compiles. */
export const ACCEPTED = {
  locked: (pool: Pool, id: string) =>
    serializable(pool, (tx) => freeBlock(tx, id), { lockLedger: true }),
};

Deno.test("a transaction holds the ledger lock where it asks for it, and else does not", async () => {
  await using realm = await testRealm();
  const held = async (tx: Tx) => {
    const [{ count }] = await tx<{ count: number }[]>`
      select count(*)::int as count from pg_locks
      where pid = pg_backend_pid() and relation = 'ledger_lock'::regclass
        and mode = 'ExclusiveLock' and granted`;
    return count;
  };
  equal(await serializable(realm.pool, held), 0);
  equal(await serializable(realm.pool, held, { lockLedger: true }), 1);
});
