/** Statements on withdrawals. @module */
import type { Db, Tx } from "../database.ts";

/** The events of a withdrawal's history. */
export const HISTORY_EVENTS = [
  "created",
  "waiting",
  "sent",
  "sped_up",
  "replaced",
  "mined",
  "done",
  "failed",
  "canceled",
  "found",
] as const;
/** An event of a withdrawal's history. */
export type HistoryEvent = typeof HISTORY_EVENTS[number];

/** An event of a withdrawal with its time. */
export interface HistoryEntry {
  at: number;
  event: HistoryEvent;
  [more: string]: unknown;
}

/** A withdrawal as stored. Amounts are decimals in whole units of the asset, gas of its own. */
export interface WithdrawalRow {
  id: string;
  account: string;
  ramp: string;
  chain: string;
  network: string;
  /** The ramp's address. */
  sender: string;
  destination: string;
  asset: string;
  contract: string | null;
  /** As requested. */
  value: string;
  /** The amount that moves on the chain. */
  amount: string;
  fee: string;
  /** Amount and fee, which leave the account. */
  charged: string;
  /** The fees of speed-ups; part of fee and charged. */
  surcharge: string;
  /** The part of the surcharge that was given back. */
  returned: string;
  paid_by: "sender" | "receiver";
  speed: "slow" | "medium" | "fast";
  /** The most that its user pays for fees, a failed transaction included; null for no bound. */
  max_fee: string | null;
  gas_asset: string | null;
  gas: string | null;
  /** Its user is charged nothing, and others pay the gas. */
  sponsored: boolean;
  order_id: string;
  block: string;
  /** The move from the virtual account to its ramp. */
  transaction: string | null;
  status: "PROCESSING" | "DONE" | "FAILED" | "CANCELED";
  hash: string | null;
  nonce: number | null;
  height: number | null;
  confirmations: number;
  /** The chain's fee. */
  cost: string | null;
  history: HistoryEntry[];
  data: Record<string, unknown>;
  owner: string | null;
  error: unknown;
  deleted_at: number | null;
  updated_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "id",
  "account",
  "ramp",
  "chain",
  "network",
  "sender",
  "destination",
  "asset",
  "contract",
  "value",
  "amount",
  "fee",
  "charged",
  "surcharge",
  "returned",
  "paid_by",
  "speed",
  "max_fee",
  "gas_asset",
  "gas",
  "sponsored",
  "order_id",
  "block",
  "transaction",
  "status",
  "hash",
  "nonce",
  "height",
  "confirmations",
  "cost",
  "history",
  "data",
  "owner",
  "error",
  "deleted_at",
  "updated_at",
  "created_at",
] as const;

/** A new withdrawal. */
export type NewWithdrawalRow = Omit<
  WithdrawalRow,
  | "surcharge"
  | "returned"
  | "status"
  | "hash"
  | "nonce"
  | "height"
  | "confirmations"
  | "cost"
  | "error"
  | "deleted_at"
  | "updated_at"
>;

/** Adds a withdrawal. */
export async function insertWithdrawal(tx: Tx, row: NewWithdrawalRow): Promise<WithdrawalRow> {
  const { data, history } = row;
  const written = { data: tx.json(data as never), history: tx.json(history as never) };
  const [made] = await tx<WithdrawalRow[]>`
    insert into withdrawals ${tx({ ...row, ...written })} returning ${tx(COLUMNS)}`;
  return made;
}

/**
 * Whether a user is none of those whose gas a ramp pays anyway, and whether it may be paid for now.
 */
export async function selectSponsored(
  db: Db,
  of: { ramp: string; sender: string; user: string | null; own: boolean },
): Promise<{ sponsored: boolean; may: boolean }> {
  const [row] = await db<{ sponsored: boolean; may: boolean }[]>`
    select not is_sponsor(${of.ramp}, ${of.user}) as sponsored,
      may_be_sponsored(${of.sender}, ${of.user}, ${of.own}, null) as may`;
  return row;
}

/** Reads a withdrawal. */
export async function selectWithdrawal(db: Db, id: string): Promise<WithdrawalRow | null> {
  const [row] = await db<WithdrawalRow[]>`
    select ${db(COLUMNS)} from withdrawals where id = ${id}`;
  return row ?? null;
}

/** Reads withdrawals by their ids. */
export async function selectWithdrawals(db: Db, ids: string[]): Promise<WithdrawalRow[]> {
  return await db<WithdrawalRow[]>`
    select ${db(COLUMNS)} from withdrawals where id = any (${ids}::uuid[])`;
}

/** A change of a withdrawal. */
export type WithdrawalChange = Partial<
  Pick<
    WithdrawalRow,
    | "status"
    | "hash"
    | "nonce"
    | "height"
    | "confirmations"
    | "cost"
    | "speed"
    | "max_fee"
    | "fee"
    | "charged"
    | "surcharge"
    | "returned"
    | "block"
    | "gas"
    | "error"
  >
