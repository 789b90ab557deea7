/** Statements on the addresses and inputs that a scan looks for. @module */
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db } from "../database.ts";

/** Lists every own and linked address of a network, with the codes of their assets. */
export async function selectWatched(
  db: Db,
  place: NetworkKey,
): Promise<{ address: string; asset: string }[]> {
  return await db<{ address: string; asset: string }[]>`
    select address, asset from addresses
    where chain = ${place.chain} and network = ${place.network}
    union all
    select p.address, a.asset from passed_addresses p join accounts a on a.id = p.ramp
    where p.chain = ${place.chain} and p.network = ${place.network}
    union all
    select e.address, a.asset from external_addresses e join accounts a on a.id = e.account
    where e.chain = ${place.chain} and e.network = ${place.network} and e.deleted_at is null
      and e.paused_at is null and a.deleted_at is null`;
}

/**
 * Lists the inputs whose spends a scan reports: reserved inputs and unspent coins, and nonces of transactions that were
 * given up within three months, as is_given_up() tells, which each pass would call for each of them. A reorganisation
 * that reaches further back halts the scan. So are the inputs of what the chain has lost, and of what has ended in blocks that
 * are not scanned yet: the scan is to show it there. Each part is bounded to its index, also by a plan that was made while all
 * were empty and equal: by an order, and by `offset 0`, which PostgreSQL does not join through.
 */
export async function selectWatchedInputs(db: Db, place: NetworkKey): Promise<string[]> {
  const rows = await db<{ input: string }[]>`
    select input from reserved_inputs where chain = ${place.chain} and network = ${place.network}
    union
    select unnest(k.inputs) from (select id, state, hash from chain_orders
        where chain = ${place.chain} and network = ${place.network}
          and state in ('canceled', 'failed') and nonce is not null and hash is not null
          and state_at > now() - interval '90 days'
        order by state_at offset 0) o,
      lateral (select hash, inputs, dropped from order_attempts where order_id = o.id offset 0) k
    where k.hash is not null and (k.dropped or o.state = 'canceled' or k.hash <> o.hash)
    union
    select unnest(k.inputs) from order_attempts k,
      lateral (select chain, network, sender from chain_orders where id = k.order_id offset 0) o
    where k.proof = 'consumed' and k.created_at > now() - interval '90 days' and k.hash is not null
      and o.chain = ${place.chain} and o.network = ${place.network} and o.sender ^@ '0x'
    union
    select unnest(k.inputs) from order_attempts k,
      lateral (select chain, network, state from chain_orders where id = k.order_id offset 0) o
    where k.cancels and k.created_at > now() - interval '90 days' and k.hash is not null
      and o.chain = ${place.chain} and o.network = ${place.network} and o.state = 'done'
    union
    select unnest(k.inputs) from displaced_orders d,
      lateral (select inputs from order_attempts where hash = d.hash offset 0) k
    where d.chain = ${place.chain} and d.network = ${place.network}
      and d.state in ('lost', 'replaced', 'displaced')
    union
    select unnest(k.inputs) from (select hash from chain_orders
        where chain = ${place.chain} and network = ${place.network} and hash is not null
          and height > (select height from chain_cursors
            where chain = ${place.chain} and network = ${place.network})
        order by chain, network, height offset 0) o,
      lateral (select inputs from order_attempts where hash = o.hash offset 0) k
    union
    select hash || ':' || index from coins
    where chain = ${place.chain} and network = ${place.network} and spent_height is null`;
  return rows.map((row) => row.input);
}
