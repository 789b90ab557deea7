/** Statements on comparisons of what is on the chains with what the ledger owes. @module */
import type { Db, Tx } from "./database.ts";

/** An asset, as accounts are of it. */
export interface AssetName {
  asset: string;
  testnet: boolean;
}

/** The last comparison of an asset; amounts in whole units of it. */
export interface SolvencyRow extends AssetName {
  /** On the chain, at the height. */
  assets: string;
  height: number;
  /** Owed by the ledger, up to the position. */
  liabilities: string;
  fees: string;
  /** The last transaction that they include; null before the first. */
  position: string | null;
  /** On the chain and not credited yet. */
  pending: string;
  /** The most that orders on their way may have taken. */
  sending: string;
  drift: string;
  stopped: boolean;
  ramps: { ramp: string; assets: string; liabilities: string }[];
  checked_at: number;
}

const COLUMNS = [
  "asset",
  "testnet",
  "assets",
  "height",
  "liabilities",
  "fees",
  "position",
  "pending",
  "sending",
  "drift",
  "stopped",
  "ramps",
  "checked_at",
] as const;

/** Whether an asset's withdrawals are stopped. */
export async function selectStopped(db: Db, of: AssetName): Promise<boolean> {
  const [row] = await db<{ stopped: boolean }[]>`
    select stopped from solvency where asset = ${of.asset} and testnet = ${of.testnet}`;
  return row?.stopped ?? false;
}

/** Keeps a comparison. */
export async function upsertSolvency(tx: Tx, row: SolvencyRow): Promise<void> {
  await tx`
    insert into solvency ${tx({ ...row, ramps: tx.json(row.ramps as never) })}
    on conflict (asset, testnet) do update set assets = excluded.assets, height = excluded.height,
      liabilities = excluded.liabilities, fees = excluded.fees, position = excluded.position,
      pending = excluded.pending, sending = excluded.sending, drift = excluded.drift,
      stopped = excluded.stopped, ramps = excluded.ramps, checked_at = excluded.checked_at`;
}

/** Reads the last comparisons, of one asset or of all. */
export async function selectSolvency(db: Db, asset: string | null): Promise<SolvencyRow[]> {
  return await db<SolvencyRow[]>`
    select ${db(COLUMNS)} from solvency
    where ${asset}::text is null or asset = ${asset} order by asset, testnet`;
}

/** An asset that lies on a chain for us, and where. */
export interface RampedRow extends AssetName {
  chain: string;
  network: string;
  /** Of a token of the realm's own; null for an asset of the registry. */
  contract: string | null;
  decimals: number | null;
}

/** Lists the assets that have ramps, and the tokens that are kept at one. */
export async function selectRamped(db: Db): Promise<RampedRow[]> {
  return await db<RampedRow[]>`
    select a.asset, a.testnet, r.chain, r.network, null as contract, null::smallint as decimals
    from ramps r join accounts a on a.id = r.account
    union
    select symbol, false, chain, network, contract, decimals
    from fungible_tokens where status = 'registered'
    order by 1, 2`;
}

/** Lists the addresses of ours that hold an asset, with their ramps. */
export async function selectHolders(
  db: Db,
  of: AssetName,
): Promise<{ ramp: string; address: string }[]> {
  return await db<{ ramp: string; address: string }[]>`
    select d.ramp, d.address from addresses d join accounts a on a.id = d.ramp
    where a.asset = ${of.asset} and a.testnet = ${of.testnet}
    union all
    select d.ramp, d.address from fungible_tokens t join addresses d on d.account = t.account
    where t.symbol = ${of.asset} and t.status = 'registered' and not ${of.testnet}
    union all
    select d.ramp, d.address from fungible_tokens t
      join addresses d on d.ramp = t.account and d.asset = t.symbol
    where t.symbol = ${of.asset} and t.status = 'registered' and not ${of.testnet}
    order by 2`;
}

/** Adds up the confirmed coins of each ramp, in base units, as the scanner knows them. */
export async function sumCoins(
  db: Db,
  of: AssetName,
): Promise<{ ramp: string; units: string }[]> {
  return await db<{ ramp: string; units: string }[]>`
    select c.ramp, sum(c.amount)::text as units from coins c join accounts a on a.id = c.ramp
    where a.asset = ${of.asset} and a.testnet = ${of.testnet} and c.spent_by is null
      and c.height is not null
    group by c.ramp`;
}

/** What the ledger says of an asset at one moment. */
export interface LedgerFigures {
  liabilities: string;
  fees: string;
  position: string | null;
  /** Seen on the chain up to the height and not credited, less what is credited of later blocks. */
  pending: string;
  /** Credited for addresses that are only watched. */
  watched: string;
  /** Base units that orders on their way may have taken. */
  sending: string;
}

/** Reads what the ledger says of an asset, to be compared with the chain at a height. */
export async function selectFigures(
  tx: Tx,
  of: AssetName & { chain: string; network: string; contract: string; height: number },
): Promise<LedgerFigures> {
  const [row] = await tx<LedgerFigures[]>`
    select
      (select coalesce(sum(total), 0) from accounts
        where asset = ${of.asset} and testnet = ${of.testnet} and type <> 'system')::text
        as liabilities,
      (select coalesce(sum(total), 0) from accounts
        where asset = ${of.asset} and testnet = ${of.testnet} and system = 'fees')::text as fees,
      (select id from transactions order by id desc limit 1) as position,
      (select coalesce(sum(case
          when d.status = 'PENDING' and d.block <= ${of.height} then d.amount
          when d.status = 'CONFIRMED' and d.block > ${of.height} then -d.credited
          else 0 end), 0)
        from deposits d join addresses o using (chain, network, address)
        where d.chain = ${of.chain} and d.network = ${of.network} and d.asset = ${of.asset}
          and (d.status = 'PENDING' or d.block > ${of.height}))::text as pending,
      (select coalesce(sum(d.credited), 0) from deposits d
        where d.chain = ${of.chain} and d.network = ${of.network} and d.asset = ${of.asset}
          and d.status = 'CONFIRMED' and not exists (select 1 from addresses o
            where o.chain = d.chain and o.network = d.network and o.address = d.address))::text
        as watched,
      (select coalesce(sum(case when o.purpose in ('withdrawal', 'payout')
            and o.contract = ${of.contract}
            then o.amount else 0 end), 0)
          + coalesce(sum(case when coalesce(o.fee_contract, '') = ${of.contract}
            then o.fee else 0 end), 0)
        from orders o join accounts a on a.id = o.ramp
        where o.chain = ${of.chain} and o.network = ${of.network} and o.state in ('sent', 'mined')
          and (a.asset = ${of.asset} or ${of.contract} <> ''))::text as sending`;
  return row;
}

/** Adds up what is owed through each ramp of an asset. */
export async function sumLiabilities(
  db: Db,
  of: AssetName,
): Promise<{ ramp: string; total: string }[]> {
  return await db<{ ramp: string; total: string }[]>`
    select case when type = 'ramp' then id else ramp end as ramp, sum(total)::text as total
    from accounts where asset = ${of.asset} and testnet = ${of.testnet}
      and (type = 'ramp' or ramp is not null)
    group by 1`;
}