>;

/** Changes a withdrawal and adds to its history. */
export async function updateWithdrawal(
  tx: Tx,
  id: string,
  change: WithdrawalChange,
  entry: HistoryEntry | null,
  at: number,
): Promise<WithdrawalRow> {
  const { error, ...rest } = change;
  const noted = error === undefined ? {} : { error: tx.json(error as never) };
  const added = tx.json((entry === null ? [] : [entry]) as never);
  const [row] = await tx<WithdrawalRow[]>`
    update withdrawals set ${tx({ ...rest, ...noted, updated_at: at } as never)},
      history = history || ${added}::jsonb
    where id = ${id} returning ${tx(COLUMNS)}`;
  return row;
}

/** A change of one of several withdrawals, whose changes have the same columns. */
export interface WithdrawalUpdate {
  id: string;
  change: Omit<
    WithdrawalChange,
    "speed" | "max_fee" | "fee" | "charged" | "surcharge" | "block" | "gas"
  >;
  entry: HistoryEntry | null;
}

/** Types of the columns that several withdrawals change at once. */
const UPDATED: Readonly<Record<keyof WithdrawalUpdate["change"], string>> = {
  status: "text",
  hash: "text",
  nonce: "integer",
  height: "integer",
  confirmations: "integer",
  cost: "numeric",
  returned: "numeric",
  error: "jsonb",
};

/**
 * Changes withdrawals as {@link updateWithdrawal} changes one. Gives them in the order of the changes. Each is looked
 * up by its id: a join that was planned while there were none reads all.
 */
export async function updateWithdrawals(
  tx: Tx,
  updates: readonly WithdrawalUpdate[],
  at: number,
): Promise<WithdrawalRow[]> {
  if (updates.length === 0) return [];
  const columns = Object.keys(updates[0].change) as (keyof typeof UPDATED)[];
  const given = updates.map(({ id, change, entry }) => ({
    ...{ ...change, given: id },
    added: entry === null ? [] : [entry],
  }));
  const set = columns.map((name) => `${name} = q.${name}`);
  const types = columns.map((name) => `${name} ${UPDATED[name]}`);
  const rows = await tx.unsafe<WithdrawalRow[]>(
    `update withdrawals w set ${[...set, "history = w.history || q.added"].join(", ")},
        updated_at = to_timestamp($2::bigint / 1000.0)
      from jsonb_to_recordset($1::text::jsonb)
        q(${["given uuid", "added jsonb", ...types].join(", ")})
      where w.id = q.given and w.ctid = any (array(
        select f.ctid from unnest($3::text::uuid[]) u(id),
          lateral (select ctid from withdrawals where id = u.id offset 0) f))
      returning ${COLUMNS.map((name) => `w.${name}`).join(", ")}`,
    [JSON.stringify(given), `${at}`, `{${updates.map(({ id }) => id).join(",")}}`],
    { prepare: true },
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  return updates.flatMap(({ id }) => byId.get(id) ?? []);
}

/**
 * Adds to the histories of withdrawals what was found of a transaction, in the order of their ids. An entry of before that
 * told the same of it gives way to the new one, which counts them: a chain may flip between two blocks for long.
 */
export async function noteFound(
  tx: Tx,
  ids: readonly string[],
  entry: HistoryEntry & { hash: string; paid: boolean },
): Promise<WithdrawalRow[]> {
  if (ids.length === 0) return [];
  const told = tx`h.e ->> 'event' = 'found' and h.e ->> 'hash' = ${entry.hash}
    and h.e -> 'paid' = ${tx.json(entry.paid)}`;
  const times = tx`sum(coalesce((h.e ->> 'times')::integer, 1)) filter (where ${told})`;
  const rows = await tx<WithdrawalRow[]>`
    update withdrawals w set updated_at = ${entry.at}, history = (
      select coalesce(jsonb_agg(h.e order by h.n) filter (where (${told}) is not true), '[]')
        || jsonb_strip_nulls(${
    tx.json(entry as never)
  }::jsonb || jsonb_build_object('times', ${times} + 1))
      from jsonb_array_elements(w.history) with ordinality h(e, n))
    where w.ctid = any (array(
      select f.ctid from unnest(${`{${ids.join(",")}}`}::text::uuid[]) u(id),
        lateral (select ctid from withdrawals where id = u.id offset 0) f))
    returning ${tx(COLUMNS)}`;
  return rows.toSorted((one, other) => one.id < other.id ? -1 : 1);
}

/** Changes the free-form part. */
export async function updateWithdrawalData(
  tx: Tx,
  id: string,
  data: Record<string, unknown>,
  at: number,
): Promise<WithdrawalRow> {
  const [row] = await tx<WithdrawalRow[]>`
    update withdrawals set data = ${tx.json(data as never)}, updated_at = ${at}
    where id = ${id} returning ${tx(COLUMNS)}`;
  return row;
}
