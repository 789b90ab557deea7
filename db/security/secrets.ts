/** Statements on encrypted secrets; nothing is decrypted here. @module */
import type { Db, Tx } from "../database.ts";

/** An encrypted secret as stored. */
export interface SecretRow {
  id: string;
  kind: string;
  /** The master key that wraps it. */
  master: string;
  wrapped: Uint8Array;
  ciphertext: Uint8Array;
  created_at: number;
}

const COLUMNS = ["id", "kind", "master", "wrapped", "ciphertext", "created_at"] as const;

/** Adds a secret; of the kind `seed` there is one, and the first stays. Tells whether it was added. */
export async function insertSecret(tx: Tx, secret: SecretRow): Promise<boolean> {
  const rows = await tx`
    insert into secrets ${tx(secret, ...COLUMNS)} on conflict do nothing returning id`;
  return rows.length > 0;
}

/** Reads the only secret of its kind. */
export async function selectSecretOfKind(db: Db, kind: string): Promise<SecretRow | null> {
  const [row] = await db<SecretRow[]>`
    select ${db(COLUMNS)} from secrets where kind = ${kind} order by id limit 1`;
  return row ?? null;
}

/** Reads a secret. */
export async function selectSecret(db: Db, id: string): Promise<SecretRow | null> {
  const [row] = await db<SecretRow[]>`select ${db(COLUMNS)} from secrets where id = ${id}`;
  return row ?? null;
}

/** Whether addresses were made of a seed that the realm no longer has. */
export async function selectSeedNeeded(db: Db): Promise<boolean> {
  const [row] = await db<{ needed: boolean }[]>`
    select exists (select 1 from ramps where next_index > 0)
      and not exists (select 1 from secrets where kind = 'seed') as needed`;
  return row.needed;
}

/** Reads secrets that are wrapped under other master keys than the given one. */
export async function selectSecretsNotUnder(
  db: Db,
  master: string,
  limit: number,
): Promise<SecretRow[]> {
  return await db<SecretRow[]>`
    select ${db(COLUMNS)} from secrets where master <> ${master} order by id limit ${limit}`;
}

/** Replaces the wrapping of a secret, if it is still the one that was read. */
export async function updateWrapping(
  tx: Tx,
  secret: Pick<SecretRow, "id" | "master" | "wrapped">,
  was: string,
): Promise<void> {
  await tx`
    update secrets set master = ${secret.master}, wrapped = ${secret.wrapped}, updated_at = now()
    where id = ${secret.id} and master = ${was}`;
}
