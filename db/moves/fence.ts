/**
 * The fence of a realm's old place: once it is committed no transaction writes there any more, whatever it
 * waited for and with whose rights it runs, and the realm's roles read nothing there.
 * @module
 */
import type { Tx } from "../database.ts";
import { MOVED } from "../errors.ts";
import { FENCE, isFenced } from "../migrate.ts";
import { lockDeparture } from "./departures.ts";
import { quoted, type TableShape, within } from "./tables.ts";

/** Those that wait for these locks are the realm's writers: rather another try than a long pause. */
const LOCK_WAIT_MAX_MS = 400;
/** The function that keeps a departure as it was recorded. */
const KEPT = `${FENCE}_kept`;

/**
 * Raises the fence for a run of the move. The locks make it wait for the transactions that write; those that wait
 * behind it see its triggers as soon as they have theirs.
 */
export async function raiseFence(
  tx: Tx,
  { schema, role }: { schema: string; role: string },
  tables: readonly TableShape[],
  runner: string,
): Promise<void> {
  const [fence, kept] = [within(schema, FENCE), within(schema, KEPT)];
  const names = tables.map(({ name }) => within(schema, name));
  await tx.unsafe(`set local lock_timeout = ${LOCK_WAIT_MAX_MS};
    lock table ${within(schema, "order_lock")} in exclusive mode;
    lock table ${within(schema, "ledger_lock")} in exclusive mode;
    lock table ${names.join()} in share row exclusive mode;
    set local lock_timeout = 0`);
  if (!await isFenced(tx, schema)) {
    await tx.unsafe(`create table ${fence} (runner uuid not null, move uuid, place integer,
        address bytea, check ((move is null) = (place is null)));
      insert into ${fence} (runner) values ('${runner}');
      create function ${kept}() returns trigger language plpgsql as $$
      begin
        if old.place is not null and (tg_op = 'DELETE'
            or (new.move, new.place, new.address) is distinct from (old.move, old.place, old.address)) then
          raise exception 'the realm has left this place for another' using errcode = '${MOVED}';
        end if;
        return case tg_op when 'DELETE' then old else new end;
      end $$;
      create trigger kept before update or delete on ${fence}
        for each row execute function ${kept}();
      create function ${fence}() returns trigger language plpgsql as $$
      begin
        raise exception 'the realm lives elsewhere' using errcode = '${MOVED}';
      end $$;
      ${
      names.map((name) =>
        `create trigger ${FENCE} before insert or update or delete or truncate on ${name}
        for each statement execute function ${fence}();`
      ).join("\n")
    }`);
  }
  await tx.unsafe(`update ${fence} set runner = '${runner}'`);
  await revokeAll(tx, { schema, role });
}

/** Whether a fence stands, and is this run's, until the transaction ends. */
export async function holdsFence(tx: Tx, schema: string, runner: string): Promise<boolean> {
  if (!await isFenced(tx, schema)) return false;
  const [row] = await tx.unsafe<{ runner: string }[]>(
    `select runner from ${within(schema, FENCE)} for update`,
  );
  return row?.runner === runner;
}

/** Makes a fence that an earlier run has raised this run's own. */
export async function adoptFence(tx: Tx, schema: string, runner: string): Promise<void> {
  if (!await isFenced(tx, schema)) return;
  await tx.unsafe(`update ${within(schema, FENCE)} set runner = '${runner}'`);
}

/** Takes all rights in a schema from the realm's roles. */
export async function revokeAll(
  tx: Tx,
  { schema, role }: { schema: string; role: string },
): Promise<void> {
  const roles = `${quoted(role)}, ${quoted(`${role}_worker`)}`;
  await tx.unsafe(`revoke all on all tables in schema ${quoted(schema)} from ${roles};
    revoke all on all sequences in schema ${quoted(schema)} from ${roles};
    revoke execute on all routines in schema ${quoted(schema)} from ${roles}`);
}

/**
 * Takes the fence away, unless another run has raised it since, or the realm has left the place. The rights are to be
 * stated anew in the same transaction.
 *
 * @returns whether there is no fence now
 */
export async function lowerFence(
  tx: Tx,
  schema: string,
  tables: readonly TableShape[],
  runner: string,
): Promise<boolean> {
  const fence = within(schema, FENCE);
  if (!await isFenced(tx, schema)) return true;
  if (!await holdsFence(tx, schema, runner)) return false;
  if (await lockDeparture(tx, schema) !== null) return false;
  const drops = tables.map(({ name }) =>
    `drop trigger if exists ${FENCE} on ${within(schema, name)};`
  );
  await tx.unsafe(`${drops.join("\n")} drop function ${fence}(); drop table ${fence};
    drop function ${within(schema, KEPT)}()`);
  return true;
}
