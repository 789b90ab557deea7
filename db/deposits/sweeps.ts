/** Statements on sweeps. @module */
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";
import type { OrderRow } from "../sending/chain_orders.ts";

/** A sweep as stored; amounts in whole units, the fee in the coin that paid it. */
export interface SweepRow extends NetworkKey {
  id: string;
  account: string;
  ramp: string;
  state: "new" | "waiting" | "topping" | "topped" | "sweeping" | "done" | "failed";
  /** The amount that left the deposit address. */
  amount: string | null;
  /** The amount that reached the ramp: less if the token keeps a part. */
  arrived: string | null;
  fee: string | null;
  /** The amount that it took before it was credited; booked when it is. */
  ahead: string;
  /**
   * The part of its fee that `fees` bore because nothing was credited yet: given back on credit.
   */
  borne: string;
  gas_order: string | null;
  order_id: string | null;
  hash: string | null;
  /** Whether it books a transaction beside the account's open sweep. */
  beside: boolean;
  error: unknown;
  updated_at: number | null;
  created_at: number;
}

/** A change of a sweep. */
export type SweepChange = Partial<
  Pick<
    SweepRow,
    | "state"
    | "amount"
    | "arrived"
    | "fee"
    | "ahead"
    | "borne"
    | "gas_order"
    | "order_id"
    | "hash"
    | "error"
  >
>;

const COLUMNS = [
  "id",
  "account",
  "ramp",
  "chain",
  "network",
  "state",
  "amount",
  "arrived",
  "fee",
  "ahead",
  "borne",
  "gas_order",
  "order_id",
  "hash",
  "beside",
  "error",
  "updated_at",
  "created_at",
] as const;

/** Locks the open sweep of an account, or creates one. */
export async function lockOpenSweep(
  tx: Tx,
  sweep: NetworkKey & { id: string; account: string; ramp: string; created_at: number },
): Promise<SweepRow> {
  const [open] = await tx<SweepRow[]>`
    select ${tx(COLUMNS)} from sweeps
    where account = ${sweep.account} and state not in ('done', 'failed') and not beside for update`;
  if (open !== undefined) return open;
  const [made] = await tx<SweepRow[]>`insert into sweeps ${tx(sweep)} returning ${tx(COLUMNS)}`;
  return made;
}

/** Adds a sweep for a transaction that was found, beside the open one of its account: that one's transaction was sent too. */
export async function insertBeside(
  tx: Tx,
  sweep: Parameters<typeof lockOpenSweep>[1],
): Promise<SweepRow> {
  const [made] = await tx<SweepRow[]>`
    insert into sweeps ${tx({ ...sweep, beside: true, state: "sweeping" })} returning ${
    tx(COLUMNS)
  }`;
  return made;
}

/** Locks a sweep. */
export async function lockSweep(tx: Tx, id: string): Promise<SweepRow | null> {
  const [row] = await tx<SweepRow[]>`
    select ${tx(COLUMNS)} from sweeps where id = ${id} for update`;
  return row ?? null;
}

/** Locks an account's ended sweeps that took value that was not credited yet. What one in flight carries is not known. */
export async function lockAhead(tx: Tx, account: string): Promise<SweepRow[]> {
  return await tx<SweepRow[]>`
    select ${tx(COLUMNS)} from sweeps
    where account = ${account} and (ahead > 0 or borne > 0) and state in ('done', 'failed')
    order by id for update`;
}

/** Reads several sweeps. */
export async function selectSweeps(db: Db, ids: readonly string[]): Promise<SweepRow[]> {
  return await db<SweepRow[]>`
    select ${db(COLUMNS)} from sweeps where id = any (${`{${ids.join(",")}}`}::text::uuid[])`;
}

/** Changes a sweep. */
export async function updateSweep(tx: Tx, id: string, change: SweepChange): Promise<SweepRow> {
  const { error } = change;
  const fields = error ? { ...change, error: tx.json(error as never) } : change;
  const [row] = await tx<SweepRow[]>`
    update sweeps set ${tx(fields as never)}, updated_at = now() where id = ${id}
    returning ${tx(COLUMNS)}`;
  return row;
}

/**
 * Marks a sweep as failed, with the reason.
 *
 * @param struck whether the chain took a fee for it; such failures count until a sweep of the account succeeds
 */
