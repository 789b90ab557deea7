/** Statements on chain orders for administrators: each with its attempts, and without anything that could be sent. @module */
import type { Db } from "../database.ts";
import type { OrderRow } from "./chain_orders.ts";

/** An attempt as an administrator sees it. */
export interface ShownAttempt {
  hash: string | null;
  /** The most it can cost, in base units of the asset that pays it; null if it was only found on the chain. */
  fee: string | null;
  /** Milliseconds since the epoch. */
  sent_at: number | null;
  outcome: string | null;
  dropped: boolean;
}

/** An order as an administrator sees it. */
export type ShownOrderRow =
  & Pick<
    OrderRow,
    | "id"
    | "chain"
    | "network"
    | "purpose"
    | "reference_id"
    | "sender"
    | "nonce"
    | "state"
    | "schedule_version"
    | "fee_contract"
    | "error"
    | "created_at"
  >
  & { state_at: number; attempts: ShownAttempt[] };

const COLUMNS = [
  ...["id", "chain", "network", "purpose", "reference_id", "sender", "nonce", "state"],
  ...["schedule_version", "fee_contract", "error", "state_at", "created_at"],
];

/** Reads the order whose transaction pays for one: its batch, or itself; and how many others it waits behind. */
export async function selectPayingOrder(
  db: Db,
  id: string,
): Promise<ShownOrderRow & { ahead: number } | null> {
  const [row] = await db<(ShownOrderRow & { ahead: number })[]>`
    select o.*, ${attempts(db)},
      case when o.state in ('new', 'planned', 'signed', 'sent') then (
        select count(*)::integer from chain_orders b
        where b.chain = o.chain and b.network = o.network and b.sender = o.sender and b.id <> o.id
          and b.state in ('new', 'planned', 'signed', 'sent') and (b.nonce < o.nonce or b.id in (
            select p.order_id from reserved_inputs k join order_attempts p on p.hash = split_part(k.input, ':', 1)
            where k.order_id = o.id and not p.dropped)))
      else 0 end as ahead
    from (select ${db(COLUMNS)} from chain_orders
      where id = (select coalesce(batch_order_id, id) from chain_orders where id = ${id})) o`;
  return row ?? null;
}

/** Reads open orders of a ramp in the order of their ids. */
export async function selectOpenOrders(
  db: Db,
  of: { ramp: string; after: string | null; limit: number },
): Promise<ShownOrderRow[]> {
  return await db<ShownOrderRow[]>`
    select o.*, ${attempts(db)} from (
      select ${db(COLUMNS)} from chain_orders
      where ramp = ${of.ramp} and state in ('new', 'planned', 'signed', 'sent', 'mined')
        and ${of.after === null ? db`true` : db`id > ${of.after}`}
      order by id limit ${of.limit}) o
    order by o.id`;
}

/** The attempts of the order `o`, oldest first. A plan tells its fee, and signed bytes tell theirs where it differs. */
function attempts(db: Db) {
  return db`coalesce((select jsonb_agg(jsonb_build_object('hash', a.hash,
      'fee', coalesce(a.fee::text, substring(a.plan from '"fee":[{]"n":"([0-9]+)"[}]')),
      'sent_at', (extract(epoch from a.sent_at) * 1000)::bigint, 'outcome', a.outcome, 'dropped', a.dropped)
      order by a.attempt)
    from order_attempts a where a.order_id = o.id), '[]') as attempts`;
}
