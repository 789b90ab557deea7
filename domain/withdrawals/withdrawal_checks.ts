/**
 * Everything that is checked before a withdrawal is made: its account and ramp, its destination,
 * its fee, and the funds behind it. Nothing is written here, and no node is asked.
 * @module
 */
import { z } from "zod";
import { type AccountRow, selectAccount } from "../../db/accounts/accounts.ts";
import type { Tx } from "../../db/database.ts";
import { assertAccount, availableOf } from "../accounts/accounts.ts";
import { assertNotStranding } from "../accounts/own_addresses.ts";
import type { Actor, RequestActor } from "../actor.ts";
import { checkAddress } from "../chains/addresses.ts";
import { type ChainNetwork, chainNetworkFor } from "../chains/networks.ts";
import {
  assertSendable,
  type ChainAsset,
  resolveChainAsset,
  sendingRamp,
} from "../chains/onchain_assets.ts";
import { FreeForm, text } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { fieldOf, resolveSource, SourceParty } from "../ledger/parties.ts";
import { add, Amount, AmountOrZero, assertScale, compare, subtract, toUnits } from "../money.ts";
import { type Price, priceOf, Speed } from "../sending/fees.ts";
import { assertMeans, findOwnAddress, rampOf } from "../sending/funds.ts";
import { assertNotStopped } from "../stops/stops.ts";

/** The most that a withdrawal may cost its user. */
export const MaxFee: typeof AmountOrZero = AmountOrZero.meta({
  description:
    "The most that is paid for fees, in whole units of the account's asset, also where the " +
    "transaction fails. Refused with `condition.failed` above it. Unset: whatever the fee is.",
});

/** A request for a withdrawal. */
export const NewWithdrawal = z.strictObject({
  source: SourceParty,
  destination: z.strictObject({ address: text(200) }),
  asset: text(40).optional().meta({ description: "Checked against the account's, if given." }),
  value: Amount,
  fee: z.strictObject({
    paid_by: z.enum(["sender", "receiver"]).default("sender"),
    speed: Speed.default("medium"),
  }).default({ paid_by: "sender", speed: "medium" }),
  max_fee: MaxFee.optional(),
  data: FreeForm.default({}),
}).meta({ id: "NewWithdrawal" });
/** A request for a withdrawal. */
export type NewWithdrawal = z.infer<typeof NewWithdrawal>;

/** Source and destination of a withdrawal. */
export interface Route {
  account: AccountRow;
  /** The ramp on whose account the value is blocked. */
  ramp: AccountRow;
  asset: ChainAsset;
  place: ChainNetwork;
  /** The address that sends. */
  sender: string;
  destination: string;
}

/** The charge of a withdrawal; amounts in whole units of the asset. */
export interface Charge {
  price: Price;
  /** The amount that arrives at the destination. */
  amount: string;
  /** The amount that leaves the account. */
  charged: string;
}

/** A withdrawal that passed all checks. */
export interface CheckedWithdrawal extends Route, Charge {}

/**
 * Checks a requested withdrawal.
 *
 * @throws {DomainError} account.*, balance.insufficient, ramp.*, address.invalid, asset.*, chain.*,
 *   withdrawal.below_fee, condition.failed, stop.active, request.invalid
 */
export async function checkWithdrawal(
  tx: Tx,
  actor: RequestActor,
  input: NewWithdrawal,
): Promise<CheckedWithdrawal> {
  const route = await checkRoute(tx, actor, input);
  const charge = await checkCharge(tx, actor, input, route);
  const { account, asset, place, sender } = route;
  const { price, amount, charged } = charge;
  if (compare(availableOf(account), charged) < 0) {
    throw new DomainError("balance.insufficient", "the balance does not cover value and fee");
  }
  await assertMeans(tx, actor, { account, asset, place, sender, amount, price });
  return { ...route, ...charge };
}

async function checkRoute(tx: Tx, actor: RequestActor, input: NewWithdrawal): Promise<Route> {
  const source = await resolveSource(tx, input);
  const account = source === null ? null : await selectAccount(tx, source);
  assertAccount(actor, "write", account, fieldOf(input, "source"));
  if (input.asset !== undefined && input.asset !== account.asset) {
    throw new DomainError("account.asset_mismatch", `the account is of ${account.asset}`);
  }
  const asset = await resolveChainAsset(tx, account.asset);
  const ramp = await rampOf(tx, account, asset);
  assertSendable(asset.code);
  assertScale(input.value, asset.decimals, "/value");
  assertScale(input.max_fee ?? "0", asset.decimals, "/max_fee");
  const testnet = asset.token?.testnet ?? account.testnet;
  const place = chainNetworkFor(actor.settings.chains, asset.chain, testnet);
  const sender = await findOwnAddress(tx, sendingRamp(asset, ramp.id));
  const destination = await checkAddress(place.chain, place.network, input.destination.address);
  if (destination === sender) {
    throw new DomainError("address.invalid", "this is the ramp's own address");
  }
  const payment = { address: destination, asset: asset.code, fromRamp: account.type === "ramp" };
  await assertNotStranding(tx, { place, ...payment });
  const { chain } = place;
  await assertNotStopped(tx, actor, { account: account.id, asset: asset.code, chain, destination });
  return { account, ramp, asset, place, sender, destination };
}

async function checkCharge(
  tx: Tx,
  actor: Actor,
  { value, fee, max_fee }: NewWithdrawal,
  { account, asset, place, sender }: Route,
): Promise<Charge> {
  const price = await priceOf(tx, actor, {
    asset,
    place,
    speed: fee.speed,
    amount: value,
    sender,
    currency: account.currency,
  });
  if (price.minimum !== null && compare(value, price.minimum) < 0) {
    const why = `at least ${price.minimum} is withdrawn while the fee cannot be converted`;
    throw new DomainError("withdrawal.below_fee", why);
  }
  assertFeeWithin(price.fee, max_fee ?? null);
  const { amount, charged } = applyFee(value, price.fee, fee.paid_by);
  if (toUnits(amount, asset.decimals) < price.least) {
    throw new DomainError("withdrawal.below_fee", "the amount is below the chain's dust limit");
  }
  return { price, amount, charged };
}

/**
 * Refuses a fee above the most that its user pays.
 *
 * @throws {DomainError} condition.failed
 */
export function assertFeeWithin(fee: string, maxFee: string | null): void {
  if (maxFee === null || compare(fee, maxFee) <= 0) return;
  const message = `the fee is ${fee}, above ${maxFee}`;
  throw new DomainError("condition.failed", message, { errors: [{ path: "/max_fee", message }] });
}

/**
 * Splits a value into the amount that moves on the chain and the amount that leaves the account.
 *
 * @throws {DomainError} withdrawal.below_fee
 */
function applyFee(
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
