/** Statements on stops, and on all reasons that keep an order from being signed. @module */
import type { LedgerTx } from "../transaction.ts";
import type { Db, Tx } from "../database.ts";

/** A stop as stored. */
export interface StopRow {
  id: string;
  what: "moves" | "signing";
  asset: string | null;
  chain: string | null;
  /** Codes of the assets of the chain. */
  chain_assets: string[] | null;
  account: string | null;
  user_id: string | null;
  /** As given: the id of an account, or an address. */
  destination: string | null;
  /** All values that it is compared with. */
  destinations: string[] | null;
  reason: string;
  /** Null for the operator of the installation. */
  owner: string | null;
  /** Whether a restored realm began with it: only the operator lifts it. */
  restored: boolean;
  lifted_by: string | null;
  lifted_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "id",
  "what",
  "asset",
  "chain",
  "chain_assets",
  "account",
  "user_id",
  "destination",
  "destinations",
  "reason",
  "owner",
  "restored",
  "lifted_by",
  "lifted_at",
  "created_at",
] as const;

/** Fields of a new stop. */
export type NewStopRow = Omit<StopRow, "lifted_by" | "lifted_at">;

/** Adds a stop; the transaction holds the ledger lock. */
export async function insertStop(tx: LedgerTx, stop: NewStopRow): Promise<StopRow> {
  const [row] = await tx<StopRow[]>`insert into stops ${tx(stop)} returning ${tx(COLUMNS)}`;
  return row;
}

/** Lifts a stop; null if it was lifted before. */
export async function liftStop(
  tx: Tx,
  id: string,
  by: { user: string | null; at: number },
): Promise<StopRow | null> {
  const [row] = await tx<StopRow[]>`
    update stops set lifted_by = ${by.user}, lifted_at = ${by.at}
    where id = ${id} and lifted_at is null returning ${tx(COLUMNS)}`;
  return row ?? null;
}

/** Reads stops by their ids, lifted ones too. */
export async function selectStops(db: Db, ids: string[]): Promise<StopRow[]> {
  return await db<StopRow[]>`select ${db(COLUMNS)} from stops where id = any (${ids}::uuid[])`;
}

/** Reads the accounts of a user that stops name, lifted ones too. */
export async function selectStoppedAccounts(db: Db, user: string): Promise<string[]> {
  const rows = await db<{ account: string }[]>`
    select distinct z.account from stops z join accounts a on a.id = z.account
    where a.owner = ${user}`;
  return rows.map(({ account }) => account);
}

/** A withdrawal, as far as stops concern it beyond the ledger's accounts. */
export interface StoppedMove {
  account: string;
  asset: string;
  chain: string;
  user: string | null;
  /** An address in its canonical form. */
  destination: string;
}

/** Whether a stop of moves concerns a withdrawal. */
export async function existsStopOf(db: Db, move: StoppedMove): Promise<boolean> {
  const rows = await db`
    select 1 from stops z where z.what = 'moves' and z.lifted_at is null
      and (z.asset is null or z.asset = ${move.asset})
      and (z.chain is null or z.chain = ${move.chain})
      and (z.account is null or z.account = ${move.account}
        or pays_destination(${move.destination}, array[z.account::text]))
      and (z.user_id is null or z.user_id = ${move.user}
        or z.user_id = (select a.owner from accounts a where a.id = ${move.account}))
      and (z.destination is null or pays_destination(${move.destination}, z.destinations))
    limit 1`;
  return rows.length > 0;
}

/** The reasons that keep an order from being signed, as the database knows them. */
export interface SigningRow {
  id: string;
  purpose: string;
  /** The asset that it moves for a customer; null where it moves the chain's coin for the house. */
  asset: string | null;
  /** The stop that applies to it. */
  stop: string | null;
  /** The reason why its ramp waits for a reconciliation. */
  quarantined: string | null;
  /** The frozen account among its own. */
  frozen: "account" | "ramp" | null;
  /** Whether the asset's withdrawals are stopped, because the chain holds less than the ledger owes. */
  insolvent: boolean;
}

/**
 * Reads the reasons that keep orders from being signed. Fillers, CPFP transactions and cancellations
 * are exempt from freezes: they move nothing to others, and signed transactions wait for them.
 *
 * @param orders with the code of their chain's own coin, and whether they are to be canceled by a replacement
 */
export async function selectSigning(
  db: Db,
  orders: readonly { id: string; coin: string; cancels: boolean }[],
): Promise<SigningRow[]> {
  const ids = orders.map(({ id }) => id);
  const coins = orders.map(({ coin }) => coin);
  const cancels = `{${orders.map((one) => one.cancels).join(",")}}`;
  return await db<SigningRow[]>`
    select o.id, o.purpose, q.asset,
      (select z.id from stops z where z.what = 'signing' and z.lifted_at is null
        and (z.asset is null or z.asset = q.asset or (z.asset = g.coin and (q.asset is null
          or o.purpose = 'gas')))
        and (z.chain is null or z.chain = o.chain)
        and (z.account is null or z.account in (o.ramp, w.account, w.ramp, s.account))
        and (z.user_id is null or z.user_id in (w.owner, a.owner, c.owner, t.owner))
        and (z.destination is null or not g.cancels and exists (
          select from jsonb_array_elements(o.request -> 'payments') p
          where pays_destination(p ->> 'to', z.destinations)))
        order by z.id limit 1) as stop,
      (select p.quarantined ->> 'detail' from ramps p where p.account = o.ramp) as quarantined,
      case when g.cancels or o.purpose in ('fill', 'cpfp') then null when a.frozen then 'account'
        when r.frozen or k.frozen then 'ramp' end as frozen,
      w.id is not null and coalesce((select v.stopped from solvency v
        where v.asset = w.asset and v.testnet = a.testnet), false) as insolvent
    from unnest(${ids as string[]}::uuid[], ${coins as string[]}::text[], ${cancels}::text::boolean[])
        g(id, coin, cancels)
      join chain_orders o on o.id = g.id
      left join withdrawals w on w.id = o.reference_id and o.purpose = 'withdrawal' and not g.cancels
      left join sweeps s on s.id = o.reference_id and o.purpose in ('sweep', 'gas') and not g.cancels
      left join consolidations c on c.id = o.reference_id and o.purpose = 'consolidation'
      left join fungible_tokens t on t.id = o.reference_id and o.purpose = 'deploy'
      left join accounts a on a.id = coalesce(w.account, s.account)
      left join accounts r on r.id = w.ramp
      left join accounts k on k.id = o.ramp
      cross join lateral (select coalesce(w.asset, a.asset) as asset) q`;
}
