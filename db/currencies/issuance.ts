/** Statements that change virtual currencies. @module */
import { COLUMNS, type CurrencyRow } from "./currencies.ts";
import type { Tx } from "../database.ts";

/** A change of a currency; an undefined field stays as it is. */
export interface CurrencyPatch {
  id: string;
  rate?: string | null;
  base?: string | null;
  symbol?: string | null;
  symbol_url?: string | null;
  sub_unit?: string[] | null;
  data?: Record<string, unknown>;
}

/** Changes a currency. */
export async function updateCurrency(
  tx: Tx,
  patch: CurrencyPatch,
  at: number,
): Promise<CurrencyRow> {
  const keep = (value: unknown) => value === undefined;
  const data = patch.data === undefined ? null : JSON.stringify(patch.data);
  const [row] = await tx<CurrencyRow[]>`
    update currencies set updated_at = ${at},
      rate = case when ${keep(patch.rate)} then rate else ${patch.rate ?? null}::numeric end,
      base = case when ${keep(patch.base)} then base else ${patch.base ?? null} end,
      symbol = case when ${keep(patch.symbol)} then symbol else ${patch.symbol ?? null} end,
      symbol_url = case when ${keep(patch.symbol_url)} then symbol_url
        else ${patch.symbol_url ?? null} end,
      sub_unit = case when ${keep(patch.sub_unit)} then sub_unit
        else ${patch.sub_unit ?? null}::text[] end,
      data = coalesce(${data}::text::jsonb, data)
    where id = ${patch.id} returning ${tx(COLUMNS)}`;
  return row;
}

/** Records the time of the last issue or destruction; the ledger records the supply. */
export async function markIssued(tx: Tx, id: string, at: number): Promise<CurrencyRow> {
  const [row] = await tx<CurrencyRow[]>`
    update currencies set updated_at = ${at} where id = ${id} returning ${tx(COLUMNS)}`;
  return row;
}
