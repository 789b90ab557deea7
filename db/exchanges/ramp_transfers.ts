/** Statements on transfers between exchanges and accounts. @module */
import type { Db, Tx } from "../database.ts";
import { selectDueInTurns } from "./due_turns.ts";

/** An id at an exchange that a person named for a transfer: who, and when, in milliseconds since the epoch. */
export interface TransferClaim {
  reference: string;
  by: string;
  at: number;
}

/** A transfer as stored. Amounts are decimals in whole units of the asset. */
export interface RampTransferRow {
  id: string;
  external_ramp: string;
  /** Id of the exchange. */
  exchange: string;
  /** deposit: the exchange pays us. withdraw: we pay the exchange. */
  kind: "deposit" | "withdraw";
  account: string;
  asset: string;
  value: string;
  currency: string;
  exchange_network: string;
  /** What the exchange asked for a payment when the transfer was ordered; null where it is not known. */
  offered_fee: string | null;
  chain: string;
  network: string;
  /** Where it is paid to; of a withdraw, null until the exchange has named it. */
  address: string | null;
  /** The address that the caller expects the exchange to name. */
  expected_address: string | null;
  paid_by: "sender" | "receiver" | null;
  speed: "slow" | "medium" | "fast" | null;
  /** Of a withdraw, the most that its withdrawal may take for fees; null for no bound. */
  max_fee: string | null;
  state: "new" | "asking" | "sent" | "unclear" | "done" | "failed";
  /** Holds the value of a withdraw until its withdrawal exists. */
  block: string | null;
  /** When the exchange was asked to pay; it is asked once. */
  asked_at: number | null;
  /** The exchange's id of its end, as the exchange has told it. */
  reference: string | null;
  /** The id of its end that a person named last. */
  claimed: string | null;
  /** Every id that persons named, oldest first. */
  claims: TransferClaim[];
  exchange_status: string | null;
  exchange_amount: string | null;
  exchange_fee: string | null;
  hash: string | null;
  deposit: string | null;
  withdrawal: string | null;
  /** Whether a newer database may have paid it, or asked for it, already. */
  doubtful: boolean;
  /** Why it waits for a person. */
  reason: string | null;
  tries: number;
  next_at: number;
  data: Record<string, unknown>;
  owner: string;
  error: unknown;
  updated_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "id",
  "external_ramp",
  "exchange",
  "kind",
  "account",
  "asset",
  "value",
  "currency",
  "exchange_network",
  "offered_fee",
  "chain",
  "network",
  "address",
  "expected_address",
  "paid_by",
  "speed",
  "max_fee",
  "state",
  "block",
  "asked_at",
  "reference",
  "claimed",
  "claims",
  "exchange_status",
  "exchange_amount",
  "exchange_fee",
  "hash",
  "deposit",
  "withdrawal",
  "doubtful",
  "reason",
  "tries",
  "next_at",
  "data",
  "owner",
  "error",
  "updated_at",
  "created_at",
] as const;

/** A new transfer. */
export type NewRampTransferRow = Pick<
  RampTransferRow,
  | "id"
  | "external_ramp"
  | "exchange"
  | "kind"
  | "account"
  | "asset"
  | "value"
  | "currency"
  | "exchange_network"
  | "offered_fee"
  | "chain"
  | "network"
  | "address"
  | "expected_address"
  | "paid_by"
  | "speed"
  | "max_fee"
  | "block"
  | "data"
  | "owner"
  | "created_at"
>;

/** Adds a transfer. */
export async function insertRampTransfer(
  tx: Tx,
  row: NewRampTransferRow,
): Promise<RampTransferRow> {
  const [made] = await tx<RampTransferRow[]>`
    insert into ramp_transfers ${tx({ ...row, data: tx.json(row.data as never) })}
    returning ${tx(COLUMNS)}`;
  return made;
}

/** Reads a transfer. */
export async function selectRampTransfer(db: Db, id: string): Promise<RampTransferRow | null> {
  const [row] = await db<RampTransferRow[]>`
    select ${db(COLUMNS)} from ramp_transfers where id = ${id}`;
  return row ?? null;
}

/** Reads and locks a transfer. */
export async function lockRampTransfer(tx: Tx, id: string): Promise<RampTransferRow | null> {
  const [row] = await tx<RampTransferRow[]>`
    select ${tx(COLUMNS)} from ramp_transfers where id = ${id} for update`;
  return row ?? null;
}

/** Reads transfers of an external ramp, oldest first, with how many there are. */
export async function selectRampTransfers(
  db: Db,
  ramp: string,
  part: { states: readonly string[] | null; limit: number; offset: number },
): Promise<{ rows: RampTransferRow[]; total: number }> {
  const states = part.states as string[] | null;
  const which =
    db`external_ramp = ${ramp} and (${states}::text[] is null or state = any (${states}))`;
  const rows = await db<RampTransferRow[]>`
    select ${db(COLUMNS)} from ramp_transfers where ${which}
    order by id limit ${part.limit} offset ${part.offset}`;
  const [{ count }] = await db<{ count: number }[]>`
    select count(*)::integer as count from ramp_transfers where ${which}`;
  return { rows, total: count };
}

