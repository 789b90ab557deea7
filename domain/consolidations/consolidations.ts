/**
 * Consolidations: while fees are low, one transaction spends many small coins of a ramp into one
 * coin. Later payments then need fewer inputs and cost less. A request is checked against the coins
 * and prices that workers last read; its fee ceilings are checked again when the transaction is
 * planned.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { type AccountRow, selectAccount } from "../../db/accounts/accounts.ts";
import { selectCursor } from "../../db/chains/cursors.ts";
import {
  type ConsolidationRow,
  countSmallCoins,
  insertConsolidation,
  selectConsolidation,
  selectConsolidations,
  updateConsolidation,
} from "../../db/consolidations/consolidations.ts";
import type { Db, Tx } from "../../db/database.ts";
import { lockOrder } from "../../db/sending/chain_orders.ts";
import type { QuoteRow } from "../../db/sending/fee_quotes.ts";
import { assertAccount, findAccount } from "../accounts/accounts.ts";
import type { Actor, RequestActor } from "../actor.ts";
import { chainInfo, nativeAsset } from "../assets.ts";
import { assertSendable, type ChainAsset, resolveChainAsset } from "../chains/onchain_assets.ts";
import type {
  ConsolidationList,
  ConsolidationSpeedUp,
  NewConsolidation,
} from "./consolidation_views.ts";
import { DomainError } from "../errors.ts";
import { feeUnits, recentQuote } from "../sending/fees.ts";
import {
  assertAbove,
  assertRate,
  CONSOLIDATION_LIMITS,
  type ConsolidationLimits,
  feeCeilings,
} from "./consolidation_limits.ts";
import { isId, newIds } from "../ids.ts";
import { type Page, parsePage } from "../collections/list_parameters.ts";
import { compare, fromUnits, toUnits } from "../money.ts";
import { createOrder, speedUpOrder } from "../sending/chain_orders.ts";
import { notFound } from "../permissions.ts";
import { chargeRamp } from "../sending/ramp_charges.ts";
import { type ChainNetwork, chainNetworkFor, depthOf } from "../chains/networks.ts";
import type { ChainSettings } from "../installation_settings.ts";
import { assertSolvent, findOwnAddress, rampOf } from "../sending/funds.ts";
import { raiseBudget } from "../sending/order_states.ts";

/** The ramp whose coins are consolidated. */
interface ConsolidationTarget {
  account: AccountRow;
  asset: ChainAsset;
  limits: ConsolidationLimits;
  place: ChainNetwork;
  address: string;
}

/**
 * Orders the smallest coins of a ramp that are worth spending to be spent into one.
 *
 * @param input.max_fee the most that it may cost, in whole units
 * @param input.max_fee_rate the most that 1000 virtual bytes may cost, in whole units
 * @throws {DomainError} account.*, permission.*, asset.suspended, chain.*, version.conflict while
 *   another one is open, condition.failed above a ceiling, ramp.assets_insufficient with fewer than
 *   two coins to consolidate, request.invalid
 */
export async function createConsolidation(
  tx: LedgerTx,
  actor: RequestActor,
  input: NewConsolidation & { account: string },
): Promise<ConsolidationRow> {
  const target = await resolveTarget(tx, actor, input.account);
  const { account, asset, limits, place } = target;
  const ceilings = feeCeilings(input, limits, asset.decimals);
  const { total } = await selectConsolidations(tx, account.id, OPEN);
  if (total > 0) throw stillOpen();
  const quote = await recentQuote(tx, { ...place, contract: "", speed: input.speed });
  assertRate(ceilings, quote, { limits, asset });
  const { coins, units, estimate } = await estimateInputs(tx, target, quote, actor.settings.chains);
  if (ceilings.maxFee !== null && compare(estimate, ceilings.maxFee) > 0) {
    const why = `it would cost up to ${estimate} ${asset.code}, above ${ceilings.maxFee}`;
    throw new DomainError("condition.failed", why);
  }
  const made = await orderConsolidation(tx, actor, target, {
    speed: input.speed,
    max_fee: ceilings.maxFee,
    max_fee_rate: ceilings.maxFeeRate,
    coins,
    amount: fromUnits(units, asset.decimals),
    estimate,
    data: input.data,
  });
  if (made === null) throw stillOpen();
  return made;
}