export async function markSweepFailed(
  tx: Tx,
  id: string,
  { error, struck }: { error: unknown; struck: boolean },
): Promise<void> {
  await tx`
    update sweeps s set state = 'failed', error = ${tx.json(error as never)}, updated_at = now(),
      strikes = ${struck ? 1 : 0} + coalesce((select e.strikes from sweeps e
        where e.account = s.account and e.state in ('done', 'failed') and e.id <> s.id
        order by e.id desc limit 1), 0)
    where id = ${id}`;
}

/** After this many paid failures in a row, only a further credit begins another sweep. */
const STRIKES_MAX = 8;

/** Whether an account's sweeps pause after failures that cost a fee. */
export async function selectResting(db: Db, account: string): Promise<boolean> {
  const [row] = await db<{ resting: boolean }[]>`
    select strikes > 0 and (updated_at + least(interval '7 days',
        interval '10 minutes' * power(6, least(strikes, 5) - 1)) > now()
      or (strikes >= ${STRIKES_MAX} and not exists (select 1 from deposits d
        where d.account = s.account and d.status = 'CONFIRMED' and d.transaction > s.id)))
      as resting
    from sweeps s where account = ${account} and state in ('done', 'failed')
    order by id desc limit 1`;
  return row?.resting ?? false;
}

/** Assigns an account's credited deposits without a sweep to a sweep, and gives their ids. */
export async function joinSweep(tx: Tx, account: string, sweep: string): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    update deposits set sweep = ${sweep}
    where account = ${account} and status = 'CONFIRMED' and sweep is null returning id`;
  return rows.map((row) => row.id);
}

/** Assigns the deposits of an account's open sweep to the one beside it that carried them. */
export async function takeOverDeposits(
  tx: Tx,
  { id, account }: Pick<SweepRow, "id" | "account">,
): Promise<void> {
  await tx`
    update deposits set sweep = ${id} where account = ${account} and status = 'CONFIRMED' and sweep in (
      select o.id from sweeps o
      where o.account = ${account} and o.state not in ('done', 'failed') and not o.beside)`;
}

/** Removes the deposits of a failed sweep from it; another sweep takes them. */
export async function leaveSweep(tx: Tx, sweep: string): Promise<void> {
  await tx`update deposits set sweep = null, updated_at = now() where sweep = ${sweep}`;
}

/**
 * Lists deposit accounts of a network whose sweep waits, or whose job was lost. Those with deposits that are in no sweep are
 * found one after the other by their index: what came to a ramp's own address is never swept, and stays in it.
 */
export async function selectForgotten(
  db: Db,
  place: NetworkKey,
  of: { seconds: number; limit: number },
): Promise<string[]> {
  const rows = await db<{ account: string }[]>`
    with recursive unswept (account) as (
      (select account from deposits where status = 'CONFIRMED' and sweep is null order by account limit 1)
      union all
      select n.account from unswept u cross join lateral (
        select account from deposits where status = 'CONFIRMED' and sweep is null and account > u.account
        order by account limit 1) n
    )
    select w.account from (
      select s.account, coalesce(s.updated_at, s.created_at) as since from sweeps s
      where s.chain = ${place.chain} and s.network = ${place.network}
        and s.state in ('new', 'waiting', 'topped')
      union all
      select a.id, d.updated_at from unswept u
        cross join lateral (select id from accounts where id = u.account and type = 'deposit' and total > 0 offset 0) a
        cross join lateral (select updated_at, chain, network from deposits
          where account = a.id and status = 'CONFIRMED' and sweep is null offset 0) d
      where d.chain = ${place.chain} and d.network = ${place.network}) w
    where w.since < now() - make_interval(secs => ${of.seconds})
    group by w.account order by min(w.since) limit ${of.limit}`;
  return rows.map((row) => row.account);
}

/** Lists sweeps of a network that ended on the chain and whose settlement job was lost. */
export async function selectUnsettled(
  db: Db,
  place: NetworkKey,
  of: { seconds: number; limit: number },
): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select s.id from sweeps s join chain_orders o on o.id = s.order_id
    where s.chain = ${place.chain} and s.network = ${place.network} and s.state = 'sweeping'
      and o.state = 'done' and o.updated_at < now() - make_interval(secs => ${of.seconds})
    limit ${of.limit}`;
  return rows.map((row) => row.id);
}

/** The transaction of an ended sweep, and its addresses. */
export interface SweptRow extends NetworkKey {
  hash: string;
  contract: string;
  from_address: string;
  to_address: string;
}

