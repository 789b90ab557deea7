/** Checks of records at exchanges that fail, are refused, or are overtaken by a change of the record. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { createRampWithdraw } from "../../domain/exchanges/ramp_transfers.ts";
import { checkExternalRamp } from "../../workers/exchanges/checks.ts";
import { type ExchangeFixture, openExchangeFixture } from "../support/exchange_fixture.ts";
import { EXCHANGE_KEY } from "../support/exchange_server.ts";
import { rowsOf } from "../support/realm.ts";

const MINUTE = 60_000;
const BALANCES = "GET /api/v3/account";

const STEPS: readonly [string, (fixture: ExchangeFixture) => Promise<void>][] = [
  ["checks that fail, or are refused, space out up to an hour, are counted, and told", spacesOut],
  ["a change of the data under way loses no outcome, a change of the key does", keepsOutcomes],
  [
    "an order of a process whose clock is far ahead dates no later credentials into the future",
    datesByOne,
  ],
  ["a withdraw of a host whose clock is ahead is not paid to a key that came later", comparesOrder],
];

Deno.test("external ramps: checks", async (t) => {
  await using fixture = await openExchangeFixture();
  for (const [title, step] of STEPS) await t.step(title, () => step(fixture));
});

const shown = async ({ realm, ramp }: ExchangeFixture) =>
  (await realm.admin.send("GET", `/v1/ramps/${ramp}`)).body;

async function spacesOut(fixture: ExchangeFixture): Promise<void> {
  const { exchange, ramp } = fixture;
  const checkedAt = (await shown(fixture)).checked_at;
  const refusal = { code: -2008, msg: "Invalid Api-Key ID" };
  const kinds: [number, string, () => Response][] = [
    [MINUTE, "READY", () => new Response("no", { status: 503 })],
    [10 * MINUTE, "REFUSED", () => Response.json(refusal, { status: 401 })],
  ];
  for (const [first, status, answer] of kinds) {
    exchange.instead = (request) => request === BALANCES ? answer() : null;
    for (let failures = 1; failures <= 9; failures++) {
      const context = fixture.context();
      await checkExternalRamp(context, { ramp });
      const row = await shown(fixture);
      deepEqual([row.status, row.failures], [status, failures]);
      const pause = row.check_at - context.actor.at;
      const longest = Math.min(60 * MINUTE, first * 2 ** (failures - 1));
      ok(pause <= longest && pause >= longest * 0.9, `${failures}: ${pause}`);
    }
    if (status === "READY") equal((await shown(fixture)).checked_at, checkedAt);
    exchange.instead = () => null;
    await checkExternalRamp(fixture.context(), { ramp });
    const row = await shown(fixture);
    deepEqual([row.status, row.failures, row.error], ["READY", 0, null]);
  }
}

async function keepsOutcomes(fixture: ExchangeFixture): Promise<void> {
  const { exchange, realm, ramp } = fixture;
  const changed = async (change: unknown) => {
    let isChanged = false;
    exchange.instead = async (request) => {
      if (request !== BALANCES) return null;
      if (!isChanged) {
        isChanged = true;
        equal((await realm.admin.send("PATCH", `/v1/ramps/${ramp}`, change)).status, 200);
      }
      return new Response("no", { status: 503 });
    };
    await checkExternalRamp(fixture.context(), { ramp });
    exchange.instead = () => null;
    const { status, failures } = await shown(fixture);
    return [status, failures];
  };
  deepEqual(await changed({ data: { note: "again and again" } }), ["READY", 1]);
  deepEqual(await changed({ authentication: EXCHANGE_KEY }), ["PENDING", 0]);
  await checkExternalRamp(fixture.context(), { ramp });
  equal((await shown(fixture)).status, "READY");
}

async function comparesOrder(fixture: ExchangeFixture): Promise<void> {
  const { realm, ramp } = fixture;
  const { status, body, text } = await fixture.withdraw();
  equal(status, 201, text);
  const ahead =
    `update ramp_transfers set created_at = now() + interval '1 hour' where id = '${body.id}'`;
  await rejects(rowsOf(realm, ahead), { constraint_name: "ramp_transfers_kept" });
  const trigger = (how: string) => `alter table ramp_transfers ${how} trigger ramp_transfers_keep`;
  await rowsOf(realm, `${trigger("disable")}; ${ahead}; ${trigger("enable")}`);
  await realm.admin.send("PATCH", `/v1/ramps/${ramp}`, { authentication: EXCHANGE_KEY });
  await checkExternalRamp(fixture.context(), { ramp });
  const row = await fixture.advance(body.id);
  deepEqual([row.status, row.error?.code, row.withdrawal], ["FAILED", "version.conflict", null]);
}

async function datesByOne(fixture: ExchangeFixture): Promise<void> {
  const { realm, ramp, funded } = fixture;
  const { chains, hotFeeMaxFactor, webhooks } = realm.services.config;
  const actor = {
    ...realm.admin.actor,
    at: Date.now() + 60 * MINUTE,
    settings: { chains, hotFeeMaxFactor, webhooks },
  };
  const wanted = { account: funded.account, asset: "ETH", value: "0.5", data: {} };
  const fee = { paid_by: "sender", speed: "medium" } as const;
  const old = await realm.command(
    (tx) => createRampWithdraw(tx, actor, { ...wanted, ramp, fee }),
    { lockLedger: true },
  );
  await realm.admin.send("PATCH", `/v1/ramps/${ramp}`, { authentication: EXCHANGE_KEY });
  await checkExternalRamp(fixture.context(), { ramp });
  equal((await fixture.advance(old.id)).error?.code, "version.conflict");
  const { status, body, text } = await fixture.withdraw({ value: "0.5" });
  equal(status, 201, text);
  const row = await fixture.advance(body.id);
  deepEqual([row.error, row.withdrawal === null], [null, false]);
  const future = rowsOf(
    realm,
    `insert into ramp_transfers select (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid(),
        'created_at', now() + interval '1 hour', 'state', 'new', 'withdrawal', null, 'address', null))).*
      from ramp_transfers t where id = $1`,
    [body.id],
  );
  await rejects(future, /is of the future/);
}
