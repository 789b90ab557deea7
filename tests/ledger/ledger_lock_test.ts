import { equal } from "node:assert/strict";
import { insertAccount, type NewAccountRow, updateAccount } from "../../db/accounts/accounts.ts";
import type { Pool, Tx } from "../../db/database.ts";
import { type LedgerTx, serializable } from "../../db/transaction.ts";
import type { Actor } from "../../domain/actor.ts";
import { type BlockOrder, freeBlock, openBlock } from "../../domain/ledger/blocks.ts";
import { type InternalMove, postMove } from "../../domain/ledger/posting.ts";
import { type CommandContext, runCommand, runDry } from "../../domain/command.ts";
import { type CollectionRoutes, collectionRoutes } from "../../routes/http/collection_routes.ts";
import { command } from "../../routes/http/execution.ts";
import type { Call } from "../../routes/http/route.ts";
import { type OrderHandler, type OrderWork, stepInTurn } from "../../workers/sending/order_work.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import { type TestRealm, testRealm } from "../support/realm.ts";

type AnyCall = Call<unknown, unknown, unknown>;

/** Code that is refused to a transaction without the ledger lock: `deno task check types` reads this. */
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
  // @ts-expect-error to name the ledger lock as a type does not take it
  named: (pool: Pool, id: string) => serializable<unknown, true>(pool, (tx) => freeBlock(tx, id)),
  empty: (pool: Pool, id: string) =>
    // @ts-expect-error nor does it with other options
    serializable<unknown, true>(pool, (tx) => freeBlock(tx, id), { onRetry: () => {} }),
  never: (pool: Pool, id: string) =>
    // @ts-expect-error nor does a lock that is neither true nor false
    serializable<unknown, never>(pool, (tx) => freeBlock(tx, id)),
  undefined: (pool: Pool, id: string, lockLedger: true | undefined) =>
    // @ts-expect-error the option may be undefined
    serializable(pool, (tx) => freeBlock(tx, id), { lockLedger }),
  absent: (pool: Pool, id: string, options: { lockLedger: true } | undefined) =>
    // @ts-expect-error the options may be undefined
    serializable(pool, (tx) => freeBlock(tx, id), options),
  step: ({ step }: WorkerContext, id: string) =>
    // @ts-expect-error a step of a job asks for the lock as well
    step<unknown, true>((tx) => freeBlock(tx, id)),
  inTurn: (work: OrderWork, id: string) =>
    // @ts-expect-error a step of an order asks for the lock as well
    stepInTurn<unknown, true>(work, (tx) => freeBlock(tx, id)),
  dryRun: (pool: Pool, id: string) =>
    // @ts-expect-error a dry run asks for the lock as well
    runDry<unknown, true>(pool, (tx) => freeBlock(tx, id), {}),
  command: (pool: Pool, actor: Actor, id: string, options: CommandContext) =>
    // @ts-expect-error a command asks for the lock as well
    runCommand<true>(pool, actor, (tx) => freeBlock(tx, id), options),
  request: (call: AnyCall, id: string) =>
    // @ts-expect-error a command of a request asks for the lock as well
    command<unknown, unknown, unknown, true>(call, (tx) => freeBlock(tx, id)),
  confirmed: (call: AnyCall, id: string) =>
    // @ts-expect-error nor does it take the lock with other options
    command<unknown, unknown, unknown, true>(call, (tx) => freeBlock(tx, id), { confirmed: true }),
  // @ts-expect-error the routes of a collection ask for the lock as well
  collection: (of: CollectionRoutes<false>) => collectionRoutes<true>(of),
  // @ts-expect-error a test asks for the lock as well
  test: ({ command }: TestRealm, id: string) => command<unknown, true>((tx) => freeBlock(tx, id)),
};

type Locked = (tx: LedgerTx) => Promise<void>;
const settle = async () => {};

/** Hooks of an order's handler that are refused: each but `settle` runs without the lock. */
export const HOOKS: Readonly<Record<string, (locked: Locked) => OrderHandler>> = {
  // @ts-expect-error inputs are selected without the ledger lock
  selectInputs: (locked) => ({ settle, selectInputs: (tx: LedgerTx) => locked(tx).then(() => []) }),
  // @ts-expect-error a plan is admitted without the ledger lock
  admitPlan: (locked) => ({ settle, admitPlan: locked }),
  // @ts-expect-error progress is noted without the ledger lock
  progress: (locked) => ({ settle, progress: locked }),
};

/** Code that compiles. */
export const ACCEPTED = {
  settle: (locked: Locked): OrderHandler => ({ settle: locked }),
  step: ({ step }: WorkerContext, id: string) =>
    step((tx) => freeBlock(tx, id), { lockLedger: true }),
  request: (call: AnyCall, id: string) =>
    command(call, (tx) => freeBlock(tx, id), { lockLedger: true, confirmed: true }),

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
