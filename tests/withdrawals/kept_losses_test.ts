import { deepEqual, equal, ok } from "node:assert/strict";
import type { Tx } from "../../db/database.ts";
import { selectHolderLosses } from "../../db/sending/holder_losses.ts";
import { reading, serializable } from "../../db/transaction.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { asSuperuser } from "../support/database.ts";
import { type FundedRamp, openFundedRamp } from "../support/evm_fixture.ts";
import { leaveBroken, rowsOf, type TestRealm } from "../support/realm.ts";

const USERS = 40;
const DEEP = 2_000;

/** The rule as it is told: up to the house by makers, then down to all that those made. */
const RULE = `with recursive makers as (
    select id, owner from users where identity = $1 and not is_house(users)
    union select u.id, u.owner from makers m join users u on u.id = m.owner and not is_house(u)
  ), made as (
    select id from makers
    union select u.id from made m join users u on u.owner = m.id and not is_house(u)
  )
  select coalesce(sum(l.lost), 0)::integer as lost from holder_losses l
  where l.holder = $1 or l.holder in (select identity from users where id in (select id from made))`;

/** Adds a user that another made. */
async function addUser(
  realm: TestRealm,
  of: { id: string; identity: string; owner: string; house: boolean },
): Promise<void> {
  await rowsOf(
    realm,
    `insert into users (id, username, folded, verifier, password_digest, identity, roles, scopes, owner, created_at)
      select $1, $1::uuid::text, $1::uuid::text, verifier, '', $2, array['admin', 'user'],
        case when $4 then array['own', 'realm'] else array['own'] end, $3, now()
      from users limit 1`,
    [of.id, of.identity, of.owner, of.house],
  );
}

/** Gives the account another holder, which no right of the service's can. */
async function give({ realm, account }: FundedRamp, holder: string): Promise<void> {
  await asSuperuser(`set session_replication_role = replica;
    update ${
    locationOf(realm.made.realm).schema
  }.accounts set holder = '${holder}' where id = '${account}';
    set session_replication_role = origin`);
}

/** A withdrawal of an account, which is given to one holder after the other. */
async function lossOf(funded: FundedRamp, holder: string, order: string) {
  await give(funded, holder);
  const [row] = await reading(funded.realm.pool, (db) => selectHolderLosses(db, [order], 30));
  return row === undefined ? null : Number(BigInt(row.lost) / 10n ** 18n);
}

Deno.test("the losses by users of one maker are the same by the stored sums as by a walk, also after one becomes the house", async () => {
  await using funded = await openFundedRamp();
  const { realm } = funded;
  await leaveBroken(realm);
  const made = await funded.withdraw("1");
  equal(made.status, 201, made.text);
  const [{ order }] = await rowsOf<{ order: string }>(
    realm,
    "select id as order from chain_orders",
  );
  let seed = 7;
  const below = (n: number) => (seed = seed * 1103515245 + 12345 & 0x7fffffff) % n;
  const users: string[] = [];
  const identities: string[] = [];
  const note = (holder: string, lost: number) =>
    rowsOf(
      realm,
      `insert into holder_losses (holder, asset, testnet, day, lost)
        values ($1, 'ETH', false, (now() at time zone 'utc')::date, $2)
        on conflict (holder, asset, testnet, day) do update set lost = holder_losses.lost + excluded.lost`,
      [holder, lost],
    );
  async function agree(when: string): Promise<void> {
    for (const holder of new Set(identities)) {
      const [{ lost }] = await rowsOf<{ lost: number }>(realm, RULE, [holder]);
      const house = await rowsOf(
        realm,
        "select from users u where identity = $1 and is_house(u)",
        [holder],
      );
      equal(
        await lossOf(funded, holder, order),
        house.length > 0 ? null : lost,
        `${when} ${holder}`,
      );
    }
  }
  for (let n = 0; n < USERS; n++) {
    const id = crypto.randomUUID();
    const [fresh] = await rowsOf<{ id: string }>(
      realm,
      `insert into identities (id, type, country, currency, data, owner, created_at)
        values (gen_random_uuid(), 'neutral', 'US', 'USD', '{}', $1, now()) returning id`,
      [id],
    );
    const shared = n > 0 && below(5) === 0;
    const identity = shared ? identities[below(n)] : fresh.id;
    const owner = n === 0 || below(4) === 0 ? id : users[below(n)];
    await addUser(realm, { id, identity, owner, house: below(8) === 0 });
    users.push(id);
    identities.push(identity);
    if (below(2) === 0) await note(identity, below(9) - 2);
  }
  await agree("made");
  for (let n = 0; n < 8; n++) {
    const to = n % 2 === 0 ? "array['own', 'realm']" : "array['own']";
    await rowsOf(realm, `update users set scopes = ${to} where id = $1`, [users[below(USERS)]]);
    await note(identities[below(USERS)], 1 + below(9));
  }
  await agree("changed");
});

Deno.test("users that are made one by the other do not slow the check of their withdrawals", async () => {
  await using funded = await openFundedRamp();
  const { realm } = funded;
  await leaveBroken(realm);
  const made = await funded.withdraw("1");
  equal(made.status, 201, made.text);
  const customer = await realm.user();
  await rowsOf(
    realm,
    `with recursive line as (
      select $1::uuid as owner, gen_random_uuid() as id, 1 as n
      union all select id, gen_random_uuid(), n + 1 from line where n < ${DEEP}
    ) insert into users (id, username, folded, verifier, password_digest, identity, roles, scopes, owner, created_at)
      select l.id, l.id::text, l.id::text, u.verifier, '', u.identity, u.roles, u.scopes, l.owner, now()
      from line l cross join users u where u.id = $1 order by l.n`,
    [customer.id],
  );
  const roots = await rowsOf(realm, "select distinct root from users where identity = $1", [
    customer.identity,
  ]);
  deepEqual([...roots], [{ root: customer.id }]);
  await give(funded, customer.identity);
  const [{ order }] = await rowsOf<{ order: string }>(
    realm,
    "select id as order from chain_orders",
  );
  await rowsOf(
    realm,
    `insert into holder_losses (holder, asset, testnet, day, lost)
      values ($1, 'ETH', false, (now() at time zone 'utc')::date, 3)`,
    [customer.identity],
  );
  await rowsOf(realm, "analyze users");
  const read = async (tx: Tx) => {
    const [{ rows }] = await tx<{ rows: number }[]>`
      select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::integer as rows
      from pg_stat_xact_user_tables where relid = 'users'::regclass`;
    return rows;
  };
  const rows = await serializable(realm.pool, async (tx) => {
    const before = await read(tx);
    const [{ lost }] = await selectHolderLosses(tx, [order], 30);
    equal(BigInt(lost), 3n * 10n ** 18n);
    return await read(tx) - before;
  });
  ok(rows < 50, `${rows} rows of users`);
});
