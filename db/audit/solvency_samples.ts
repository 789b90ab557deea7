/** Statements on samples of the comparisons of chains with the ledger. @module */
import type { Db, Tx } from "../database.ts";
import type { AssetName, SolvencyRow } from "./solvency.ts";

/** What is kept of a comparison; amounts in whole units of the asset. */
export type SolvencySampleRow = Pick<
  SolvencyRow,
  | "assets"
  | "liabilities"
  | "fees"
  | "pending"
  | "sending"
  | "drift"
  | "solvent"
  | "height"
  | "checked_at"
>;

/** Keeps a comparison as a sample; one of an hour (UTC) is marked. */
export async function insertSolvencySample(tx: Tx, row: SolvencyRow): Promise<void> {
  await tx`
    insert into solvency_samples (asset, testnet, checked_at, hourly, assets, liabilities, fees, pending, sending,
      drift, solvent, height, position)
    select ${row.asset}, ${row.testnet}, ${row.checked_at}, (select true from solvency_samples s
        where s.asset = ${row.asset} and s.testnet = ${row.testnet} and s.checked_at >= h.hour
          and s.checked_at < h.hour + interval '1 hour' limit 1) is null,
      ${row.assets}, ${row.liabilities}, ${row.fees}, ${row.pending}, ${row.sending}, ${row.drift}, ${row.solvent},
      ${row.height}, ${row.position}
    from (select date_trunc('hour', ${row.checked_at}::timestamptz, 'UTC') as hour) h
    on conflict do nothing`;
}

/**
 * Reads the last sample of an asset at each of some moments, in their order: one statement, a look-up for each. There is
 * none where that sample is the one of the moment before.
 */
export async function selectSolvencySamples(
  db: Db,
  of: AssetName,
  moments: readonly number[],
): Promise<SolvencySampleRow[]> {
  return await db<SolvencySampleRow[]>`
    select distinct on (s.checked_at) s.assets, s.liabilities, s.fees, s.pending, s.sending, s.drift, s.solvent,
      s.height, s.checked_at
    from unnest(${`{${moments.join(",")}}`}::text::bigint[]) m(ms)
    cross join lateral (select x.* from solvency_samples x
      where x.asset = ${of.asset} and x.testnet = ${of.testnet} and x.checked_at <= ms_time(m.ms)
        and x.checked_at >= ms_time(${moments[0]}::bigint)
      order by x.checked_at desc limit 1) s
    order by s.checked_at`;
}

/** Deletes some samples after their time; gives their number. */
export async function deleteOldSamples(db: Db, limit: number): Promise<number> {
  const most = await db`
    delete from solvency_samples where ctid = any(array(select ctid from solvency_samples
      where not hourly and checked_at < now() - interval '30 days' limit ${limit}))`;
  const hourly = await db`
    delete from solvency_samples where ctid = any(array(select ctid from solvency_samples
      where hourly and checked_at < now() - interval '2 years' limit ${limit}))`;
  return most.count + hourly.count;
}
