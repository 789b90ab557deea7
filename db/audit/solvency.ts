/** Statements on comparisons of the chains' balances with the ledger's liabilities. @module */
import type { Db, Tx } from "../database.ts";

/** An asset and its network, as accounts name them. */
export interface AssetName {
  asset: string;
  testnet: boolean;
}

/** The last comparison of an asset; amounts in whole units of it. */
export interface SolvencyRow extends AssetName {
  /** Balance on the chain, at the height. */
  assets: string;
  height: number;
  /** Owed to accounts up to the position, without payments on their way. */
  liabilities: string;
  fees: string;
  /** The last transaction that they include; null before the first. */
  position: string | null;
  /** On the chain and not credited yet. */
  pending: string;
  /**
   * Set aside for orders that may have been broadcast and are in no chain block up to the height.
   */
  sending: string;
  drift: string;
  solvent: boolean;
  stopped: boolean;
  /** Whether bookings waited for a reconciliation or a rescan when the figures were read. */
  provisional: boolean;
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
  "solvent",
  "stopped",
  "provisional",
  "ramps",
  "checked_at",
] as const;

/** Whether an asset's withdrawals are stopped. */
export async function selectStopped(db: Db, of: AssetName): Promise<boolean> {
  const [row] = await db<{ stopped: boolean }[]>`
    select stopped from solvency where asset = ${of.asset} and testnet = ${of.testnet}`;
  return row?.stopped ?? false;
}

/** The parts of a comparison that are reported. */
export type Verdict = Pick<SolvencyRow, "drift" | "solvent" | "stopped">;

/** Reads the verdict of the last comparison of an asset; null before the first. */
export async function selectVerdict(db: Db, of: AssetName): Promise<Verdict | null> {
  const [row] = await db<Verdict[]>`
    select drift, solvent, stopped from solvency
    where asset = ${of.asset} and testnet = ${of.testnet}`;
  return row ?? null;
}

/** Stores a comparison. */
export async function upsertSolvency(tx: Tx, row: SolvencyRow): Promise<void> {
  await tx`
    insert into solvency ${tx({ ...row, ramps: tx.json(row.ramps as never) })}
    on conflict (asset, testnet) do update set assets = excluded.assets, height = excluded.height,
      liabilities = excluded.liabilities, fees = excluded.fees, position = excluded.position,
      pending = excluded.pending, sending = excluded.sending, drift = excluded.drift,
      solvent = excluded.solvent, stopped = excluded.stopped, provisional = excluded.provisional, ramps = excluded.ramps, checked_at = excluded.checked_at`;
}

/** Reads the last comparisons, of one asset or of all. */
export async function selectSolvency(db: Db, asset: string | null): Promise<SolvencyRow[]> {
  return await db<SolvencyRow[]>`
    select ${db(COLUMNS)} from solvency
    where ${asset}::text is null or asset = ${asset} order by asset, testnet`;
}

/** An asset of the realm's ramps, with its chain and network. */
export interface RampedRow extends AssetName {
  chain: string;
  network: string;
  /** Of a token of the realm's own; null for an asset of the registry. */
  contract: string | null;
  decimals: number | null;
}

