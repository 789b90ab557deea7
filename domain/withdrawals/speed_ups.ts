/**
 * Speed-ups: a transaction that pays more replaces the one that was sent, at most once a block. The
 * withdrawal pays the difference. If a batch carries the withdrawal, the whole batch is replaced.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { type AccountRow, selectAccount } from "../../db/accounts/accounts.ts";
import { selectCursor } from "../../db/chains/cursors.ts";
import { countCoinsFor } from "../../db/sending/utxos.ts";
import type { Db, Tx } from "../../db/database.ts";
import { lockOrder, selectOrder } from "../../db/sending/chain_orders.ts";
import type { QuoteRow } from "../../db/sending/fee_quotes.ts";
import { selectAttemptSummaries, selectReservedInputs } from "../../db/sending/order_attempts.ts";
import { selectBatched } from "../../db/withdrawals/withdrawal_batches.ts";
import {
  type HistoryEntry,
  selectWithdrawals,
  updateWithdrawal,
  type WithdrawalChange,
  type WithdrawalRow,
} from "../../db/withdrawals/withdrawals.ts";
import { assertAccount, availableOf } from "../accounts/accounts.ts";
import type { Actor, RequestActor } from "../actor.ts";
import { type ChainId, transactionsExpire } from "../assets.ts";
import { freeBlock, openBlock } from "../ledger/blocks.ts";
import { type ChainAsset, resolveChainAsset } from "../chains/onchain_assets.ts";
import { DomainError } from "../errors.ts";
import { feeUnits, type Price, priced, recentQuote, type Speed } from "../sending/fees.ts";
import { postMove } from "../ledger/posting.ts";
import {
  add,
  assertScale,
  compare,
  fromUnits,
  jsonNumber,
  subtract,
  toUnits,
  trim,
} from "../money.ts";
import { type OrderRow, speedUpOrder } from "../sending/chain_orders.ts";
import { isOpen, markSpedUp, type Raise, raiseBudget } from "../sending/order_states.ts";
import { raiseGas } from "../sending/token_gas.ts";
import type { ChainNetwork } from "../chains/networks.ts";
import { budgetFor } from "../sending/cost_budget.ts";
import { assertFeeWithin } from "./withdrawal_checks.ts";
import { reachWithdrawal } from "./withdrawal_reach.ts";
import { announce } from "./withdrawal_settlement.ts";
import { viewWithdrawal } from "./withdrawal_views.ts";

/** Chains whose nodes replace no transaction that they have. */
const WITHOUT_REPLACEMENT: ReadonlySet<ChainId> = new Set([
  "BITCOIN_CASH",
  "DOGECOIN",
  "SOLANA",
  "TRON",
]);
const RETRY_S = 5;

/** The price of a speed-up. */
interface SpeedUpPrice {
  asset: ChainAsset;
  price: Price;
  /** The fees charged so far to all withdrawals of the transaction, in whole units. */
  before: string;
  /** The additional fee, in whole units of the asset. */
  more: string;
  /** Whether the transaction pays several withdrawals, whose budgets add up to its own. */
  several: boolean;
}

/**
 * Speeds up a withdrawal, and charges the difference to the newest prices.
 * Runs under the ledger lock. A dry run is rolled back.
 *
 * @throws {DomainError} withdrawal.not_found, withdrawal.not_cancelable, permission.owner,
 *   balance.insufficient, account.*, rate.limited before the next block, chain.stale,
 *   ramp.gas_insufficient, condition.failed
 */
export async function speedUpWithdrawal(
  tx: LedgerTx,
  actor: RequestActor,
  input: { id: string; speed: Speed; max_fee?: string },
): Promise<Record<string, unknown>> {
  const row = await reachWithdrawal(tx, actor, input.id);
  const paying = row.status === "PROCESSING" ? await lockPayingOrder(tx, row.order_id) : null;
  const { order, head, account } = await assertMaySpeedUp(tx, actor, row, paying);
  const speedUp = await priceSpeedUp(tx, actor, { row, order, account, speed: input.speed });
  const maxFee = boundOf(row, speedUp, input.max_fee);
  // A transaction that was found is charged for by the orders of the withdrawals that it pays.
  const charged = order.purpose === "recovered" ? (await lockOrder(tx, row.order_id))! : order;
  const paid = compare(speedUp.more, "0") > 0;
  const factor = actor.settings.hotFeeMaxFactor;
  const raised = paid
    ? await raisedBudget(tx, actor, {
      ...{ row, order: charged, speedUp, maxFee, factor },
    })
    : {};
  const own = charged.id === order.id;
  if (!own && Object.keys(raised).length > 0) await raiseBudget(tx, charged.id, raised);
  await markSpedUp(tx, order.id, { head, raise: own ? raised : {} });
  const change = paid ? await chargeSpeedUp(tx, actor, { row, account, speedUp }) : {};
  await speedUpOrder(tx, actor, row.order_id, input.speed);
  const { speed } = input;
  const bound = maxFee === row.max_fee ? {} : { max_fee: maxFee };
  const entry: HistoryEntry = {
    at: actor.at,
    event: "sped_up",
    speed,
    ...(paid ? { fee: speedUp.more } : {}),
    ...bound,
    ...(order.state === "sent" && order.hash !== null ? { hash: order.hash } : {}),
  };
  const changed = await updateWithdrawal(
    tx,
    row.id,
    { ...change, ...bound, speed },
    entry,
    actor.at,
  );
  await announce(tx, actor, changed);
  const shown = viewSpeedUp({ row, changed, order: { ...charged, state: order.state }, speedUp });
  return { ...viewWithdrawal(changed), speed_up: shown };
}