/**
 * Writes the consolidation and its chain order, a payment of the coins to the ramp's own address.
 */
async function orderConsolidation(
  tx: LedgerTx,
  actor: Actor,
  { account, asset, place, address }: ConsolidationTarget,
  wanted: Pick<
    ConsolidationRow,
    "speed" | "max_fee" | "max_fee_rate" | "coins" | "amount" | "estimate" | "data"
  >,
): Promise<ConsolidationRow | null> {
  const { ids: [id], at } = newIds(actor.at, 1);
  const payments = [{ to: address, amount: "all" }];
  const units = toUnits(wanted.estimate, asset.decimals);
  const charge = await chargeRamp(tx, actor, { ramp: account, units });
  const order = await createOrder(tx, actor, {
    place,
    ramp: account.id,
    purpose: "consolidation",
    reference_id: id,
    speed: wanted.speed,
    // The charge is the whole budget: at the end the account may be empty, and could not pay more.
    ...(charge === null ? {} : { cost: { ...charge, budget: units } }),
    request: { kind: "pay", from: address, contract: null, payments },
  });
  return await insertConsolidation(tx, {
    ...wanted,
    id,
    account: account.id,
    chain: place.chain,
    network: place.network,
    address,
    asset: asset.code,
    order_id: order,
    owner: actor.user,
    created_at: at,
  });
}

const OPEN = { status: "PROCESSING", limit: 1, offset: 0 };

async function resolveTarget(
  tx: Tx,
  actor: RequestActor,
  id: string,
): Promise<ConsolidationTarget> {
  const account = await writableRamp(tx, actor, id);
  const asset = await resolveChainAsset(tx, account.asset);
  const limits = CONSOLIDATION_LIMITS[asset.chain];
  if (limits === undefined) {
    const why = `${chainInfo(asset.chain).name} keeps balances, not coins`;
    throw new DomainError("account.asset_mismatch", why);
  }
  await rampOf(tx, account, asset);
  assertSendable(asset.code);
  await assertSolvent(tx, { asset: asset.code, testnet: account.testnet });
  const place = chainNetworkFor(actor.settings.chains, asset.chain, account.testnet);
  const address = await findOwnAddress(tx, account.id);
  return { account, asset, limits, place, address };
}

async function writableRamp(db: Db, actor: Actor, id: string): Promise<AccountRow> {
  const account = isId(id) ? await selectAccount(db, id) : null;
  assertAccount(actor, "write", account);
  if (account.type === "ramp") return account;
  throw new DomainError("account.no_ramp", "only a ramp's coins are consolidated");
}

/** Estimates inputs and cost by the coins and prices that workers last read. */
async function estimateInputs(
  tx: Tx,
  { asset, place, address, account }: ConsolidationTarget,
  quote: QuoteRow,
  chains: ChainSettings,
): Promise<{ coins: number; units: bigint; estimate: string }> {
  const cursor = await selectCursor(tx, place);
  if (cursor === null) {
    const why = `${chainInfo(place.chain).name} was not scanned yet`;
    throw new DomainError("chain.stale", why, { retryAfterS: 10 });
  }
  const settled = cursor.head - depthOf(chains, place.chain, account.testnet) + 1;
  const which = { ...place, address, head: cursor.head, settled, cost: quote.per_input };
  const { count, units } = await countSmallCoins(tx, which, chainInfo(place.chain).coinsMax!);
  const cost = feeUnits(quote, { payments: 1, inputs: BigInt(count) });
  if (count < 2 || BigInt(units) - cost < BigInt(quote.least)) {
    const why = `${count} free coins are worth more than it costs to spend them`;
    throw new DomainError("ramp.assets_insufficient", `there is nothing to consolidate: ${why}`);
  }
  return { coins: count, units: BigInt(units), estimate: fromUnits(cost, asset.decimals) };
}

function stillOpen(): DomainError {
  return new DomainError("version.conflict", "another consolidation of the ramp is still open");
}

