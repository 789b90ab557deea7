/** Statements on comparisons of what is on the chains with what the ledger owes. @module */
import type { Db, Tx } from "./database.ts";

/** The last comparison of a ramp; amounts in whole units of its asset. */
export interface SolvencyRow {
  ramp: string;
  asset: string;
  testnet: boolean;
  /** On the chain, at the height. */
  assets: string;
  height: number;
  /** In the ledger, up to the position. */
  liabilities: string;
  /** The last transaction that they include. */
  position: string;
  /** Left or arrived on one side and not yet booked on the other. */
  in_flight: string;
  drift: string;
  stopped: boolean;
  checked_at: number;
}

/** Whether a drift stops a ramp's withdrawals. */
export async function selectStopped(db: Db, ramp: string): Promise<boolean> {
  const [row] = await db<{ stopped: boolean }[]>`
    select stopped from solvency where ramp = ${ramp}`;
  return row?.stopped ?? false;
}

/** Keeps a comparison; tells whether its ramp was stopped before. */
export async function upsertSolvency(tx: Tx, row: SolvencyRow): Promise<boolean> {
  const before = await selectStopped(tx, row.ramp);
  await tx`
    insert into solvency ${tx({ ...row })}
    on conflict (ramp) do update set assets = excluded.assets, height = excluded.height,
      liabilities = excluded.liabilities, position = excluded.position,
      in_flight = excluded.in_flight, drift = excluded.drift, stopped = excluded.stopped,
      checked_at = excluded.checked_at`;
  return before;
}
