/** Statements on what is missing on a chain and is booked as a loss of the house. @module */
import type { Tx } from "../database.ts";
import type { AssetName } from "./solvency.ts";

/** What the last comparison of an asset found missing; amounts in whole units. */
export interface MissingRow {
  /** Null before the first comparison. */
  drift: string | null;
  height: number;
  /** The last transaction that the comparison included. */
  position: string | null;
  /** Missing in every comparison of an hour, and not written off yet; null before the first comparison. */
  amount: string;
  /** Whether the comparison is of the last minutes. */
  fresh: boolean;
  /** Whether bookings wait for a reconciliation or a rescan, or did when the comparison read its figures. */
  provisional: boolean;
  /** Of the asset's accounts; null where there is none. */
  decimals: number | null;
}

/** Reads what of an asset may be written off, as the database bounds it. */
export async function selectMissing(tx: Tx, of: AssetName): Promise<MissingRow> {
  const [row] = await tx<MissingRow[]>`
    select m.drift::text as drift, m.height, m.position, m.amount::text as amount, m.fresh, m.provisional,
      (select a.decimals from accounts a where a.type = 'system' and a.asset = ${of.asset}
        and a.testnet = ${of.testnet} and a.system = 'world') as decimals
    from missing_of(${of.asset}, ${of.testnet}) m`;
  return row;
}
