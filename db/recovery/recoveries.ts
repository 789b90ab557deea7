/** Statements of reconciliations: own transactions that the database had lost. @module */
import { rowsOfAddresses } from "../accounts/address_rows.ts";
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";
import { ORDER_COLUMNS, type OrderRow } from "../sending/chain_orders.ts";
import type { Quarantine } from "../accounts/ramps.ts";

/** A ramp that is to be reconciled. */
export interface QuarantinedRamp extends NetworkKey {
  account: string;
  /** The account step of the derivation path. */
  number: number;
  xpub: string | null;
  next_index: number;
  quarantined: Quarantine;
}

/** Lists the ramps in quarantine. */
export async function selectQuarantinedRamps(db: Db): Promise<QuarantinedRamp[]> {
  return await db<QuarantinedRamp[]>`
    select account, chain, network, number, xpub, next_index, quarantined from ramps
    where quarantined is not null and next_index > 0 order by chain, network, number`;
}

/** An own address with its next known nonce. */
export interface KnownSender {
  address: string;
  ramp: string;
  account: string;
  derivation_key: number;
  /** 0 where it never sent anything. */
  next: number;
}

/** Lists the addresses below some ramps, with their nonces. */
export async function selectSenders(
  db: Db,
  place: NetworkKey,
  ramps: readonly string[],
): Promise<KnownSender[]> {
  return await db<KnownSender[]>`
    select a.address, a.ramp, a.account, a.derivation_key, coalesce(n.next, 0) as next
    from addresses a left join nonces n on n.chain = a.chain and n.network = a.network
      and n.address = a.address
    where a.chain = ${place.chain} and a.network = ${place.network}
      and a.ramp = any (${`{${ramps.join(",")}}`}::text::uuid[])
    order by a.id`;
}

/** Lists the inputs that open orders of some ramps have reserved without a signature. */
export async function selectUnsignedInputs(
  db: Db,
  place: NetworkKey,
  ramps: readonly string[],
): Promise<string[]> {
  const rows = await db<{ input: string }[]>`
    select c.input from reserved_inputs c join chain_orders o on o.id = c.order_id
    where c.chain = ${place.chain} and c.network = ${place.network}
      and o.ramp = any (${`{${ramps.join(",")}}`}::text::uuid[])
      and not exists (select 1 from order_attempts k where k.order_id = o.id and k.raw is not null)`;
  return rows.map((row) => row.input);
}

/** Lists the inputs of orders of some ramps that are signed, and that a newer database may have sent. */
export async function selectSignedInputs(
  db: Db,
  place: NetworkKey,
  ramps: readonly string[],
): Promise<string[]> {
  const rows = await db<{ input: string }[]>`
    select c.input from reserved_inputs c join chain_orders o on o.id = c.order_id
    where c.chain = ${place.chain} and c.network = ${place.network} and o.state = 'signed'
      and o.ramp = any (${`{${ramps.join(",")}}`}::text::uuid[])`;
  return rows.map((row) => row.input);
}

/** Lists unknown transactions that spent coins of some ramps, oldest first. */
export async function selectUnknownSpends(
  db: Db,
  place: NetworkKey,
  ramps: readonly string[],
): Promise<{ hash: string; height: number }[]> {
  return await db<{ hash: string; height: number }[]>`
    select spent_by as hash, min(spent_height)::float8 as height from coins c
    where c.chain = ${place.chain} and c.network = ${place.network} and spent_by is not null
      and c.ramp = any (${`{${ramps.join(",")}}`}::text::uuid[]) and c.spent_by ~ '^[0-9a-f]{64}$'
      and not exists (select 1 from order_attempts k where k.hash = c.spent_by)
    group by spent_by order by 2, 1`;
}

/**
 * Lists coins of some ramps that are in blocks and that no transaction which left spends, after one of
 * them by name.
 */
export async function selectUntouchedCoins(
  db: Db,
  place: NetworkKey,
  of: { ramps: readonly string[]; after: string; limit: number },
): Promise<string[]> {
  const rows = await db<{ input: string }[]>`
    select c.hash || ':' || c.index as input from coins c
    where c.chain = ${place.chain} and c.network = ${place.network}
      and c.ramp = any (${`{${of.ramps.join(",")}}`}::text::uuid[])
      and c.height is not null and c.spent_by is null and c.kept is null
      and (c.hash, c.index) > (split_part(${of.after}, ':', 1), split_part(${of.after}, ':', 2)::integer)
      and not exists (select from reserved_inputs k join chain_orders o on o.id = k.order_id
        where k.chain = c.chain and k.network = c.network and k.input = c.hash || ':' || c.index
          and o.state in ('sent', 'mined'))
    order by c.hash, c.index limit ${of.limit}`;
  return rows.map(({ input }) => input);
}

/** Adds up the own ones of some coins by their names, in base units, and tells whether all are. */
export async function sumInputs(
  db: Db,
  place: NetworkKey,
  inputs: readonly string[],
): Promise<{ sum: string; whole: boolean }> {
  const [row] = await db<{ sum: string; count: number }[]>`
    select coalesce(sum(amount), 0)::text as sum, count(*)::integer as count from coins
    where chain = ${place.chain} and network = ${place.network}
      and hash || ':' || index = any (${inputs as string[]}::text[])`;
  return { sum: row.sum, whole: row.count === inputs.length };
}