/**
 * Refuses a fee above the bound of the withdrawal, which that of the speed-up may raise. One that was made without a
 * bound gets none.
 *
 * @returns the bound of the withdrawal from now on
 * @throws {DomainError} condition.failed, request.invalid
 */
function boundOf(
  { fee, max_fee: bound }: WithdrawalRow,
  { asset, more }: SpeedUpPrice,
  given: string | undefined,
): string | null {
  if (given !== undefined) assertScale(given, asset.decimals, "/max_fee");
  assertFeeWithin(compare(more, "0") > 0 ? add(fee, more) : fee, given ?? bound);
  return bound !== null && given !== undefined && compare(given, bound) > 0 ? given : bound;
}

/** Shows what a speed-up changes of a withdrawal's fee, and of the price of its transaction. */
function viewSpeedUp(
  { row, changed, order, speedUp: { asset, price } }: {
    row: WithdrawalRow;
    changed: WithdrawalRow;
    order: OrderRow;
    speedUp: SpeedUpPrice;
  },
): Record<string, unknown> {
  const own = (price.contract ?? "") === (asset.contract ?? "");
  const payer = own ? asset : asset.gas;
  const isCharged = order.charged !== "0" && order.budget_contract === price.contract;
  const shown = (units: bigint) => jsonNumber(fromUnits(units, payer.decimals));
  return {
    fee: { before: jsonNumber(trim(row.fee)), after: jsonNumber(trim(changed.fee)) },
    price: {
      asset: payer.code,
      before: isCharged ? shown(BigInt(order.charged)) : null,
      after: shown(price.units),
    },
    replaces: order.state === "sent",
  };
}

/**
 * Refuses a speed-up of a withdrawal for reasons that do not depend on its price.
 *
 * @param order the order whose transaction pays it; null if it has ended
 * @returns the order, the newest scanned block, and the account that is charged
 */
async function assertMaySpeedUp(
  db: Db,
  actor: Actor,
  row: WithdrawalRow,
  order: OrderRow | null,
): Promise<{ order: OrderRow; head: number; account: AccountRow }> {
  if (order === null || !isOpen(order) || order.state === "mined") {
    throw new DomainError("withdrawal.not_cancelable", "it is in a block, or has ended");
  }
  if (order.state === "sent" && WITHOUT_REPLACEMENT.has(order.chain as ChainId)) {
    throw new DomainError("withdrawal.not_cancelable", whyNotReplaced(order.chain as ChainId));
  }
  if (order.state === "sent") await assertReadable(db, order);
  const head = await nextBlock(db, order);
  const account = await selectAccount(db, row.account);
  assertAccount(actor, "write", account);
  return { order, head, account };
}

/**
 * Refuses what {@link speedUpWithdrawal} would refuse at every speed, by the same checks, without a lock. Whether
 * balance and gas cover the price is told by a dry run.
 *
 * @param order the order whose transaction pays it
 * @throws {DomainError} withdrawal.not_cancelable, account.*, rate.limited before the next block, chain.stale
 */
export async function assertSpeedable(
  db: Db,
  actor: Actor,
  row: WithdrawalRow,
  order: OrderRow | null,
): Promise<void> {
  await assertMaySpeedUp(db, actor, row, row.status === "PROCESSING" ? order : null);
  await quoteOf(db, row, row.speed);
}

/** Reads the recent price of a withdrawal's transaction. */
async function quoteOf(db: Db, row: WithdrawalRow, speed: Speed): Promise<QuoteRow> {
  const place = { chain: row.chain, network: row.network } as ChainNetwork;
  return await recentQuote(db, { ...place, contract: row.contract ?? "", speed });
}

/** Refuses where the transaction was found on the chain and its bytes tell no plan: nothing can replace it. */
async function assertReadable(db: Db, order: OrderRow): Promise<void> {
  const last = (await selectAttemptSummaries(db, order.id)).findLast(({ dropped }) => !dropped);
  if (last === undefined || !last.unreadable) return;
  const why =
    `its transaction ${last.hash} was found on the chain after a restore, and does what nothing here` +
    " makes, so nothing can replace it: it is sent again as it is until a block has it";
  throw new DomainError("withdrawal.not_cancelable", why);
}

function whyNotReplaced(chain: ChainId): string {
  if (!transactionsExpire(chain)) return "the chain does not replace transactions";
  return "the chain does not replace transactions: this one is mined or expires within minutes, and" +
    " only after its expiry the withdrawal can be sped up";
}

/** Locks the order whose transaction pays a withdrawal: its batch, or its own. */
async function lockPayingOrder(tx: Tx, id: string): Promise<OrderRow | null> {
  const batch = (await selectOrder(tx, id))?.batch_order_id ?? null;
  return await lockOrder(tx, batch ?? id);
}

