/**
 * The supply of a currency that stands for a token: never more is issued than there is of the token.
 * @module
 */
import type { Tx } from "../../db/database.ts";
import { selectTokenByCurrency } from "../../db/currencies/tokens.ts";
import { DomainError } from "../errors.ts";
import { add, compare, trim } from "../money.ts";

/**
 * Refuses to issue more of a token's currency than there is of the token. What was withdrawn is
 * still issued: it circulates on the chain, and may come back.
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