/** Selects the known ones of some transactions, whichever process signed them. */
export async function selectKnownHashes(db: Db, hashes: readonly string[]): Promise<string[]> {
  const rows = await db<{ hash: string }[]>`
    select hash from order_attempts where hash = any (${hashes as string[]}::text[])`;
  return rows.map((row) => row.hash);
}

/** Raises nonces. */
export async function raiseNonce(
  tx: Tx,
  of: NetworkKey & { address: string; next: number },
): Promise<void> {
  await tx`
    insert into nonces (chain, network, address, next)
    values (${of.chain}, ${of.network}, ${of.address}, ${of.next})
    on conflict (chain, network, address) do update
      set next = greatest(nonces.next, excluded.next)`;
}

/**
 * Lists orders of some ramps whose bytes may be on the chain, with their schedule versions; oldest
 * first.
 */
export async function selectSignedOrders(
  db: Db,
  place: NetworkKey,
  ramps: readonly string[],
): Promise<{ order: string; version: number; state: string }[]> {
  return await db<{ order: string; version: number; state: string }[]>`
    select id as order, schedule_version as version, state from chain_orders
    where chain = ${place.chain} and network = ${place.network}
      and ramp = any (${`{${
    ramps.join(",")
  }}`}::text::uuid[]) and state in ('signed', 'sent', 'mined')
    order by id`;
}

/** Lists orders of some ramps that were not broadcast, oldest first. */
export async function selectUnsigned(
  db: Db,
  place: NetworkKey,
  ramps: readonly string[],
): Promise<OrderRow[]> {
  return await db<OrderRow[]>`
    select ${db(ORDER_COLUMNS)} from chain_orders o
    where o.chain = ${place.chain} and o.network = ${place.network}
      and o.ramp = any (${`{${ramps.join(",")}}`}::text::uuid[])
      and o.state in ('new', 'planned', 'signed', 'batched') and o.purpose <> 'batch'
      and not exists (select 1 from order_attempts k
        where k.order_id = coalesce(o.batch_order_id, o.id) and k.sent_at is not null and not k.dropped)
      and not exists (select 1 from order_attempts k where k.late_order_id = o.batch_order_id)
    order by o.id`;
}

/** Lists the orders of withdrawals of some ramps that have not ended. */
export async function selectOpenWithdrawals(
  db: Db,
  place: NetworkKey,
  ramps: readonly string[],
): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from chain_orders
    where chain = ${place.chain} and network = ${place.network} and purpose = 'withdrawal'
      and ramp = any (${`{${ramps.join(",")}}`}::text::uuid[])
      and state in ('new', 'batched', 'planned', 'signed', 'sent', 'mined')`;
  return rows.map(({ id }) => id);
}

/** Selects those of some orders none of whose bytes can be mined beside a transaction that spends some inputs. */
export async function selectReplaced(
  db: Db,
  orders: readonly string[],
  inputs: readonly string[],
): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select order_id as id from order_attempts
    where order_id = any (${`{${orders.join(",")}}`}::text::uuid[]) and not dropped
    group by order_id having bool_and(inputs && ${inputs as string[]}::text[])`;
  return rows.map(({ id }) => id);
}

/** Lists the orders with bytes, not mined, that have reserved some of some inputs, oldest first. */
export async function selectSpending(
  db: Db,
  place: NetworkKey,
  inputs: readonly string[],
): Promise<OrderRow[]> {
  return await db<OrderRow[]>`
    select ${db(ORDER_COLUMNS)} from chain_orders
    where state in ('signed', 'sent') and id in (select order_id from reserved_inputs
      where chain = ${place.chain} and network = ${place.network}
        and input = any (${inputs as string[]}::text[]))
    order by id`;
}

/** Selects the open order that is to deploy a token from an address; one that has not left first. */
export async function selectDeployment(
  db: Db,
  place: NetworkKey,
  of: { sender: string; token: { name: string; symbol: string; decimals: number; supply: string } },
): Promise<OrderRow | null> {
  const [row] = await db<OrderRow[]>`
    select ${db(ORDER_COLUMNS)} from chain_orders
    where chain = ${place.chain} and network = ${place.network} and sender = ${of.sender}
      and purpose = 'deploy' and state in ('new', 'planned', 'signed', 'sent', 'mined')
      and request -> 'token' = ${db.json(of.token)}
    order by state in ('sent', 'mined'), id limit 1`;
  return row ?? null;
}

/** The bytes of a transaction that was found, for an order. */
export interface FoundBytes {
  order: string;
  hash: string;
  raw: string;
  inputs: string[];
  fee: string | null;
  /** Whether they tell no plan, so that nothing can replace them. */
  unreadable: boolean;
  at: number;
}

/**
 * Adds the bytes of a transaction that was found, as the first of an order that is mined already.
 */
