/**
 * The laws of the ledger, checked in its own rows after each plan. A law is a query that finds
 * what breaks it.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import type { Event } from "./linearizability.ts";
import { type Ledger, unitsOf } from "./ledger_model_state.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { postedIn } from "./run_plan.ts";
import type { Fixture, Scene } from "./fixture.ts";

/** Each invariant, with the query that finds its violations. */
export const INVARIANTS: Readonly<Record<string, string>> = {
  "entries sum to zero per asset": `
    select a.asset, sum(e.amount) from entries e join accounts a on a.id = e.account
    group by 1 having sum(e.amount) <> 0`,
  "a transaction has two entries, of its source and its destination": `
    select t.id from transactions t
    left join entries s on s.transaction = t.id and s.account = t.source
      and s.seq = t.source_seq and s.amount = -t.amount
    left join entries d on d.transaction = t.id and d.account = t.destination
      and d.seq = t.destination_seq and d.amount = t.amount
    where s.account is null or d.account is null`,
  "an entry belongs to a transaction": `
    select e.account, e.seq from entries e left join transactions t on t.id = e.transaction
      and ((t.source, t.source_seq) = (e.account, e.seq)
        or (t.destination, t.destination_seq) = (e.account, e.seq))
    where t.id is null`,
  "a balance is the sum of its entries": `
    select a.id from accounts a left join entries e on e.account = a.id
    group by a.id having a.total <> coalesce(sum(e.amount), 0) or a.seq <> count(e.seq)
      or a.seq <> coalesce(max(e.seq), 0)`,
  "running balances are a chain": `
    select account, seq from (select account, seq, amount, balance,
        lag(balance, 1, 0) over w as before, lag(seq, 1, 0) over w as last
      from entries window w as (partition by account order by seq)) e
    where balance <> before + amount or seq <> last + 1`,
  "nothing but a system account is ever below zero": `
    select e.account, e.seq from entries e join accounts a on a.id = e.account
    where a.type <> 'system' and (e.balance < 0
      or e.blocked + coalesce(e.linked, 0) > e.balance)`,
  "blocked is the sum of the open blocks": `
    select a.id from accounts a
    left join blocks b on b.account = a.id and b.status = 'OPEN'
    group by a.id having a.blocked <> coalesce(sum(b.amount), 0)`,
  "a block that expired was over": `
    select id from blocks where status = 'EXPIRED'
      and (expires_at is null or closed_at < expires_at)`,
  "available is never below zero": `
    select id from accounts where type <> 'system' and (blocked < 0
      or total < blocked + linked)`,
  "what is captured went where its transaction says": `
    select b.id from blocks b left join transactions t on t.id = b.transaction
    where b.status = 'CAPTURED' and (t.id is null or t.type <> 'capture'
      or t.source <> b.account or t.amount <> b.captured)`,
  "what is in circulation was issued and not destroyed": `
    select c.name from currencies c
    join accounts a on a.asset = c.name and a.type <> 'system'
    group by c.id, c.name, c.supply having sum(a.total) <> c.supply or c.supply <> coalesce((
      select sum(case i.operation when 'issue' then i.amount else -i.amount end)
      from currency_issues i where i.currency = c.id), 0)`,
  "a reference is carried once": `
    select reference from transactions where reference is not null
    group by 1 having count(*) > 1`,
  "a transaction is reverted once, by its opposite": `
    select r.id from transactions r left join transactions t on t.id = r.reverts
    where (r.type = 'revert') <> (r.reverts is not null) or r.type = 'revert' and (t.id is null
      or (t.source, t.destination, t.amount) is distinct from (r.destination, r.source, r.amount))`,
  "a key stands for one answer": `
    select key from idempotency where transaction is not null and status >= 400`,
};

/** Checks that a realm's rows keep all laws. */
export async function assertInvariants(realm: TestRealm): Promise<void> {
  for (const [law, query] of Object.entries(INVARIANTS)) {
    deepEqual(await rowsOf(realm, query), [], law);
  }
}

/** Checks that the database holds the model's final state, and no unacknowledged change. */
export async function assertSame(
  realm: TestRealm,
  scene: Scene,
  events: readonly Event[],
  ledger: Ledger,
): Promise<void> {
  const rows = await rowsOf<Record<string, string>>(
    realm,
    "select id, total, blocked, frozen, active from accounts where id = any ($1)",
    [scene.accounts],
  );
  const stands = Object.fromEntries(rows.map((row) => [row.id, {
    total: unitsOf(row.total),
    blocked: unitsOf(row.blocked),
    frozen: row.frozen,
    active: row.active,
  }]));
  const expected = Object.fromEntries(
    [...ledger.accounts].map(([id, { total, blocked, frozen, active }]) => [
      id,
      { total, blocked, frozen, active },
    ]),
  );
  deepEqual(stands, expected, "the accounts stand as the model says");
  const posted = await rowsOf<{ id: string }>(
    realm,
    "select id from transactions where source = any ($1) or destination = any ($1)",
    [scene.accounts],
  );
  const told = new Set([...scene.founding, ...postedIn(events)]);
  const known = new Set(posted.map(({ id }) => id));
  deepEqual([...known.difference(told)], [], "nothing was done that nobody was told of");
  deepEqual([...told.difference(known)], [], "nothing acknowledged is missing");
}

/** Links the remaining rows, lets the service recompute the chain, and runs its checker. */
export async function assertChain(fixture: Fixture): Promise<void> {
  const admin = fixture.players[0];
  for (let unsealed = 1; unsealed > 0;) {
    await fixture.seal();
    const head = await fixture.instances[0].send(admin.key, "GET", "/v1/transactions/head");
    equal(head.status, 200);
    unsealed = head.body.unsealed;
  }
  const [{ count }] = await rowsOf<{ count: string }>(
    fixture.realm,
    "select ((select count(*) from transactions) + (select count(*) from ledger_events))::text as count",
  );
  const { body } = await fixture.instances[0].send(admin.key, "GET", "/v1/transactions/verify");
  deepEqual([body.valid, body.break, String(body.checked)], [true, null, count], "the chain");
  deepEqual((await checkLedger(fixture.realm.pool)).mismatches, [], "the checker finds nothing");
}
