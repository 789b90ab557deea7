/** Statements on external ramps: authentication records of accounts at exchanges. @module */
import type { Db, Tx } from "../database.ts";
import { selectDatabaseTime } from "../health.ts";
import { selectDueInTurns } from "./due_turns.ts";

/** An asset that an exchange sends or receives. Amounts are decimals in whole units. */
export interface OfferedAsset {
  /** Our code. */
  asset: string;
  /** The exchange's names of currency and network, as the client library writes them. */
  currency: string;
  network: string;
  /** Whether the exchange pays it out to us, and takes it from us. */
  deposit: boolean;
  withdraw: boolean;
  /** The least that the exchange pays out, and its fee for it. */
  minimum: string | null;
  fee: string | null;
  /** The least that the exchange credits of what is paid to it. */
  withdraw_minimum: string | null;
  /** Fractional digits that the exchange takes. */
  decimals: number;
}

/** An external ramp as stored, without its credentials. */
export interface ExternalRampRow {
  id: string;
  /** Id of the exchange. */
  ramp: string;
  identity: string;
  /** The key that its credentials are encrypted for. */
  key: string;
  hint: string;
  status: "PENDING" | "READY" | "REFUSED";
  assets: OfferedAsset[];
  /** When its credentials were given. */
  credentials_at: number;
  checked_at: number | null;
  /** When it is checked again. */
  check_at: number;
  /** Checks in a row that failed, or that the exchange refused. */
  failures: number;
  data: Record<string, unknown>;
  owner: string;
  error: { code?: string; detail?: string } | null;
  deleted_at: number | null;
  updated_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "id",
  "ramp",
  "identity",
  "key",
  "hint",
  "status",
  "assets",
  "credentials_at",
  "checked_at",
  "check_at",
  "failures",
  "data",
  "owner",
  "error",
  "deleted_at",
  "updated_at",
  "created_at",
] as const;

/** Encrypted credentials, and what is shown of them. */
export interface StoredCredentials {
  key: string;
  credentials: Uint8Array;
  hint: string;
}

/** A new external ramp. */
export type NewExternalRampRow =
  & Pick<
    ExternalRampRow,
    "id" | "ramp" | "identity" | "data" | "owner" | "created_at"
  >
  & StoredCredentials;

/** Adds an external ramp. */
export async function insertExternalRamp(
  tx: Tx,
  row: NewExternalRampRow,
): Promise<ExternalRampRow> {
  const [made] = await tx<ExternalRampRow[]>`
    insert into external_ramps ${
    tx({
      ...row,
      data: tx.json(row.data as never),
      credentials_at: await selectDatabaseTime(tx),
    })
  }
    returning ${tx(COLUMNS)}`;
  return made;
}

/** Reads external ramps by their ids, deleted ones too. */
export async function selectExternalRamps(db: Db, ids: string[]): Promise<ExternalRampRow[]> {
  return await db<ExternalRampRow[]>`
    select ${db(COLUMNS)} from external_ramps where id = any (${ids}::uuid[])`;
}

/** Counts the external ramps of a user that are not deleted. */
export async function countExternalRamps(db: Db, owner: string): Promise<number> {
  const [{ count }] = await db<{ count: number }[]>`
    select count(*)::integer as count
    from (select deleted_at from external_ramps where owner = ${owner} offset 0) r where deleted_at is null`;
  return count;
}

/** Replaces the free-form part of an external ramp. */
export async function updateExternalRampData(
  tx: Tx,
  id: string,
  data: Record<string, unknown>,
  at: number,
): Promise<void> {
  await tx`
    update external_ramps set data = ${tx.json(data as never)}, updated_at = ${at}
    where id = ${id}`;
}

/**
 * Replaces the credentials of an external ramp; they count as not checked. By the database's clock, which dates orders
 * too, they are later than whatever was ordered and not begun before, also where that clock was put back.
 */
export async function updateCredentials(
  tx: Tx,
  id: string,
  of: StoredCredentials,
  at: number,
): Promise<void> {
  await tx`
    update external_ramps set key = ${of.key}, credentials = ${of.credentials}, hint = ${of.hint},
      credentials_at = date_trunc('milliseconds', greatest(clock_timestamp(), credentials_at + interval '1 ms',
        (select max(t.created_at) + interval '1 ms'
        from ramp_transfers t where t.external_ramp = external_ramps.id and t.state = 'new'))),
      status = 'PENDING', error = null, check_at = ${at}, failures = 0, updated_at = ${at}
    where id = ${id}`;
}

/** The outcome of a check. */
export interface CheckOutcome {
  status: ExternalRampRow["status"];
  assets: OfferedAsset[];
  error: unknown;
  /** Whether it is known now if the exchange accepts the key. */
  answered: boolean;
  /** When it is checked again. */
  check_at: number;
  failures: number;
}

/** Stores the outcome of a check, unless the credentials were replaced meanwhile. */
export async function updateChecked(
  tx: Tx,
  of: Pick<ExternalRampRow, "id" | "credentials_at">,
  outcome: CheckOutcome,
  at: number,
): Promise<void> {
  const { status, assets, error, answered, check_at, failures } = outcome;
  await tx`
    update external_ramps set status = ${status}, assets = ${tx.json(assets as never)},
      error = ${
    error === null ? null : tx.json(error as never)
  }, check_at = ${check_at}, failures = ${failures},
      checked_at = case when ${answered} then ${at}::timestamptz else checked_at end
    where id = ${of.id} and credentials_at = ${of.credentials_at}`;
}

/** Reads the encrypted credentials of an external ramp that is not deleted. */
export async function selectCredentials(
  db: Db,
  id: string,
): Promise<{ key: string; credentials: Uint8Array } | null> {
  const [row] = await db<{ key: string; credentials: Uint8Array }[]>`
    select key, credentials from external_ramps where id = ${id}`;
  return row ?? null;
}

/** Reads which external ramps are due for a check, with their owners, in turns of these: see {@link selectDueInTurns}. */
export async function selectDueRamps(
  db: Db,
  at: number,
  limit: number,
): Promise<{ id: string; owner: string }[]> {
  const of = {
    table: db`external_ramps`,
    is: db`deleted_at is null`,
    due: db`check_at`,
    fields: db`id, owner`,
  };
  return await selectDueInTurns(db, of, { at, limit });
}

/** Adds the public half of a key. */
export async function insertExchangeKey(
  tx: Tx,
  key: { id: string; public_key: Uint8Array; created_at: number },
): Promise<void> {
  await tx`insert into exchange_keys ${tx(key)}`;
}

/** Reads a public key. */
export async function selectPublicKey(db: Db, id: string): Promise<Uint8Array | null> {
  const [row] = await db<{ public_key: Uint8Array }[]>`
    select public_key from exchange_keys where id = ${id}`;
  return row?.public_key ?? null;
}

/** Reads the newest public key; null before a worker has made one. */
export async function selectExchangeKey(
  db: Db,
): Promise<{ id: string; public_key: Uint8Array } | null> {
  const [row] = await db<{ id: string; public_key: Uint8Array }[]>`
    select id, public_key from exchange_keys order by id desc limit 1`;
  return row ?? null;
}
