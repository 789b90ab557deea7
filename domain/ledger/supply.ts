/**
 * The supply of virtual currencies: value is issued from the account `world` and destroyed into it.
 * The supply of a currency that stands for a token never exceeds the token's.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import type { CurrencyRow } from "../../db/currencies/currencies.ts";
import type { Tx } from "../../db/database.ts";
import type { Posted } from "../../db/ledger/posting_protocol.ts";
import { selectTokenByCurrency } from "../../db/currencies/tokens.ts";
import type { Actor } from "../actor.ts";
import { DomainError } from "../errors.ts";
import { add, compare, trim } from "../money.ts";
import { counterparty, postMove } from "./posting.ts";

/**
 * Refuses to issue more of a token's currency than the token's supply. Withdrawn value is still
 * issued: it circulates on the chain, and may come back.
 *
 * @param more in whole units
 * @throws {DomainError} ramp.assets_insufficient
 */
export async function assertSupplyLaw(
  tx: Tx,
  currency: { id: string; supply: string },
  more: string,
): Promise<void> {
  const token = await selectTokenByCurrency(tx, currency.id);
  if (token === null) return;
  if (compare(add(currency.supply, more), token.supply) <= 0) return;
  const [exist, issued] = [trim(token.supply), trim(currency.supply)];
  const why = `only ${exist} of the token exist, and ${issued} are issued`;
  throw new DomainError("ramp.assets_insufficient", why);
}

/** An issue or a destruction of a currency's value. */
export interface SupplyChange {
  currency: Pick<CurrencyRow, "name" | "decimals">;
  /** The account that receives or loses the value. */
  account: string;
  operation: "issue" | "destroy";
  /** In whole units of the currency. */
  amount: string;
  seal?: Record<string, unknown>;
  data?: Record<string, unknown>;
}

/**
 * Posts an issue or a destruction against the account `world`. The ledger notes the new supply in
 * the currency's row itself. The transaction holds the ledger lock.
 *
 * @throws {DomainError} account.not_enabled, account.inactive, account.frozen, balance.insufficient
 */
export async function postSupply(
  tx: LedgerTx,
  actor: Actor,
  change: SupplyChange,
): Promise<Posted> {
  const { currency, account, operation, amount, seal, data } = change;
  const asset = { code: currency.name, decimals: currency.decimals, testnet: false };
  const world = await counterparty(tx, actor, "world", asset);
  const [source, destination] = operation === "issue" ? [world, account] : [account, world];
  return await postMove(tx, actor, { type: operation, source, destination, amount, seal, data });
}
