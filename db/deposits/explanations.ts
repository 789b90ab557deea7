/**
 * Statements that explain deposits: what is known of an address, and of a transaction. They are
 * planned for the rows that there are.
 * @module
 */
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db } from "../database.ts";
import { type Fragment, unprepared } from "../collections/filter.ts";

/** A use of an address. */
export interface AddressUseRow extends NetworkKey {
  kind: "ramp" | "deposit" | "linked" | "reserved";
  address: string;
  /** The account that is credited; of a reserved address, its ramp. */
  account: string;
  /** The virtual account that value goes on to; null for none. */
  beneficiary: string | null;
  asset: string;
  owner: string | null;
  /** When it was no longer watched; null while it is. */
  paused_at: number | null;
  created_at: number;
}

/** Reads the uses of an address, in any of its forms, in this realm. */
export async function selectAddressUses(
  db: Db,
  forms: readonly string[],
): Promise<AddressUseRow[]> {
  const form = db`unnest(${forms as string[]}::text[]) g(address)`;
  return await unprepared(db<AddressUseRow[]>`
    select case when o.derivation_key = 0 then 'ramp' else 'deposit' end as kind, o.chain,
      o.network, o.address, o.account, o.target_account as beneficiary, o.asset, o.owner,
      null::timestamptz as paused_at, o.created_at
    from ${form}, lateral (select * from addresses o where o.address = g.address offset 0) o
    union all
    select 'linked', e.chain, e.network, e.address, e.account, e.account, a.asset, a.owner,
      e.paused_at, e.created_at
    from ${form}, lateral (select * from external_addresses e
        where e.address = g.address and e.deleted_at is null offset 0) e,
      lateral (select a.asset, a.owner, a.deleted_at from accounts a
        where a.id = e.account offset 0) a
    where a.deleted_at is null
    union all
    select 'reserved', p.chain, p.network, r.address, r.ramp, null, a.asset, a.owner, null,
      r.created_at
    from ${form}, lateral (select * from reserved_addresses r
        where r.address = g.address offset 0) r,
      lateral (select p.chain, p.network from ramps p where p.account = r.ramp offset 0) p,
      lateral (select a.asset, a.owner from accounts a where a.id = r.ramp offset 0) a
    where not exists (select from addresses o where o.address = r.address)`);
}

/** What is asked about, and by whom. */
export interface Asked {
  /** The forms of a transaction's hash; null: any. */
  hashes: readonly string[] | null;
  /** The forms of an address; null: any. */
  addresses: readonly string[] | null;
  /** Without a hash: where the address is used. */
  uses: readonly (NetworkKey & { address: string })[];
  /** With a hash: the chain, and whether its main network; null: any. */
  chain: string | null;
  testnet: boolean | null;
  /** Whose entities are read; null: everybody's. */
  owner: string | null;
  /** Most rows of each kind: of a transaction, or at an address on a network. */
  limit: number;
}

/** A deposit, with the state of its sweep. */
export interface ExplainedRow extends NetworkKey {
  id: string;
  account: string;
  beneficiary: string | null;
  address: string;
  asset: string;
  amount: string;
  block: number | null;
  confirmations: number;
  status: "PENDING" | "CONFIRMED" | "ORPHANED";
  held: string | null;
  error: { code: string; detail?: string } | null;
  /** Of the sweep that takes it along, else of the one that waits in its account; null for none. */
  sweep: string | null;
}

/** Reads the deposits of a transaction, or the latest at an address on each of its networks. */
export async function selectDepositsAbout(db: Db, asked: Asked): Promise<ExplainedRow[]> {
  const { owner, limit } = asked;
  const own = owner === null ? db`true` : db`d.owner = ${owner}`;
  return await unprepared(db<ExplainedRow[]>`
    select d.id, d.chain, d.network, d.account, d.beneficiary, d.address, d.asset,
      trim_scale(coalesce(d.credited, d.amount))::text as amount, d.block, d.confirmations,
      d.status, d.held, d.error, coalesce((select s.state from sweeps s where s.id = d.sweep),
        (select s.state from sweeps s where s.account = d.account
          and s.state not in ('done', 'failed') and not s.beside)) as sweep
    from ${aboutOf(db, asked)}, lateral (select id, chain, network, account, beneficiary, address,
        asset, credited, amount, block::float8 as block, confirmations, status, held, error, sweep
      from deposits d where ${isAbout(db, asked)} and ${own}
      order by ${asked.hashes === null ? db`d.block desc` : db`d.index`} limit ${limit}) d`);
}