/** Gives the newest scanned block, and refuses a second speed-up before there is a new one. */
async function nextBlock(db: Db, order: OrderRow): Promise<number> {
  const place = { chain: order.chain as ChainId, network: order.network };
  const head = (await selectCursor(db, place as ChainNetwork))?.head ?? 0;
  if (order.sped_up_at === null || head > order.sped_up_at) return head;
  const why = "it was sped up since the last block: wait for the next block";
  throw new DomainError("rate.limited", why, { retryAfterS: RETRY_S });
}

async function priceSpeedUp(
  tx: Tx,
  actor: Actor,
  of: { row: WithdrawalRow; order: OrderRow; account: AccountRow; speed: Speed },
): Promise<SpeedUpPrice> {
  const { row, order, account, speed } = of;
  const asset = await resolveChainAsset(tx, row.asset);
  const quote = await quoteOf(tx, row, speed);
  const shared = order.purpose === "batch" || order.purpose === "recovered";
  const siblings = shared
    ? await selectWithdrawals(
      tx,
      (await selectBatched(tx, order.id)).map((one) => one.reference_id!),
    )
    : [row];
  const inputs = BigInt(quote.per_input) === 0n ? 0n : await coinsOf(tx, row, order, asset);
  const units = feeUnits(quote, { payments: paymentsOf(order, siblings.length), inputs });
  const price = await priced(tx, actor, { asset, currency: account.currency }, { quote, units });
  const before = siblings.reduce((sum, sibling) => add(sum, sibling.fee), "0");
  const several = order.purpose === "batch" || siblings.length > 1;
  return { asset, price, before, more: subtract(price.fee, before), several };
}

/** Counts the payments of a transaction: one that was found may make some that no withdrawal here is for. */
function paymentsOf({ purpose, request }: OrderRow, known: number): number {
  if (purpose !== "recovered") return known;
  return (request as unknown as { payments: unknown[] }).payments.length;
}

/** Counts the coins that the transaction spends, or will probably spend. */
async function coinsOf(
  tx: Tx,
  row: WithdrawalRow,
  order: OrderRow,
  asset: ChainAsset,
): Promise<bigint> {
  const inputs = await selectReservedInputs(tx, order.id);
  if (inputs.length > 0) return BigInt(inputs.length);
  const amount = `${toUnits(row.amount, asset.decimals)}`;
  const { chain, network, sender: address } = row;
  return BigInt(await countCoinsFor(tx, { chain, network, address, amount }));
}

/** The additional fee raises the budget of the transaction in the same proportion. */
async function raisedBudget(
  tx: LedgerTx,
  actor: Actor,
  of: {
    row: WithdrawalRow;
    order: OrderRow;
    speedUp: SpeedUpPrice;
    maxFee: string | null;
    factor: number;
  },
): Promise<Raise> {
  const { row, order, speedUp: { asset, price, more, several }, maxFee, factor } = of;
  if (several) {
    const charged = toUnits(more, asset.decimals);
    const budget = charged * BigInt(factor);
    const raised = (one: OrderRow) => ({
      charged: `${BigInt(one.charged) + charged}`,
      budget: `${BigInt(one.budget!) + budget}`,
    });
    if (order.purpose !== "batch") return raised(order); // one that was found adds up its withdrawals' own
    const member = (await lockOrder(tx, row.order_id))!;
    await raiseBudget(tx, member.id, raised(member));
    return raised(order);
  }
  if (order.budget_contract !== price.contract) return {};
  const raised = budgetFor(price, { asset, amount: row.amount, maxFee, factor });
  const most = larger(BigInt(order.budget!), raised.budget);
  return {
    charged: `${larger(BigInt(order.charged), raised.charged)}`,
    budget: `${most}`,
    ...(await raiseGas(tx, actor, order, most)),
  };
}

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

/**
 * Moves the difference to the ramp's account, and blocks it there together with the earlier charge.
 */
async function chargeSpeedUp(
  tx: LedgerTx,
  actor: Actor,
  of: { row: WithdrawalRow; account: AccountRow; speedUp: SpeedUpPrice },
): Promise<WithdrawalChange> {
  const { row, account, speedUp: { more, price } } = of;
  if (compare(availableOf(account), more) < 0) {
    throw new DomainError("balance.insufficient", `the balance does not cover ${more} more`);
  }
  await freeBlock(tx, row.block);
  if (account.id !== row.ramp) {
    await postMove(tx, actor, {
      type: "fee",
      source: account.id,
      destination: row.ramp,
      amount: more,
      data: { withdrawal: row.id },
    });
  }
  const charged = add(row.charged, more);
  const block = await openBlock(tx, actor, {
    account: (await selectAccount(tx, row.ramp))!,
    amount: charged,
    reason: "withdrawal",
    reference: row.id,
  });
  return {
    fee: add(row.fee, more),
    charged,
    surcharge: add(row.surcharge, more),
    block: block.id,
    ...(price.gas === null ? {} : { gas: price.gas.value }),
  };
}