/** A change of a transfer. */
export type RampTransferChange = Partial<
  Pick<
    RampTransferRow,
    | "state"
    | "address"
    | "asked_at"
    | "reference"
    | "claimed"
    | "claims"
    | "exchange_status"
    | "exchange_amount"
    | "exchange_fee"
    | "hash"
    | "deposit"
    | "withdrawal"
    | "reason"
    | "tries"
    | "next_at"
    | "error"
  >
>;

/** Changes a transfer. */
export async function updateRampTransfer(
  tx: Tx,
  id: string,
  change: RampTransferChange,
  at: number,
): Promise<RampTransferRow> {
  const { error, claims, ...rest } = change;
  const noted = {
    ...error === undefined ? {} : { error: tx.json(error as never) },
    ...claims === undefined ? {} : { claims: tx.json(claims as never) },
  };
  const [row] = await tx<RampTransferRow[]>`
    update ramp_transfers set ${tx({ ...rest, ...noted, updated_at: at } as never)}
    where id = ${id} returning ${tx(COLUMNS)}`;
  return row;
}

/** An open transfer that is due. */
export type DueTransfer = Pick<RampTransferRow, "id" | "external_ramp" | "owner">;

/** Reads which open transfers are due, in turns of their owners: see {@link selectDueInTurns}. */
export async function selectDueTransfers(
  db: Db,
  at: number,
  limit: number,
): Promise<DueTransfer[]> {
  const of = {
    table: db`ramp_transfers`,
    is: db`state not in ('done', 'failed')`,
    due: db`next_at`,
    fields: db`id, external_ramp, owner`,
  };
  return await selectDueInTurns(db, of, { at, limit });
}

/** Tells which ends at an exchange belong to transfers already. */
export async function selectTaken(
  db: Db,
  of: Pick<RampTransferRow, "exchange" | "kind" | "id">,
  references: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db<{ reference: string }[]>`
    select reference from ramp_transfers where exchange = ${of.exchange} and kind = ${of.kind}
      and reference = any (${references as string[]}) and id <> ${of.id}`;
  return new Set(rows.map(({ reference }) => reference));
}

/** Tells whether another transfer of the same value to the same address was asked for, and its end is not known. */
export async function selectAlikeAsked(
  db: Db,
  of: Pick<RampTransferRow, "id" | "exchange" | "address" | "value">,
): Promise<boolean> {
  const [row] = await db<{ is: boolean }[]>`
    select exists (select from ramp_transfers where address = ${of.address} and reference is null
      and asked_at is not null and exchange = ${of.exchange} and value = ${of.value}
      and id <> ${of.id} and state in ('asking', 'unclear')) as is`;
  return row.is;
}

/** Finds the credited deposits of a transaction to a transfer's address that no other transfer has, and that are not older. */
export async function selectCredited(
  db: Db,
  of: Pick<RampTransferRow, "chain" | "network" | "address" | "asset" | "created_at"> & {
    hash: string;
  },
): Promise<{ id: string; credited: string }[]> {
  return await db<{ id: string; credited: string }[]>`
    select d.id, d.credited from deposits d
    where d.chain = ${of.chain} and d.network = ${of.network} and d.address = ${of.address}
      and d.asset = ${of.asset} and d.status = 'CONFIRMED' and lower(d.hash) = lower(${of.hash})
      and d.created_at >= ${of.created_at}::timestamptz - interval '1 minute'
      and not exists (select from ramp_transfers t where t.deposit = d.id)
    order by d.index limit 100`;
}

/** The address that deposits for an account are sent to: its own, or the oldest that serves it. */
export async function selectReceivingAddress(db: Db, account: string): Promise<string | null> {
  const [row] = await db<{ address: string }[]>`
    select address from (
      select address, id, 0 as rank from addresses where account = ${account}
      union all
      (select address, id, 1 from addresses where target_account = ${account} order by id limit 1)) a
    order by rank, id limit 1`;
  return row?.address ?? null;
}

/** The address that an exchange named last for an asset, on which money was sent. */
export async function selectLastAddress(
  db: Db,
  of: Pick<RampTransferRow, "external_ramp" | "asset" | "exchange_network">,
): Promise<string | null> {
  const [row] = await db<{ address: string }[]>`
    select address from ramp_transfers where external_ramp = ${of.external_ramp}
      and kind = 'withdraw' and asset = ${of.asset} and exchange_network = ${of.exchange_network}
      and withdrawal is not null order by id desc limit 1`;
  return row?.address ?? null;
}
