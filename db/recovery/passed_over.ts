/** Statements on address indices that a newer database may have handed out. @module */
import type { Db, Tx } from "../database.ts";

/**
 * Skips address indices that a newer database may have handed out, and notes where the first of this
 * quarantine lies.
 */
export async function notePassed(
  tx: Tx,
  ramp: string,
  { from, next }: { from: number; next: number },
): Promise<void> {
  await tx`
    update ramps set next_index = greatest(next_index, ${next}),
      quarantined = quarantined || jsonb_build_object('passed_from', ${from}::integer)
    where account = ${ramp}`;
}

/** Reads the largest index of a ramp's addresses, from one on; null where there is none. */
export async function selectLastIndex(db: Db, ramp: string, from: number): Promise<number | null> {
  const [row] = await db<{ last: number | null }[]>`
    select max(derivation_key) as last from addresses
    where ramp = ${ramp} and derivation_key >= ${from}`;
  return row.last;
}

/**
 * Skips, at the end of a quarantine, address indices that may have been handed out after another restore of
 * the same backup: one for each second since the last address before the quarantine was made, beyond those
 * that were passed over. Each later restore then begins beyond what one before it gave.
 */
export async function skipIndices(
  tx: Tx,
  ramp: string,
  { beyond, last, now }: { beyond: number; last: number; now: number },
): Promise<void> {
  await tx`
    update ramps r set next_index = greatest(r.next_index, ${beyond}::integer,
      least(${last}::bigint, r.next_index + greatest(0, floor(extract(epoch
        from to_timestamp(${now}::float8 / 1000) - greatest(
          (select a.created_at from addresses a where a.ramp = r.account
            and a.derivation_key < (r.quarantined ->> 'passed_from')::integer
            order by a.derivation_key desc limit 1),
          (select p.created_at from passed_addresses p where p.ramp = r.account
            and p.derivation_key < (r.quarantined ->> 'passed_from')::integer
            order by p.derivation_key desc limit 1))))::bigint)))
    where r.account = ${ramp}`;
}

/** Lists the addresses of a ramp from an index on, in their order. */
export async function selectUsed(
  db: Db,
  ramp: string,
  from: number,
): Promise<{ index: number; address: string }[]> {
  return await db<{ index: number; address: string }[]>`
    select derivation_key as index, address from addresses
    where ramp = ${ramp} and derivation_key >= ${from} order by derivation_key`;
}