/** An unmatched deposit, with the asset of its address. */
export interface ExplainedUnmatchedRow extends NetworkKey {
  id: string;
  address: string;
  wanted: string;
  asset: string | null;
  contract: string | null;
}

/** Unmatched deposits of a transaction among which those of one owner are found. */
const AMONG_MAX = 100;

/** Reads the unmatched deposits of a transaction, or the latest at an address on each network. */
export async function selectUnmatchedAbout(
  db: Db,
  asked: Asked,
): Promise<ExplainedUnmatchedRow[]> {
  const { owner, limit } = asked;
  const own = owner === null ? db`true` : db`a.owner = ${owner}`;
  const order = asked.hashes === null ? db`d.id desc` : db`d.index`;
  return await unprepared(db<ExplainedUnmatchedRow[]>`
    select d.id, d.chain, d.network, d.address, d.asset, d.contract, d.wanted
    from ${aboutOf(db, asked)}, lateral (select d.*, a.asset as wanted
      from (select * from unmatched_deposits d where ${isAbout(db, asked)}
        order by ${order} limit ${owner === null ? limit : AMONG_MAX}) d,
        lateral (select a.asset, a.owner from accounts a where a.id = d.account offset 0) a
      where ${own} order by ${order} limit ${limit}) d`);
}

/** Reads the withdrawals that a transaction paid. */
export async function selectWithdrawalsAbout(
  db: Db,
  asked: Asked & { hashes: readonly string[] },
): Promise<{ id: string; status: string }[]> {
  const { hashes, owner, limit } = asked;
  const own = owner === null ? db`true` : db`w.owner = ${owner}`;
  return await unprepared(db<{ id: string; status: string }[]>`
    select w.id, w.status from withdrawals w
    where w.hash = any (${hashes as string[]}::text[]) and ${isThere(db, "w", asked)} and ${own}
    limit ${limit}`);
}

/** Tells what orders of the realm a transaction was sent for. */
export async function selectPurposes(
  db: Db,
  asked: Asked & { hashes: readonly string[] },
): Promise<string[]> {
  const rows = await db<{ purpose: string }[]>`
    select o.purpose from unnest(${asked.hashes as string[]}::text[]) g(hash),
      lateral (select c.order_id from order_attempts c where c.hash = g.hash offset 0) c,
      lateral (select o.purpose, o.chain, o.network from chain_orders o
        where o.id = c.order_id offset 0) o
    where ${isThere(db, "o", asked)}`;
  return rows.map(({ purpose }) => purpose);
}

/** What is asked about, one by one: so the index of each gives its rows in order. */
function aboutOf(db: Db, { hashes, uses }: Asked): Fragment {
  if (hashes !== null) return db`unnest(${hashes as string[]}::text[]) g(form)`;
  const column = (name: keyof typeof uses[number]) => uses.map((use) => use[name]);
  return db`(select distinct * from unnest(${column("address")}::text[],
    ${column("chain")}::text[], ${column("network")}::text[]) g(address, chain, network)) g`;
}

function isAbout(db: Db, asked: Asked): Fragment {
  const { hashes, addresses } = asked;
  if (hashes === null) {
    return db`d.address = g.address and d.chain = g.chain and d.network = g.network`;
  }
  const address = addresses === null
    ? db`true`
    : db`d.address = any (${addresses as string[]}::text[])`;
  return db`d.hash = g.form and ${address} and ${isThere(db, "d", asked)}`;
}

/** Whether a row is of the chain and network that are asked about. */
function isThere(db: Db, table: "d" | "o" | "w", { chain, testnet }: Asked): Fragment {
  const [onChain, network] = [db(`${table}.chain`), db(`${table}.network`)];
  const isChain = chain === null ? db`true` : db`${onChain} = ${chain}`;
  const isNetwork = testnet === null ? db`true` : db`(${network} <> 'main') = ${testnet}`;
  return db`${isChain} and ${isNetwork}`;
}
