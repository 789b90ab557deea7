/** Statements of the health check. @module */
import type { Db } from "./database.ts";

/** State of the database, as it reports it. */
export interface DatabaseFacts {
  /** Its clock, epoch milliseconds. */
  at: number;
  /** Whether acknowledged writes survive a crash of its machine. */
  durable: boolean;
  /** Whether the login of the address is a superuser, whom no grant limits. */
  superuser: boolean;
}

/** Tries a write, because a server may answer reads and refuse writes. */
export async function probeDatabase(db: Db): Promise<DatabaseFacts> {
  const [row] = await db<{ at: string; durable: boolean; superuser: boolean }[]>`
    insert into leases (name, owner_process, until, next_at)
    values ('health', gen_random_uuid(), now(), now())
    on conflict (name) do update set until = now()
    returning extract(epoch from clock_timestamp()) * 1000 as at,
      current_setting('fsync') = 'on' and current_setting('full_page_writes') = 'on'
        and current_setting('synchronous_commit') <> 'off' as durable,
      (select bool_or(r.rolsuper) from pg_roles r where r.rolname = session_user or r.oid =
        (select n.nspowner from pg_namespace n where n.nspname = 'platform')) as superuser`;
  return { ...row, at: Number(row.at) };
}

/** The database's time, in milliseconds since the epoch. */
export async function selectDatabaseTime(db: Db): Promise<number> {
  const [row] = await db<
    { at: string }[]
  >`select extract(epoch from clock_timestamp()) * 1000 as at`;
  return Number(row.at);
}

/** Whether the login of the address is a superuser. */
export async function isSuperuser(db: Db): Promise<boolean> {
  const [row] = await db<{ superuser: boolean }[]>`
    select rolsuper as superuser from pg_roles where rolname = session_user`;
  return row.superuser;
}