/**
 * Finds a consolidation of an account.
 *
 * @throws {DomainError} account.not_found, consolidation.not_found
 */
export async function findConsolidation(
  db: Db,
  actor: Actor,
  name: { account: string; consolidation: string },
): Promise<ConsolidationRow> {
  const account = await findAccount(db, actor, name.account);
  return await ofAccount(db, account, name.consolidation);
}

async function ofAccount(db: Db, account: AccountRow, id: string): Promise<ConsolidationRow> {
  const row = isId(id) ? await selectConsolidation(db, id) : null;
  if (row === null || row.account !== account.id) throw notFound("consolidation.not_found");
  return row;
}

/**
 * Lists the consolidations of an account, oldest first.
 *
 * @throws {DomainError} account.not_found, query.invalid
 */
export async function listConsolidations(
  db: Db,
  actor: Actor,
  input: ConsolidationList & { account: string },
): Promise<{ rows: ConsolidationRow[]; total: number; page: Page }> {
  const page = parsePage(input);
  const account = await findAccount(db, actor, input.account);
  const part = { status: input.status ?? null, limit: page.limit, offset: page.offset };
  return { ...await selectConsolidations(db, account.id, part), page };
}

/**
 * Speeds up a consolidation within its fee ceilings, or within new ones: a transaction that spends
 * the same coins and pays more replaces the one that was sent.
 *
 * @throws {DomainError} account.not_found, account.no_ramp, permission.*, consolidation.not_found,
 *   account.asset_mismatch on a chain without replacement, version.conflict once it is in a block
 *   or has ended, condition.failed where a ceiling is below the price or below the transaction
 *   sent, balance.insufficient, chain.stale, request.invalid
 */
export async function speedUpConsolidation(
  tx: LedgerTx,
  actor: Actor,
  input: ConsolidationSpeedUp & { account: string; consolidation: string },
): Promise<ConsolidationRow> {
  const { speed } = input;
  const account = await writableRamp(tx, actor, input.account);
  const row = await ofAccount(tx, account, input.consolidation);
  const place = { chain: row.chain, network: row.network } as ChainNetwork;
  const limits = CONSOLIDATION_LIMITS[place.chain]!;
  const asset = nativeAsset(place.chain);
  if (!limits.replaceable) {
    const why = `${asset.blockchain} does not replace transactions`;
    throw new DomainError("account.asset_mismatch", why);
  }
  const ceilings = feeCeilings(
    {
      max_fee: input.max_fee ?? row.max_fee ?? undefined,
      max_fee_rate: input.max_fee_rate ?? row.max_fee_rate,
    },
    limits,
    asset.decimals,
  );
  const quote = await recentQuote(tx, { ...place, contract: "", speed });
  assertRate(ceilings, quote, { limits, asset });
  assertAbove(row, ceilings, asset.decimals);
  const open = row.status === "PROCESSING";
  if (open) await chargeSpeedUp(tx, actor, { account, row, quote });
  if (!open || await speedUpOrder(tx, actor, row.order_id, speed) === null) {
    throw new DomainError("version.conflict", "it is in a block, or has ended");
  }
  const { maxFee: max_fee, maxFeeRate: max_fee_rate } = ceilings;
  return await updateConsolidation(tx, row.id, { speed, max_fee, max_fee_rate }, actor.at);
}

/** Charges the higher budget of another speed to the account that paid the first charge. */
async function chargeSpeedUp(
  tx: LedgerTx,
  actor: Actor,
  of: { account: AccountRow; row: ConsolidationRow; quote: QuoteRow },
): Promise<void> {
  const { account, row, quote } = of;
  const order = await lockOrder(tx, row.order_id);
  if (order === null || order.budget === null) return;
  const budget = feeUnits(quote, { payments: 1, inputs: BigInt(row.coins) });
  const more = budget - BigInt(order.budget);
  if (more <= 0n) return;
  const charge = await chargeRamp(tx, actor, { ramp: account, units: more });
  const charged = BigInt(order.charged) + (charge?.charged ?? 0n);
  await raiseBudget(tx, order.id, { charged: `${charged}`, budget: `${budget}` });
}
