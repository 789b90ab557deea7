/**
 * Withdrawals: value that leaves the ledger for a chain. Creation promises the value and orders its
 * sending; no chain is touched here.
 * @module
 */
import { z } from "zod";
import { type AccountRow, selectAccount } from "../../db/accounts/accounts.ts";
import type { Tx } from "../../db/database.ts";
import { selectMayDiscard } from "../../db/sending/nonces.ts";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import { selectMayCancel } from "../../db/sending/quarantine.ts";
import { selectAliasTarget, selectDefaultAccount } from "../../db/accounts/account_lookup.ts";
import {
  insertWithdrawal,
  updateWithdrawal,
  updateWithdrawalData,
  type WithdrawalRow,
} from "../../db/withdrawals/withdrawals.ts";
import { assertAccount, availableOf } from "../accounts/accounts.ts";
import type { Actor, RequestActor } from "../actor.ts";
import { checkAddress } from "../chains/addresses.ts";
import { openBlock } from "../ledger/blocks.ts";
import { assertSendable, type ChainAsset, resolveChainAsset } from "../chains/onchain_assets.ts";
import { FreeForm, text } from "../entity.ts";
import { cappedBudgets } from "../sending/holder_losses.ts";
import { DomainError, invalidField } from "../errors.ts";
import { type Price, priceOf, Speed } from "../sending/fees.ts";
import { isId, newIds } from "../ids.ts";
import { postMove } from "../ledger/posting.ts";
import { add, Amount, assertScale, compare, subtract, toUnits } from "../money.ts";
import { cancelOrder, createOrder } from "../sending/chain_orders.ts";
import { assertNotStranding } from "../accounts/own_addresses.ts";
import { notFound } from "../permissions.ts";
import { type ChainPlace, placeFor } from "../chains/networks.ts";
import { SourceParty } from "../ledger/parties.ts";
import { sponsorshipOf } from "../sending/token_gas.ts";
import { assertNotStopped } from "../stops/stops.ts";
import { assertOnChain, assertSolvent, findOwnAddress, rampOf } from "../sending/funds.ts";
import { budgetFor } from "../sending/cost_budget.ts";
import { reachWithdrawal } from "./withdrawal_reach.ts";
import { announce, returnCharge } from "./withdrawal_settlement.ts";

export { viewWithdrawal, WithdrawalView } from "./withdrawal_views.ts";

/** What is asked for when value is withdrawn. */
export const NewWithdrawal = z.strictObject({
  source: SourceParty,
  destination: z.strictObject({ address: text(200) }),
  asset: text(40).optional().meta({ description: "Checked against the account's, if given." }),
  value: Amount,
  fee: z.strictObject({
    paid_by: z.enum(["sender", "receiver"]).default("sender"),
    speed: Speed.default("medium"),
  }).default({ paid_by: "sender", speed: "medium" }),
  data: FreeForm.default({}),
}).meta({ id: "NewWithdrawal" });
/** What is asked for when value is withdrawn. */
export type NewWithdrawal = z.infer<typeof NewWithdrawal>;

/** A day that is over lets more be canceled. */
const DISCARDED_RETRY_S = 3_600;

/** What is decided before anything is written. */
interface Decision {
  account: AccountRow;
  ramp: AccountRow;
  asset: ChainAsset;
  place: ChainPlace;
  sender: string;
  destination: string;
  price: Price;
  amount: string;
  charged: string;
}

/**
 * Promises funds to a withdrawal and orders its sending. Runs under the ledger lock.
 *
 * @param input.value a decimal in whole units of the asset
 * @throws {DomainError} account.*, balance.insufficient, ramp.*, address.invalid, asset.*, chain.*,
 *   withdrawal.below_fee, rate.limited where others have paid for too many, request.invalid
 */
