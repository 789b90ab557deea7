/** The networks on which addresses are linked. @module */
import type { Fragment } from "../collections/filter.ts";
import type { Db } from "../database.ts";

/** Gives the networks of linked addresses as `linked`, one after the other by their index; stands after `with recursive`. */
export function linkedNetworks(db: Db): Fragment {
  return db`linked (chain, network) as (
      (select chain, network from external_addresses where deleted_at is null order by chain, network limit 1)
      union all
      select n.chain, n.network from linked l cross join lateral (
        select e.chain, e.network from external_addresses e
        where e.deleted_at is null and (e.chain, e.network) > (l.chain, l.network)
        order by e.chain, e.network limit 1) n
    )`;
}
