/** Statements on second factors of users. @module */
import type { Db, Tx } from "../database.ts";

/** A second factor as stored. */
export interface SecondFactorRow {
  user_id: string;
  /** Encrypted. */
  secret: Uint8Array;
  confirmed_at: number | null;
  last_step: number;
  /** Recovery codes that are left. */
  recovery_left: number;
  /** Wrong codes that came with the right password in a day, and the seconds that are left of it. */
  wrong: number;
  wrong_left_s: number;
  created_at: number;
}

/** The time in which wrong codes are counted, from the first of them on. */
const COUNTED = "24 hours";

/** Reads a user's second factor. */
export async function selectSecondFactor(db: Db, user: string): Promise<SecondFactorRow | null> {
  const [row] = await db<SecondFactorRow[]>`
    select ${columns(db)} from second_factors where user_id = ${user}`;
  return row ?? null;
}

function columns(db: Db) {
  return db`user_id, secret, confirmed_at, last_step::float8 as last_step, cardinality(recovery) as recovery_left,
    created_at, case when wrong_since > now() - ${COUNTED}::interval then wrong_codes else 0 end as wrong,
    coalesce(greatest(1, ceil(extract(epoch from wrong_since + ${COUNTED}::interval - now()))), 1)::integer
      as wrong_left_s`;
}

/** Reads and locks a user's second factor. */
export async function lockSecondFactor(tx: Tx, user: string): Promise<SecondFactorRow | null> {
  const [row] = await tx<SecondFactorRow[]>`
    select ${columns(tx)} from second_factors where user_id = ${user} for update`;
  return row ?? null;
}

/** Counts a wrong code; the first of a day begins it. Gives how many there are. */
export async function noteWrongCode(tx: Tx, user: string): Promise<number> {
  const [row] = await tx<{ wrong_codes: number }[]>`
    update second_factors set
      wrong_codes = case when wrong_since > now() - ${COUNTED}::interval then wrong_codes + 1 else 1 end,
      wrong_since = case when wrong_since > now() - ${COUNTED}::interval then wrong_since else now() end
    where user_id = ${user} returning wrong_codes`;
  return row.wrong_codes;
}

/** Forgets the wrong codes of a user: those that came with a password which is no longer the user's. */
export async function forgetWrongCodes(tx: Tx, user: string): Promise<void> {
  await tx`
    update second_factors set wrong_codes = 0, wrong_since = null
    where user_id = ${user} and wrong_codes > 0`;
}

/** Replaces an unconfirmed second factor by a new one to be confirmed. */
export async function replaceSecondFactor(
  tx: Tx,
  factor: { user_id: string; secret: Uint8Array; created_at: number },
): Promise<void> {
  await tx`delete from second_factors where user_id = ${factor.user_id}`;
  await tx`
    insert into second_factors (user_id, secret, created_at)
    values (${factor.user_id}, ${factor.secret}, ${factor.created_at})`;
}

/** Confirms a second factor by its first code, with the digests of its recovery codes. */
export async function confirmSecondFactor(
  tx: Tx,
  user: string,
  to: { at: number; step: number; recovery: Uint8Array[] },
): Promise<void> {
  const digests = to.recovery.map((digest) => digest.toHex());
  await tx`
    update second_factors set confirmed_at = ${to.at}, last_step = ${to.step},
      recovery = array(select decode(d, 'hex') from unnest(${digests}::text[]) d)
    where user_id = ${user}`;
}

/** Stores the time step of the last accepted code. */
export async function markStep(tx: Tx, user: string, step: number): Promise<void> {
  await tx`update second_factors set last_step = ${step} where user_id = ${user}`;
}

/** Deletes a recovery code that was used; false where there is none. */
export async function takeRecoveryCode(
  tx: Tx,
  user: string,
  digest: Uint8Array,
): Promise<boolean> {
  const rows = await tx`
    update second_factors set recovery = array_remove(recovery, ${digest}::bytea)
    where user_id = ${user} and ${digest}::bytea = any (recovery) returning user_id`;
  return rows.length > 0;
}

/** Removes a user's second factor; false where there was none. */
export async function deleteSecondFactor(tx: Tx, user: string): Promise<boolean> {
  return (await tx`delete from second_factors where user_id = ${user} returning user_id`).length >
    0;
}

/** Locks and reads encrypted secrets in the order of their users, after one of them. */
export async function lockSecondFactors(
  tx: Tx,
  after: string | null,
  limit: number,
): Promise<{ user_id: string; secret: Uint8Array }[]> {
  return await tx<{ user_id: string; secret: Uint8Array }[]>`
    select user_id, secret from second_factors
    where ${after === null ? tx`true` : tx`user_id > ${after}`}
    order by user_id limit ${limit} for update`;
}

/** Replaces the encrypted form of the same secret. */
export async function updateFactorSecret(tx: Tx, user: string, secret: Uint8Array): Promise<void> {
  await tx`update second_factors set secret = ${secret} where user_id = ${user}`;
}
