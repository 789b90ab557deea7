/** Checks of the funds before value may leave, by the balances that workers last read. @module */
import { type AccountRow, selectAccount } from "../../db/accounts/accounts.ts";
import { selectMeans } from "../../db/sending/means.ts";
import type { Db, Tx } from "../../db/database.ts";
import { sumInFlight } from "../../db/sending/chain_orders.ts";
import { selectAddressOf } from "../../db/accounts/ramps.ts";
import { selectStopped } from "../../db/audit/solvency.ts";
import { selectHeld } from "../../db/accounts/onchain_balances.ts";
import { assertUsable } from "../accounts/accounts.ts";
import type { Actor } from "../actor.ts";
import { chainInfo } from "../assets.ts";
import type { ChainAsset } from "../chains/onchain_assets.ts";
import { DomainError } from "../errors.ts";
import type { Price } from "./fees.ts";
import { toUnits } from "../money.ts";
import type { ChainNetwork } from "../chains/networks.ts";

/** Balances older than this are not used. */
const BALANCE_AGE_MAX_MS = 600_000;

/**
 * Finds the ramp that a withdrawal leaves by, and refuses accounts that cannot be used.
 *
 * @throws {DomainError} account.not_enabled, account.inactive, account.frozen, account.no_ramp
 */
export async function rampOf(
  tx: Tx,
  account: AccountRow,
  asset: ChainAsset,
): Promise<AccountRow> {
  assertUsable(account, "account");
  if (account.type === "ramp") return account;
  if (asset.token !== null) {
    // A token of the realm's own lies at its deployer's address; its accounts need no ramp of theirs.
    const deployer = await selectAccount(tx, asset.token.ramp);
    if (deployer !== null) assertUsable(deployer, "ramp");
    return account;
  }
  const ramp = account.type === "virtual" && account.ramp !== null
    ? await selectAccount(tx, account.ramp)
    : null;
  if (ramp === null || ramp.deleted_at !== null) {
    throw new DomainError("account.no_ramp", "the account has no ramp to withdraw through");
  }
  assertUsable(ramp, "ramp");
  return ramp;
}

/**
 * Gives the address that a ramp sends from.
 *
 * @throws {DomainError} account.not_enabled
 */
export async function findOwnAddress(db: Db, ramp: string): Promise<string> {
  const found = await selectAddressOf(db, ramp);
  if (found !== null) return found.address;
  throw new DomainError("account.not_enabled", "the ramp has no address yet");
}

/**
 * Refuses withdrawals of an asset while the chain holds less of it than the ledger owes.
 *
 * @throws {DomainError} asset.suspended
 */
export async function assertSolvent(
  db: Db,
  of: { asset: string; testnet: boolean },
): Promise<void> {
  if (await selectStopped(db, of)) throw insolvent();
}

function insolvent(): DomainError {
  const why = "chain and ledger do not agree: withdrawals wait for the operator";
  return new DomainError("asset.suspended", why);
}

/** A payment, and the asset of the account that it leaves. */
export interface Payment {
  account: { asset: string; testnet: boolean };
  asset: ChainAsset;
  place: ChainNetwork;
  sender: string;
  /** Whole units of the asset. */
  amount: string;
  price: Price;
}

/**
 * Refuses a payment while the chain holds less of its asset than the ledger owes, and one that the ramp's address
 * cannot make, by the balance last read less orders on their way.
 *
 * @throws {DomainError} asset.suspended, chain.stale, ramp.assets_insufficient, ramp.gas_insufficient
 */
export async function assertMeans(db: Db, actor: Actor, payment: Payment): Promise<void> {
  const { account: { asset: code, testnet }, asset, place, sender, price } = payment;
  const of = { ...place, sender, contract: asset.contract ?? "", asset: code, testnet };
  const { addressMinimum = 0n, coinsMax = 0 } = chainInfo(place.chain);
  const means = await selectMeans(db, { ...of, coinsMax });
  if (means.stopped) throw insolvent();
  if (means.seen_at !== null && actor.at - means.seen_at > BALANCE_AGE_MAX_MS) {
    throw new DomainError("chain.stale", `${chainInfo(place.chain).name} was not seen lately`, {
      retryAfterS: 10,
    });
  }
  const amount = toUnits(payment.amount, asset.decimals);
  const needed = amount + (price.gas === null ? price.units : 0n);
  const left = BigInt(means.held) - BigInt(means.flying) - needed;
  if (left < 0n) {
    throw new DomainError("ramp.assets_insufficient", "the ramp's address does not hold enough");
  }
  // Nothing is less, too: the exact fee is known at the signature alone, and what it leaves over is below the minimum.
  if (asset.contract === null && left < addressMinimum) {
    const why = "the ramp's address would keep less than the chain's minimum";
    throw new DomainError("ramp.assets_insufficient", why);
  }
  // One transaction spends so many coins; account chains have none.
  const many = coinsMax > 0 && means.coin_count >= coinsMax;
  if (many && BigInt(means.coins) < needed) {
    const why = `the ramp's ${coinsMax} largest coins do not hold enough: consolidate them`;
    throw new DomainError("ramp.assets_insufficient", why);
  }
  if (price.gas === null) return;
  const gas = BigInt(means.gas_held) - BigInt(means.gas_flying);
  if (gas >= price.units + addressMinimum) return;
  throw lacksGas(price.gas.asset);
}

/**
 * Refuses a payment for whose fee the ramp's address holds too few coins.
 *
 * @param gas.units base units of the chain's own coin
 * @throws {DomainError} ramp.gas_insufficient
 */
export async function assertGas(
  db: Db,
  place: ChainNetwork,
  sender: string,
  gas: { code: string; units: bigint },
): Promise<void> {
  const held = await selectHeld(db, { ...place, address: sender, contract: "" });
  const flying = await sumInFlight(db, { ...place, sender, contract: "" }, {
    height: null,
    waiting: true,
  });
  const { addressMinimum = 0n } = chainInfo(place.chain);
  if (BigInt(held) - BigInt(flying) < gas.units + addressMinimum) throw lacksGas(gas.code);
}

function lacksGas(code: string): DomainError {
  const why = `the ramp's address does not hold enough ${code} for the fee`;
  return new DomainError("ramp.gas_insufficient", why);
}