export async function insertMinedBytes(tx: Tx, found: FoundBytes): Promise<void> {
  const { order, hash, raw, inputs, fee, unreadable, at } = found;
  await tx`
    insert into order_attempts (order_id, attempt, plan, inputs, hash, raw, fee, unreadable, sent_at, outcome,
      created_at)
    values (${order}, 1, '{}', ${inputs}, ${hash}, ${raw}, ${fee}, ${unreadable}, ${at}, 'known', ${at})`;
}

/** Adds the bytes of a replacement that was found, after all attempts of its order. */
export async function insertFoundAttempt(tx: Tx, found: FoundBytes): Promise<void> {
  await insertFoundPlan(tx, found);
  await storeFound(tx, found);
  await markFoundSent(tx, found);
}

async function insertFoundPlan(tx: Tx, found: FoundBytes): Promise<void> {
  await tx`
    insert into order_attempts (order_id, attempt, plan, inputs, unreadable, created_at)
    values (${found.order}, 1 + coalesce((select max(attempt) from order_attempts
        where order_id = ${found.order}), 0), '{}', ${found.inputs}, ${found.unreadable}, ${found.at})`;
}

async function storeFound(tx: Tx, found: FoundBytes): Promise<void> {
  await tx`
    update order_attempts set hash = ${found.hash}, raw = ${found.raw}, fee = ${found.fee}
    where order_id = ${found.order} and plan = '{}' and raw is null`;
}

async function markFoundSent(tx: Tx, found: FoundBytes): Promise<void> {
  await tx`
    update order_attempts set sent_at = ${found.at}, outcome = 'known'
    where order_id = ${found.order} and hash = ${found.hash}`;
}

/** Lists the held deposits below some ramps. */
export async function selectHeldDeposits(
  db: Db,
  place: NetworkKey,
  ramps: readonly string[],
): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select d.id from deposits d join addresses a on a.chain = d.chain and a.network = d.network
      and a.address = d.address
    where d.chain = ${place.chain} and d.network = ${place.network} and d.held is not null
      and d.status = 'PENDING' and a.ramp = any (${`{${ramps.join(",")}}`}::text::uuid[])
    order by d.id`;
  return rows.map(({ id }) => id);
}

/** A deposit at an address of ours; its amount in whole units of its asset. */
export interface ArrivedRow {
  address: string;
  contract: string | null;
  amount: string;
  decimals: number;
  held: boolean;
}

/** Lists the deposits of a transaction. */
export async function selectArrived(
  db: Db,
  place: NetworkKey,
  hash: string,
): Promise<ArrivedRow[]> {
  return await db<ArrivedRow[]>`
    select d.address, d.contract, d.amount::text as amount, k.decimals, d.held is not null as held
    from deposits d join accounts k on k.id = d.account
      join addresses a on a.chain = d.chain and a.network = d.network and a.address = d.address
    where d.chain = ${place.chain} and d.network = ${place.network} and d.hash = ${hash}
      and d.status <> 'ORPHANED'
    order by d.id`;
}

/** Permits held deposits to be booked. */
export async function releaseDeposits(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx`
    update deposits set held = null, updated_at = now()
    where id = any (${`{${ids.join(",")}}`}::text::uuid[])`;
}

/** An own address with its account and ramp. */
export interface OwnPlace {
  address: string;
  ramp: string;
  account: string;
  derivation_key: number;
}

/** Selects the own addresses among some addresses. */
export async function selectOwnPlaces(
  db: Db,
  place: NetworkKey,
  addresses: readonly string[],
): Promise<OwnPlace[]> {
  return await db<OwnPlace[]>`
    select address, ramp, account, derivation_key
    from (${rowsOfAddresses(db, place, addresses)}) own`;
}

/** Lists all own addresses of a network. */
export async function selectOwnAddresses(db: Db, place: NetworkKey): Promise<string[]> {
  const rows = await db<{ address: string }[]>`
    select address from addresses where chain = ${place.chain} and network = ${place.network}`;
  return rows.map(({ address }) => address);
}

/** Reads the next known nonce of a sender; 0 where it never sent anything. */
export async function selectNextNonce(
  db: Db,
  of: NetworkKey & { sender: string },
): Promise<number> {
  const [row] = await db<{ next: number }[]>`
    select next from nonces where chain = ${of.chain} and network = ${of.network}
      and address = ${of.sender}`;
  return row?.next ?? 0;
}

/** Lists the largest free coins of an address that are in blocks, as `txid:index`. */
export async function selectMinedCoins(
  db: Db,
  of: NetworkKey & { sender: string },
  limit: number,
): Promise<{ input: string; amount: string }[]> {
  return await db<{ input: string; amount: string }[]>`
    select c.hash || ':' || c.index as input, c.amount::text as amount from coins c
    where c.chain = ${of.chain} and c.network = ${of.network} and c.address = ${of.sender}
      and c.height is not null and c.spent_by is null
      and (select k.order_id from reserved_inputs k where k.chain = c.chain and k.network = c.network
        and k.input = c.hash || ':' || c.index) is null
    order by c.amount desc, c.hash, c.index limit ${limit}`;
}
