/**
 * The balance of an account over time: at evenly spaced moments, each found as a single past balance is. None of them
 * ever changes afterwards.
 * @module
 */
import { z } from "zod";
import type { AccountRow } from "../../db/accounts/accounts.ts";
import type { Db } from "../../db/database.ts";
import { closePast, selectOpening, selectPastBalances } from "../../db/ledger/entries.ts";
import { findAccount } from "../accounts/accounts.ts";
import type { Actor } from "../actor.ts";
import { invalidQuery } from "../collections/filter.ts";
import { assertOrder, momentsOf, Points, Until } from "../collections/moments.ts";
import { Timestamp } from "../entity.ts";
import { idBound } from "../ids.ts";
import { DecimalText } from "../money.ts";
import { archived, viewPast } from "./entries.ts";

/** The moments of a balance over time. */
export const BalancesOf = z.strictObject({
  from: Timestamp.optional().meta({
    description:
      "Milliseconds since the epoch, included; unless given, when the account was made, " +
      "or the end of what is archived of it.",
  }),
  to: Until,
  points: Points,
});
/** The moments of a balance over time. */
export type BalancesOf = z.infer<typeof BalancesOf>;

/** A balance over time as shown. */
export const BalancesView = z.object({
  account: z.string(),
  asset: z.string(),
  from: z.number().int(),
  to: z.number().int(),
  points: z.array(z.object({
    at: z.number().int(),
    total: DecimalText,
    available: DecimalText,
    linked: DecimalText.optional(),
  })),
}).meta({ id: "Balances" });

/** A balance over time whose moments are fixed: the past is closed up to the last. */
export interface BalancesPlan {
  account: AccountRow;
  from: number;
  to: number;
  moments: readonly number[];
}

/**
 * Fixes the moments of a balance over time. What is asked of the future ends with the present.
 *
 * @throws {DomainError} account.not_found, query.invalid
 */
export async function openBalances(
  db: Db,
  actor: Actor,
  input: BalancesOf & { account: string },
): Promise<BalancesPlan> {
  const account = await findAccount(db, actor, input.account);
  assertOrder(input);
  const to = await closePast(db, input.to ?? null);
  if (input.from !== undefined && input.from > to) {
    throw invalidQuery("/from", "a time that has passed is expected");
  }
  const opening = await selectOpening(db, account.id);
  const from = input.from ?? Math.min(Math.max(account.created_at, opening?.ms ?? 0), to);
  return { account, from, to, moments: momentsOf(from, to, input.points) };
}

/** Shows the balance of an account over time. @throws {DomainError} time.archived */
export async function balancesOver(
  db: Db,
  { account, from, to, moments }: BalancesPlan,
): Promise<z.infer<typeof BalancesView>> {
  const bounds = moments.map((ms) => ({ ms, bound: idBound(ms) }));
  const rows = await selectPastBalances(db, account.id, bounds);
  const points = rows.map((row, i) => {
    if (row === null) throw archived();
    return { at: moments[i], ...viewPast(account, row) };
  });
  return { account: account.id, asset: account.asset, from, to, points };
}