/** Reads a token's sweep that is to be measured; null if none waits for settlement. */
export async function selectSweptOrder(db: Db, sweep: string): Promise<SweptRow | null> {
  const [row] = await db<SweptRow[]>`
    select s.chain, s.network, o.hash, o.contract, d.address as from_address,
      r.address as to_address
    from sweeps s join chain_orders o on o.id = s.order_id join addresses d on d.account = s.account
      join addresses r on r.account = s.ramp
    where s.id = ${sweep} and s.state = 'sweeping' and o.state = 'done'`;
  return row ?? null;
}

/**
 * Adds up the gas sent ahead to a sweep's address, less the fees of its other sweeps, in base units. Beside an open sweep
 * it is the gas of that one too.
 */
export async function selectGasAhead(
  tx: Tx,
  { id, reference_id, sender, chain, network }: OrderRow,
): Promise<string> {
  const [row] = await tx<{ units: string }[]>`
    select greatest(0, (select coalesce(sum(g.amount), 0) from chain_orders g
        where g.purpose = 'gas' and g.state = 'done' and g.reference_id in (
          select e.id from sweeps s, sweeps e where s.id = ${reference_id} and e.account = s.account
            and e.state in ('done', 'failed')
          union all select e.id from sweeps s, sweeps e where s.id = ${reference_id} and e.account = s.account
            and e.state not in ('done', 'failed') and not e.beside))
      - (select coalesce(sum(o.fee), 0) from chain_orders o
        where (o.chain, o.network, o.sender) = (${chain}, ${network}, ${sender})
          and o.purpose = 'sweep' and o.nonce is not null and o.height is not null
          and o.fee_contract is null and o.id <> ${id}))::text as units`;
  return row.units;
}

/** Defers waiting sweeps, so that the ones behind them have their turn. */
export async function touchSweeps(
  tx: Tx,
  { chain, network }: NetworkKey,
  accounts: readonly string[],
): Promise<void> {
  const ids = `{${accounts.join(",")}}`;
  await tx`
    update sweeps set updated_at = now() where id = any (array(
      select s.id from unnest(${ids}::text::uuid[]) g, lateral (select id, chain, network, state from sweeps
        where account = g and state not in ('done', 'failed') and not beside order by account offset 0) s
      where s.chain = ${chain} and s.network = ${network} and s.state in ('new', 'waiting', 'topped')))
      and case when state in ('new', 'waiting', 'topped') then true end`;
  await tx`
    update deposits set updated_at = now()
    where status = 'CONFIRMED' and sweep is null and account = any (${ids}::text::uuid[])`;
}

/** A deposit account that can be swept: its balance in the ledger and the two addresses. */
export interface SweepableRow extends NetworkKey {
  account: string;
  ramp: string;
  target_account: string | null;
  asset: string;
  decimals: number;
  testnet: boolean;
  /** Contract of a token of the realm's own; null for an asset of the registry. */
  token: string | null;
  /** Whole units in the ledger. */
  free: string;
  /** A part was carried to the ramp before it was credited. */
  owing: boolean;
  /** The chain took a fee for a sweep of it that moved nothing, at any time. */
  struck: boolean;
  /** Its last sweep was signed and failed, or expired. */
  failed_last: boolean;
  from_address: string;
  to_address: string;
}

/** Reads the inputs of a sweep of an account; null if it is no deposit account. */
export async function selectSweepable(db: Db, account: string): Promise<SweepableRow | null> {
  const [row] = await db<SweepableRow[]>`
    select a.id as account, d.ramp, d.target_account, d.chain, d.network, a.asset, a.decimals, a.testnet,
      t.contract as token, a.total as free, d.address as from_address, r.address as to_address,
      exists (select from sweeps s where s.account = a.id and (s.ahead > 0 or s.borne > 0)
        and s.state in ('done', 'failed')) as owing,
      exists (select from sweeps s where s.account = a.id and s.state in ('done', 'failed') and s.strikes > 0)
        as struck,
      coalesce((select s.state = 'failed' and s.order_id is not null from sweeps s
        where s.account = a.id and s.state in ('done', 'failed') order by s.id desc limit 1), false)
        as failed_last
    from accounts a join addresses d on d.account = a.id
      join addresses r on r.account = d.ramp
      left join fungible_tokens t on t.symbol = a.asset and t.status = 'registered'
    where a.id = ${account} and a.type = 'deposit'`;
  return row ?? null;
}

/** Reads the deposits of a sweep. */
export async function selectSwept(db: Db, sweep: string): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from deposits where sweep = ${sweep} order by id`;
  return rows.map((row) => row.id);
}