/** Lists the assets that have ramps, and the tokens whose value lies at a ramp. */
export async function selectRamped(db: Db): Promise<RampedRow[]> {
  return await db<RampedRow[]>`
    select a.asset, a.testnet, r.chain, r.network, null as contract, null::smallint as decimals
    from ramps r, lateral (select * from accounts a where a.id = r.account offset 0) a
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

/** An asset on its chain at a height; contract '' is the chain's own coin. */
export interface Compared extends AssetName {
  chain: string;
  network: string;
  contract: string;
  height: number;
}

/** The ledger's figures of an asset at one moment, in whole units. */
export interface LedgerFigures {
  /**
   * Owed to all accounts but system accounts, without linked value, which the realm does not hold.
   */
  owed: string;
  fees: string;
  position: string | null;
  /** Seen on the chain up to the height and not credited, less credited deposits of later blocks. */
  pending: string;
  /** Cost of a hundred payments at the present fee quote, in base units; 0 if another coin pays. */
  leeway: string;
  /** Whether bookings wait for a reconciliation or a rescan. */
  provisional: boolean;
}

/** Reads the ledger's figures of an asset, to be compared with the chain at a height. */
export async function selectFigures(tx: Tx, of: Compared): Promise<LedgerFigures> {
  const [row] = await tx<LedgerFigures[]>`
    select
      (select coalesce(sum(total - linked), 0) from accounts
        where asset = ${of.asset} and testnet = ${of.testnet} and type <> 'system')::text as owed,
      (select coalesce(sum(total), 0) from accounts
        where asset = ${of.asset} and testnet = ${of.testnet} and system = 'fees')::text as fees,
      (select id from transactions order by id desc limit 1) as position,
      (select coalesce(sum(d.owed), 0) from (
          select chain, network, address, amount as owed from deposits
          where chain = ${of.chain} and network = ${of.network} and asset = ${of.asset}
            and status = 'PENDING' and block <= ${of.height}
          union all
          select chain, network, address, -credited from deposits
          where chain = ${of.chain} and network = ${of.network} and asset = ${of.asset}
            and status = 'CONFIRMED' and block > ${of.height}) d
        where exists (select from addresses o where o.chain = d.chain and o.network = d.network
          and o.address = d.address offset 0))::text as pending,
      (select coalesce(sum(trunc(100 * (base + per_input + per_payment))), 0) from fee_quotes
        where chain = ${of.chain} and network = ${of.network} and contract = ${of.contract}
          and speed = 'medium' and coalesce(fee_contract, '') = contract)::text as leeway,
      is_provisional(${of.asset}, ${of.testnet}) as provisional`;
  return row;
}

/**
 * An order that may have been broadcast, or that was booked above the height; amounts in base
 * units.
 */
export interface FlightRow {
  id: string;
  state: "sent" | "mined" | "done" | "failed" | "dropped" | "canceled";
  since: number | null;
  /** Height of the chain block with its transaction; null if none is known. */
  height: number | null;
  /** Amount that it pays to addresses of others. */
  amount: string;
  /**
   * The highest fee that the chain can take; once the transaction is in a block, the fee itself less what
   * the block gave back.
   */
  fee: string;
  /** Amount charged to the users whose value it pays out or carries. */
  charged: string;
}

/**
 * Lists the orders whose effect on an asset is not the same in the ledger and on the chain at a
 * height: those that may have been broadcast and are not booked, and those that are booked and lie
 * above. For coins the scanned chain blocks count, not answers of nodes.
 */
export async function selectFlights(
  tx: Tx,
  of: Compared & { decimals: number; limit: number },
): Promise<FlightRow[]> {
  const contract = of.contract;
  return await tx<FlightRow[]>`
    with flying as (
      select o.id, o.state, o.since, o.purpose, o.amount, o.fee, o.contract, o.fee_contract, o.ramp,
        o.height, o.batch_order_id, o.gas_block, o.refund from chain_orders o
      where o.chain = ${of.chain} and o.network = ${of.network} and o.state in ('sent', 'mined')
      union all
      select o.id, o.state, o.since, o.purpose, o.amount, o.fee, o.contract, o.fee_contract, o.ramp,
        o.height, o.batch_order_id, o.gas_block, o.refund from chain_orders o
      where o.chain = ${of.chain} and o.network = ${of.network} and o.height > ${of.height}
        and o.state in ('done', 'failed', 'dropped', 'canceled'))
    select o.id, o.state, o.since,
      case when k.coins and o.state in ('sent', 'mined') then t.height else o.height end::integer
        as height,
      (case when o.purpose in ('withdrawal', 'batch') and o.contract = ${contract}
        then coalesce(o.amount, 0) else 0 end)::text as amount,
      (case when q.own then coalesce(t.fee, o.fee, 0) - o.refund else 0 end)::text as fee,
      trunc(case when g.held is not null then least(g.held, coalesce(t.fee, o.fee, 0))
        when o.contract <> ${contract} then 0
        when o.purpose = 'sweep' and q.own then coalesce(t.fee, o.fee, 0)
        else coalesce((select sum(w.charged) from withdrawals w where w.order_id in
          (select o.id union all select m.id from chain_orders m where m.batch_order_id = o.id)), 0)
          * ('1' || repeat('0', ${of.decimals}::integer))::numeric end)::text as charged
    from flying o join accounts a on a.id = o.ramp
      cross join lateral (select exists (select from reserved_inputs c where c.order_id = o.id
        and c.input ~ '^[0-9a-f]{64}:') as coins) k
      left join lateral (select c.consumed_height as height, s.fee from reserved_inputs c
        join order_attempts s on s.order_id = c.order_id and s.hash = c.consumed_by
        where k.coins and c.order_id = o.id and c.consumed_height <= ${of.height}
        order by c.input limit 1) t on true
      cross join lateral (select coalesce(o.fee_contract, '') = ${contract} as own) q
      left join lateral (select b.amount * ('1' || repeat('0', ${of.decimals}::integer))::numeric
          as held from blocks b
        where b.id = o.gas_block and b.status = 'OPEN' and q.own and ${contract} = '') g on true
    where o.batch_order_id is null and (a.asset = ${of.asset} or ${contract} <> '')
      and (o.contract = ${contract} or q.own)
    order by o.id limit ${of.limit}`;
}

/** A token deposit as its log states it; amount in whole units. */
export interface UnprovenRow {
  hash: string;
  index: number;
  address: string;
  amount: string;
  block: number;
  block_hash: string;
  sender: string | null;
}

/** Reads the pending deposits that a comparison counts, at most `limit`. */
export async function selectUnproven(
  db: Db,
  of: Compared,
  limit: number,
): Promise<UnprovenRow[]> {
  return await db<UnprovenRow[]>`
    select d.hash, d.index, d.address, d.amount::text as amount, d.block::integer as block,
      d.block_hash, d.sender
    from deposits d, lateral (select chain, network from addresses
      where address = d.address offset 0) o
    where (o.chain, o.network) = (d.chain, d.network) and d.chain = ${of.chain} and d.network = ${of.network} and d.asset = ${of.asset}
      and d.status = 'PENDING' and d.block <= ${of.height} order by d.id limit ${limit}`;
}

/** A sweep that may be in a block and is not booked; amount in base units. */
export interface UnbookedSweep {
  order: string;
  hash: string | null;
  height: number | null;
  amount: string;
  from: string;
  to: string;
}

/** Reads a token's sweeps whose transfer fee is not booked yet, at most `limit`. */
export async function selectUnbooked(
  db: Db,
  of: Compared,
  limit: number,
): Promise<UnbookedSweep[]> {
  return await db<UnbookedSweep[]>`
    select o.id as "order", o.hash, o.height, o.amount::text as amount, o.sender as "from",
      o.request -> 'payments' -> 0 ->> 'to' as "to"
    from sweeps s join chain_orders o on o.id = s.order_id
    where s.chain = ${of.chain} and s.network = ${of.network} and s.state = 'sweeping' and o.chain = ${of.chain} and o.network = ${of.network}
      and o.contract = ${of.contract} and o.state in ('sent', 'mined', 'done')
      and o.amount is not null order by o.id limit ${limit}`;
}

/** Sums the liabilities of each ramp of an asset. */
export async function sumLiabilities(
  db: Db,
  of: AssetName,
): Promise<{ ramp: string; total: string }[]> {
  return await db<{ ramp: string; total: string }[]>`
    select case when type = 'ramp' then id else ramp end as ramp,
      sum(total - linked)::text as total
    from accounts where asset = ${of.asset} and testnet = ${of.testnet}
      and (type = 'ramp' or ramp is not null)
    group by 1`;
}

/** The house's loss in an asset, in whole units; 0 or below if there is none. */
export async function selectLoss(tx: Tx, of: AssetName): Promise<string> {
  const [row] = await tx<{ loss: string }[]>`
    select coalesce(-sum(total), 0)::text as loss from accounts
    where asset = ${of.asset} and testnet = ${of.testnet} and type = 'system' and system = 'fees'`;
  return row.loss;
}

/**
 * Whether owner and holder of an account are at present users with write permission for the whole
 * realm. Deactivated and deleted users do not count.
 */
export async function isHouseAccount(db: Db, account: string): Promise<boolean> {
  const rows = await db`
    select a.id from accounts a join users o on o.id = a.owner join users h on h.identity = a.holder
    where a.id = ${account} and a.type in ('ramp', 'virtual')
      and 'manage' = any (o.roles) and 'realm' = any (o.scopes)
      and 'manage' = any (h.roles) and 'realm' = any (h.scopes)
      and o.active and o.deleted_at is null and h.active and h.deleted_at is null`;
  return rows.length > 0;
}
