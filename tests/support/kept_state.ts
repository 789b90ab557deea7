/** The state with which several tests begin: the rows of a realm and the chain of its node, which are put back. @module */
import postgres from "postgres";
import { locationOf } from "../../domain/realms/realms.ts";
import { superuserUrl } from "./database.ts";
import type { Anvil } from "./nodes/anvil.ts";
import type { TestRealm } from "./realm.ts";

/** Tables of the platform with rows of a realm that change while it is used. */
const PLATFORM_TABLES = ["realm_steps", "realm_faults", "own_addresses"];

/** Has something be as it was. Nothing may be under way. */
export type PutBack = () => Promise<void>;

/** Rows that were kept. */
export interface KeptRows extends AsyncDisposable {
  readonly putBack: PutBack;
}

/** Keeps the chain of a node; gives what puts it back. */
export async function keepChain({ rpc }: Pick<Anvil, "rpc">): Promise<PutBack> {
  const told = await rpc<{ baseFeePerGas: string[] }>("eth_feeHistory", "0x1", "latest", []);
  const fee = told.baseFeePerGas[1];
  let before = await rpc<string>("evm_snapshot");
  return async () => {
    await rpc("evm_revert", before);
    before = await rpc<string>("evm_snapshot");
    await rpc("anvil_dropAllTransactions");
    // The price of gas has not gone back with the chain, and the clock has.
    await rpc("anvil_setNextBlockBaseFeePerGas", fee);
    await rpc("evm_setTime", Math.floor(Date.now() / 1000));
  };
}

/** Keeps the rows of a realm. */
export async function keepRows(realm: TestRealm): Promise<KeptRows> {
  const sql = postgres(superuserUrl(), { max: 1, onnotice: () => {} });
  const { schema } = locationOf(realm.made.realm);
  await sql.unsafe(KEEPING);
  await sql`select pg_temp.keep(${schema}, ${realm.id}, ${PLATFORM_TABLES})`;
  const [{ epoch }] = await sql<{ epoch: string }[]>`
    select login_epoch as epoch from platform.realms where id = ${realm.id}`;
  return {
    async putBack() {
      await sql`select pg_temp.put_back()`;
      await sql`update platform.realms set login_epoch = ${epoch} where id = ${realm.id}`;
      await sql`comment on schema ${sql(schema)} is null`; // whatever was broken on purpose is whole again
      await realm.admin.renew();
    },
    [Symbol.asyncDispose]: () => sql.end(),
  };
}

/** What is kept lies in temporary tables: in no schema that others look into. */
const KEEPING = `
create temp table kept (at text, named text, here text);
create function pg_temp.keep(realm_schema text, realm text, shared text[]) returns void language plpgsql as $$
declare
  t record;
  filled boolean;
begin
  for t in select relname, format('%I.%I', realm_schema, relname) as named, '' as only_here from pg_class
        where relnamespace = realm_schema::regnamespace and relkind in ('r', 'p') and not relispartition
      union all select one, format('platform.%I', one), format(' where realm = %L', realm) from unnest(shared) one loop
    execute format('select exists (select from %s%s)', t.named, t.only_here) into filled;
    insert into kept values (case when filled then format('pg_temp.%I', 'kept_' || t.relname) end, t.named, t.only_here);
    if filled then
      execute format('create temp table %I as select * from %s%s', 'kept_' || t.relname, t.named, t.only_here);
    end if;
  end loop;
end $$;
create function pg_temp.put_back() returns void language plpgsql set session_replication_role = replica as $$
declare t record;
begin
  for t in select * from kept loop
    execute format('delete from %s%s', t.named, t.here);
    if t.at is not null then
      execute format('insert into %s overriding system value select * from %s', t.named, t.at);
    end if;
  end loop;
end $$`;
