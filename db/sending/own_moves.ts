/** Statements on what own orders moved on a chain, in base units: no node is asked for it. @module */
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db } from "../database.ts";

/** An address, an asset and a range of blocks. */
export interface OwnRange {
  address: string;
  contract: string | null;
  from: number;
  to: number;
}

/**
 * Lists own transactions in a range of blocks that may have brought value to an own address which is no deposit: of
 * orders with some purposes, or of its own, that pay to it or have it pay the fee. Those of orders that have no block
 * yet count if a scan saw them.
 */
export async function selectOwnHashes(
  db: Db,
  place: NetworkKey,
  of: Omit<OwnRange, "contract"> & { purposes: readonly string[]; limit: number },
): Promise<string[]> {
  const { address, from, to } = of;
  const rows = await db<{ hash: string }[]>`
    with concerned as (
      select id, hash, height, purpose, sender, request from chain_orders
      where chain = ${place.chain} and network = ${place.network}
        and state in ('signed', 'sent', 'mined')
      union all
      select id, hash, height, purpose, sender, request from chain_orders
      where chain = ${place.chain} and network = ${place.network} and height between ${from} and ${to}
        and state not in ('signed', 'sent', 'mined'))
    select distinct k.hash from concerned o join order_attempts k on k.order_id = o.id
    where (o.purpose = any (${`{${of.purposes.join(",")}}`}::text[]) or o.sender = ${address})
      and (o.request->'payments' @> ${db.json([{ to: address }])}
        or coalesce(o.request->>'feePayer', o.sender) = ${address})
      and k.hash is not null and (k.seen_height between ${from} and ${to}
        or (k.hash = o.hash and o.height between ${from} and ${to}))
    order by k.hash limit ${of.limit}`;
  return rows.map(({ hash }) => hash);
}

/** What own orders took from an address, at least, and whether one is sent of which no block is known yet. */
export interface OwnSpent {
  taken: bigint;
  underway: boolean;
}

/** Adds up what left addresses by own orders in ranges of blocks, above a height; in the order of the ranges. */
export async function sumOwnSpent(
  db: Db,
  place: NetworkKey,
  { ranges, above }: { ranges: readonly OwnRange[]; above: number },
): Promise<OwnSpent[]> {
  const rows = await db<{ sum: string; underway: boolean }[]>`
    with moved as materialized (
      select v.address, v.contract, o.height, v.units
      from chain_orders o, lateral (values
          (o.sender, o.contract, case when o.succeeded and not o.request->'payments'
            @> jsonb_build_array(jsonb_build_object('to', o.sender)) then o.amount end),
          (coalesce(o.request->>'feePayer', o.sender), '', o.fee - o.refund))
        v(address, contract, units)
      where o.chain = ${place.chain} and o.network = ${place.network} and o.height > ${above}
        and o.succeeded is not null and o.purpose in ('withdrawal', 'sweep', 'gas')
        and v.units > 0
    ), sent as materialized (
      select v.address
      from chain_orders o, lateral (values (o.sender), (o.request->>'feePayer')) v(address)
      where o.chain = ${place.chain} and o.network = ${place.network}
        and o.state in ('sent', 'mined') and o.succeeded is null)
    select coalesce(sum(m.units), 0)::text as sum,
      g.address in (select address from sent where address is not null) as underway
    from rows from (jsonb_to_recordset(${db.json(ranges as never)})
        as (address text, contract text, "from" bigint, "to" bigint)) with ordinality
        g(address, contract, "from", "to", at)
      left join moved m on m.address = g.address and m.contract = coalesce(g.contract, '')
        and m.height between g."from" and g."to"
    group by g.at, g.address order by g.at`;
  return rows.map(({ sum, underway }) => ({ taken: BigInt(sum), underway }));
}
