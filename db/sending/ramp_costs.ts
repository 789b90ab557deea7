/** Statements on the network costs of a ramp in a day. Base units of a contract, '' the coin. @module */
import type { Db, Tx } from "../database.ts";

/** Costs of a ramp in a day so far, with the most that open orders may cost. */
export interface RampCostRow {
  cost: string;
  /** The amount that users were charged for it. */
  charged: string;
}

/** The purposes that a day's limit covers; a sweep brings more than it costs. */
const PURPOSES = ["withdrawal", "batch", "fill", "cpfp"];

/** Adds the cost of an ended order to the day (UTC) of its ramp. */
export async function addRampCost(
  tx: Tx,
  of: { ramp: string; contract: string; cost: string; charged: string },
): Promise<void> {
  await tx`
    insert into ramp_costs (ramp, day, contract, cost, charged)
    values (${of.ramp}, (now() at time zone 'utc')::date, ${of.contract}, ${of.cost}, ${of.charged})
    on conflict (ramp, day, contract) do update
      set cost = ramp_costs.cost + excluded.cost, charged = ramp_costs.charged + excluded.charged`;
}

/** Reads the costs of a ramp on this day (UTC); some orders, which are being checked, are left out. */
export async function selectRampCost(
  db: Db,
  of: {
    ramp: string;
    chain: string;
    network: string;
    sender: string;
    contract: string;
    without: readonly string[];
  },
): Promise<RampCostRow> {
  const [row] = await db<RampCostRow[]>`
    select (coalesce(sum(cost), 0))::text as cost, (coalesce(sum(charged), 0))::text as charged from (
      select cost, charged from ramp_costs
      where ramp = ${of.ramp} and contract = ${of.contract}
        and day = (now() at time zone 'utc')::date
      union all
      select fee, charged from chain_orders
      where chain = ${of.chain} and network = ${of.network} and sender = ${of.sender}
        and ramp = ${of.ramp} and purpose = any (${PURPOSES}::text[])
        and state in ('planned', 'signed', 'sent', 'mined') and fee is not null and gas_block is null
        and coalesce(fee_contract, '') = ${of.contract}
        and not id = any (${of.without as string[]}::uuid[])) c`;
  return row;
}

/** Records that a day's limit is reached; tells whether it is the first time. */
export async function markRampHeld(
  tx: Tx,
  of: { ramp: string; contract: string },
): Promise<boolean> {
  const rows = await tx`
    insert into ramp_costs (ramp, day, contract, held_at)
    values (${of.ramp}, (now() at time zone 'utc')::date, ${of.contract}, now())
    on conflict (ramp, day, contract) do update set held_at = excluded.held_at
      where ramp_costs.held_at is null
    returning ramp`;
  return rows.length > 0;
}
