/**
 * Statements on leases of repeated work: their holder, their end, and when the work is due again.
 * @module
 */
import type { Db } from "./database.ts";

/** Takes a lease that is due and not held; false otherwise. */
export async function takeLease(
  db: Db,
  lease: { name: string; owner: string; leaseMs: number },
): Promise<boolean> {
  const rows = await db`
    insert into leases (name, owner_process, until, next_at)
    values (${lease.name}, ${lease.owner},
      now() + make_interval(secs => ${lease.leaseMs} / 1000.0), now())
    on conflict (name) do update set owner_process = excluded.owner_process, until = excluded.until
      where leases.until <= now() and leases.next_at <= now()
    returning name`;
  return rows.length > 0;
}

/** Prolongs a lease; false when another holds it now. */
export async function prolongLease(
  db: Db,
  lease: { name: string; owner: string; leaseMs: number },
): Promise<boolean> {
  const rows = await db`
    update leases set until = now() + make_interval(secs => ${lease.leaseMs} / 1000.0)
    where name = ${lease.name} and owner_process = ${lease.owner} and until > now() returning name`;
  return rows.length > 0;
}

/** Ends a lease; the work is due again after a while. */
export async function endLease(
  db: Db,
  lease: { name: string; owner: string; againMs: number },
): Promise<void> {
  await db`
    update leases set until = now(),
      next_at = now() + make_interval(secs => ${lease.againMs} / 1000.0)
    where name = ${lease.name} and owner_process = ${lease.owner}`;
}
