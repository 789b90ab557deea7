/** Statements on samples of how far chains are scanned. @module */
import type { Db } from "../database.ts";
import type { NetworkKey } from "./cursors.ts";

/** How far a network was scanned at a moment. */
export interface ChainSampleRow {
  sampled_at: number;
  /** The newest block that the node had shown. */
  height: number;
  scanned: number;
  scanned_at: number;
  healthy: boolean;
}

/** Keeps a sample of each network; one of an hour (UTC) is marked. */
export async function insertChainSamples(db: Db, at: number): Promise<void> {
  await db`
    insert into chain_samples (chain, network, sampled_at, hourly, height, scanned, scanned_at, healthy)
    select c.chain, c.network, ${at}::timestamptz, (select true from chain_samples s
        where s.chain = c.chain and s.network = c.network and s.sampled_at >= h.hour
          and s.sampled_at < h.hour + interval '1 hour' limit 1) is null,
      c.head, c.height, c.scanned_at,
      c.error is null and c.warning is null and c.halted is null and not exists (select from ramps r
        where r.chain = c.chain and r.network = c.network and r.quarantined is not null)
    from chain_cursors c, (select date_trunc('hour', ${at}::timestamptz, 'UTC') as hour) h
    on conflict do nothing`;
}

/**
 * Reads the last sample of a network at each of some moments, in their order: one statement, a look-up for each. There is
 * none where that sample is the one of the moment before.
 */
export async function selectChainSamples(
  db: Db,
  of: NetworkKey,
  moments: readonly number[],
): Promise<ChainSampleRow[]> {
  return await db<ChainSampleRow[]>`
    select distinct on (s.sampled_at) s.sampled_at, s.height::float8 as height, s.scanned::float8 as scanned,
      s.scanned_at, s.healthy
    from unnest(${`{${moments.join(",")}}`}::text::bigint[]) m(ms)
    cross join lateral (select x.* from chain_samples x
      where x.chain = ${of.chain} and x.network = ${of.network} and x.sampled_at <= ms_time(m.ms)
        and x.sampled_at >= ms_time(${moments[0]}::bigint)
      order by x.sampled_at desc limit 1) s
    order by s.sampled_at`;
}

/** Deletes some samples after their time; gives their number. */
export async function deleteOldChainSamples(db: Db, limit: number): Promise<number> {
  const most = await db`
    delete from chain_samples where ctid = any(array(select ctid from chain_samples
      where not hourly and sampled_at < now() - interval '30 days' limit ${limit}))`;
  const hourly = await db`
    delete from chain_samples where ctid = any(array(select ctid from chain_samples
      where hourly and sampled_at < now() - interval '2 years' limit ${limit}))`;
  return most.count + hourly.count;
}