export async function createWithdrawal(
  tx: Tx,
  actor: RequestActor,
  input: NewWithdrawal,
): Promise<WithdrawalRow> {
  const decided = await decide(tx, actor, input);
  const { account, ramp, asset, place, price, amount, charged, sender } = decided;
  const keeper = asset.token?.ramp ?? null;
  const cost = budgetFor(price, { asset, amount, factor: actor.settings.hotFeeMaxFactor });
  const paying = { ramp: keeper ?? ramp.id, sender, user: actor.user, asset, fee: price.fee };
  const sponsored = await sponsorshipOf(tx, paying);
  const { ids: [id], at } = newIds(actor.at, 1);
  const moved = account.id === ramp.id ? null : await postMove(tx, actor, {
    type: "withdrawal",
    source: account.id,
    destination: ramp.id,
    amount: charged,
    data: { withdrawal: id },
  });
  const block = await openBlock(tx, actor, {
    account: (await selectAccount(tx, ramp.id))!,
    amount: charged,
    reason: "withdrawal",
    serves: id,
  });
  const order = await createOrder(tx, actor, {
    place,
    ramp: keeper ?? ramp.id,
    purpose: "withdrawal",
    subject: id,
    speed: input.fee.speed,
    wish: {
      kind: "pay",
      from: sender,
      contract: asset.contract,
      payments: [{ to: decided.destination, amount: `${toUnits(amount, asset.decimals)}` }],
    },
    cost,
    ...(keeper === null || cost.contract !== null ? {} : { gas: cost.budget }),
  });
  const row = await insertWithdrawal(tx, {
    id,
    account: account.id,
    ramp: ramp.id,
    chain: place.chain,
    network: place.network,
    sender,
    destination: decided.destination,
    asset: asset.code,
    contract: asset.contract,
    value: input.value,
    amount,
    fee: price.fee,
    charged,
    paid_by: input.fee.paid_by,
    speed: input.fee.speed,
    gas_asset: price.gas?.asset ?? null,
    gas: price.gas?.value ?? null,
    sponsored,
    order_id: order,
    block: block.id,
    transaction: moved?.id ?? null,
    history: [{ at, event: "created" }],
    data: input.data,
    owner: actor.user,
    created_at: at,
  });
  await announce(tx, actor, row);
  return row;
}

async function decide(
  tx: Tx,
  actor: RequestActor,
  input: NewWithdrawal,
): Promise<Decision> {
  const account = await sourceOf(tx, input);
  assertAccount(actor, "write", account);
  if (input.asset !== undefined && input.asset !== account.asset) {
    throw new DomainError("account.asset_mismatch", `the account is of ${account.asset}`);
  }
  const asset = await resolveChainAsset(tx, account.asset);
  const ramp = await rampOf(tx, account, asset);
  assertSendable(asset.code);
  assertScale(input.value, asset.decimals, "/value");
  const place = placeFor(
    actor.settings.chains,
    asset.chain,
    asset.token?.testnet ?? account.testnet,
  );
  const sender = await findOwnAddress(tx, asset.token?.ramp ?? ramp.id);
  const { address } = input.destination;
  const destination = await checkAddress(place.chain, place.network, address);
  if (destination === sender) {
    throw new DomainError("address.invalid", "this is the ramp's own address");
  }
  const payment = { address: destination, asset: asset.code, fromRamp: account.type === "ramp" };
  await assertNotStranding(tx, { place, ...payment });
  const { chain } = place;
  await assertNotStopped(tx, actor, { account: account.id, asset: asset.code, chain, destination });
  const price = await priceOf(tx, actor, {
    asset,
    place,
    speed: input.fee.speed,
    amount: input.value,
    sender,
    currency: account.currency,
  });
  if (price.minimum !== null && compare(input.value, price.minimum) < 0) {
    const why = `at least ${price.minimum} is withdrawn while the fee cannot be converted`;
    throw new DomainError("withdrawal.below_fee", why);
  }
  const { amount, charged } = applyFee(input.value, price.fee, input.fee.paid_by);
  if (toUnits(amount, asset.decimals) < price.least) {
    throw new DomainError("withdrawal.below_fee", "the chain passes on no amount as small as this");
  }
  if (compare(availableOf(account), charged) < 0) {
    throw new DomainError("balance.insufficient", "the balance does not cover value and fee");
  }
  await assertSolvent(tx, { asset: account.asset, testnet: account.testnet });
  await assertOnChain(tx, actor, { asset, place, sender, amount, price });
  return { account, ramp, asset, place, sender, destination, price, amount, charged };
}

/**
 * Splits a value into what moves on the chain and what leaves the account.
 *
 * @throws {DomainError} withdrawal.below_fee
 */
export function applyFee(
  value: string,
  fee: string,
  paidBy: "sender" | "receiver",
): { amount: string; charged: string } {
  if (paidBy === "sender") return { amount: value, charged: add(value, fee) };
  if (compare(value, fee) <= 0) {
    throw new DomainError("withdrawal.below_fee", `the fee of ${fee} is not less than the value`);
  }
  return { amount: subtract(value, fee), charged: value };
}

async function sourceOf(
  tx: Tx,
  { source, asset }: NewWithdrawal,
): Promise<AccountRow | null> {
  if (source.account !== undefined) {
    return isId(source.account) ? await selectAccount(tx, source.account) : null;
  }
  const target = await selectAliasTarget(tx, source.alias!);
  if (target === null) throw notFound("alias.not_found");
  if (target.account !== null) return await selectAccount(tx, target.account);
  if (asset === undefined) {
    throw invalidField("/asset", "an identity's alias needs the asset to be named");
  }
  const of = { holder: target.identity!, asset, testnet: false };
  const id = await selectDefaultAccount(tx, of);
  return id === null ? null : await selectAccount(tx, id);
}

/**
 * Refuses to cancel too many withdrawals that are signed: the nonce of each is filled at the house's
 * cost. What is not canceled goes on as it was asked for.
 *
 * @throws {DomainError} rate.limited
 */
async function assertMayDiscard(tx: Tx, actor: Actor, row: WithdrawalRow): Promise<void> {
  const order = await selectOrder(tx, row.order_id);
  if (order?.state !== "signed" || order.nonce === null) return;
  const few = await selectMayDiscard(tx, { ramp: order.ramp, subject: row.id });
  if (few && (await cappedBudgets(tx, actor.realm, [order])).size === 0) return;
  const why = "too many withdrawals were canceled today after they were signed: this one goes on";
  throw new DomainError("rate.limited", why, { retryAfterS: DISCARDED_RETRY_S });
}

/**
 * Cancels a withdrawal none of whose bytes has left, and gives value and fee back. Runs under the
 * ledger lock.
 *
 * @throws {DomainError} withdrawal.not_found, withdrawal.not_cancelable, permission.owner,
 *   rate.limited where it is signed and too many such were canceled, chain.quarantined where a newer
 *   database may have paid it
 */
export async function cancelWithdrawal(
  tx: Tx,
  actor: Actor,
  id: string,
): Promise<WithdrawalRow> {
  const row = await reachWithdrawal(tx, actor, id);
  if (row.status === "PROCESSING" && !await selectMayCancel(tx, row.order_id)) {
    const why = "it may have been paid: nothing is canceled before the ramp is reconciled and a" +
      " worker has confirmed the database";
    throw new DomainError("chain.quarantined", why);
  }
  await assertMayDiscard(tx, actor, row);
  const order = row.status === "PROCESSING" ? await cancelOrder(tx, actor, row.order_id) : null;
  if (order === null) {
    throw new DomainError("withdrawal.not_cancelable", "it has been sent, or has ended");
  }
  await returnCharge(tx, actor, row);
  const entry = { at: actor.at, event: "canceled" };
  const change = { status: "CANCELED" as const };
  const canceled = await updateWithdrawal(tx, row.id, change, entry, actor.at);
  await announce(tx, actor, canceled);
  return canceled;
}

/**
 * Replaces the free-form part of a withdrawal.
 *
 * @throws {DomainError} withdrawal.not_found, permission.owner
 */
export async function changeWithdrawal(
  tx: Tx,
  actor: Actor,
  { id, data }: { id: string; data: Record<string, unknown> },
): Promise<WithdrawalRow> {
  const row = await reachWithdrawal(tx, actor, id);
  return await updateWithdrawalData(tx, row.id, data, actor.at);
}
