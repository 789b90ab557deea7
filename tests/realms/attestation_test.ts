import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import type { Pool, Tx } from "../../db/database.ts";
import { selectRealm } from "../../db/realms/realms.ts";
import { reading, serializable, writing } from "../../db/transaction.ts";
import { confirmed } from "../../domain/realms/attestations.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { cancelWithdrawal } from "../../domain/withdrawals/withdrawals.ts";
import { compareRealm, takeRealmStep } from "../../workers/installation/attestation.ts";
import { endAt } from "../support/ended_worker.ts";
import { openFundedRamp, OUTSIDE, workerContextOf } from "../support/evm_fixture.ts";
import { attest, haltRealm, keepRealm, reconcile, restoreRealm } from "../support/installation.ts";
import { mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";

const ETHER = 10n ** 18n;
const RAMP = { type: "ramp", asset: "ETH", testnet: true };

/** Ages a realm to the state of yesterday's dump. */
async function age(realm: TestRealm): Promise<void> {
  await realm.command((tx) => tx`update attestations set seen_at = now() - interval '1 day'`);
}

const virtualOf = async ({ realm }: RampFixture, ramp: string): Promise<string> => {
  const body = { type: "virtual", asset: "ETH", testnet: true, ramp };
  const made = await realm.admin.send("POST", "/v1/accounts", body);
  equal(made.status, 201, made.text);
  await realm.drain();
  return made.body.id;
};

const codeOf = async (realm: TestRealm, path: string, body: unknown) => {
  const { status, body: { code } } = await realm.admin.send("POST", path, body);
  return [status, code];
};

Deno.test("a process without workers hands out no address, and makes no ramp, from a database that no worker has lately confirmed", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const { id: ramp } = await fixture.ramp();
  const path = `/v1/account/${ramp}/address`;
  const refused = [503, "chain.quarantined"];
  await attest(realm);
  equal((await realm.admin.send("POST", path, {})).status, 201);
  await age(realm);
  deepEqual(await codeOf(realm, path, {}), refused);
  deepEqual(await codeOf(realm, "/v1/accounts", RAMP), refused);
  const named = { type: "deposit", asset: "ETH", testnet: true, ramp };
  deepEqual(await codeOf(realm, "/v1/accounts", named), refused);
  const app = await realm.admin.send("POST", "/v1/apps/deposit", {
    asset: "ETH",
    destination: { account: await virtualOf(fixture, ramp) },
  });
  deepEqual([app.status, app.body.code], refused, app.text);
  await attest(realm);
  equal((await realm.admin.send("POST", path, {})).status, 201);
  // A copy of the database, however fresh, lives elsewhere.
  await realm.command((tx) => tx`update attestations set place = '1 elsewhere'`);
  deepEqual(await codeOf(realm, path, {}), refused);
});

Deno.test("a realm of which a job notes a step before its first comparison hands out addresses as before", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const { id: ramp } = await fixture.ramp();
  const path = `/v1/account/${ramp}/address`;
  equal((await realm.admin.send("POST", path, {})).status, 201);
  deepEqual(await rowsOf(realm, "select token from attestations"), [{ token: null }]);
  const context = await workerContextOf(realm);
  await takeRealmStep(context, realm.database.platform);
  context.chains.close();
  equal((await realm.admin.send("POST", path, {})).status, 201);
  // What was compared before another server took over stays what was compared.
  await realm.command((tx) => tx`update attestations set timeline = 'of another'`);
  await takeRealmStep(context, realm.database.platform);
  deepEqual(await codeOf(realm, path, {}), [503, "chain.quarantined"]);
});

Deno.test("a realm that is restored alone is in quarantine before it hands out an address again", async () => {
  await using fixture = await openRampFixture();
  const { realm, anvil } = fixture;
  const { id: ramp } = await fixture.ramp();
  const [alices, bobs] = [await virtualOf(fixture, ramp), await virtualOf(fixture, ramp)];
  await fixture.mine();
  await attest(realm);
  await attest(realm);
  await age(realm);
  await keepRealm(realm);
  await attest(realm);
  const alice = await fixture.address(alices);
  await restoreRealm(realm);
  const path = `/v1/account/${bobs}/address`;
  deepEqual(await codeOf(realm, path, {}), [503, "chain.quarantined"]);
  await attest(realm);
  deepEqual(await codeOf(realm, path, {}), [503, "chain.quarantined"]);
  const [{ detail }] = await rowsOf<{ detail: string }>(
    realm,
    "select quarantined ->> 'detail' as detail from ramps",
  );
  match(detail, /restored alone/);
  await anvil.pool({ to: alice.address, value: ETHER });
  await fixture.mine(4);
  const [report] = await reconcile(realm);
  deepEqual([report.lifted, report.addresses.map(({ address }) => address)], [true, [
    alice.address,
  ]]);
  await attest(realm);
  notEqual((await fixture.address(bobs)).address, alice.address);
  await mineUntil(fixture, async () => (await fixture.account(ramp)).balance.total !== "0");
  equal((await fixture.account(bobs)).balance.total, "0");
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

Deno.test("a realm that the platform does not expect enters its addresses into the directory anew, and its logins end once", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const { id: ramp } = await fixture.ramp();
  await fixture.mine();
  await attest(realm);
  await fixture.address(await virtualOf(fixture, ramp));
  await attest(realm);
  const { platform } = realm.services;
  const entered = async () =>
    (await reading(platform, (db) => db`select from own_addresses where realm = ${realm.id}`))
      .length;
  const all = await entered();
  ok(all > 0);
  // The platform's tables were restored from before the realm had an address; the realm lives on elsewhere.
  await writing(platform, (db) => db`delete from own_addresses where realm = ${realm.id}`);
  await attest(realm);
  equal(await entered(), 0, "a realm that stands as expected has told its addresses already");
  await writing(
    platform,
    (db) =>
      db`update realm_steps set now = gen_random_uuid(), next = '[]' where realm = ${realm.id}`,
  );
  await endsLoginsOnce(realm);
  await attest(realm);
  await attest(realm);
  equal(await entered(), all);
});

/** Compares a realm that stands elsewhere than the platform expects: by who cannot write there, and by two who can. */
async function endsLoginsOnce(realm: TestRealm): Promise<void> {
  const { platform } = realm.services;
  const epoch = async () => {
    const row = await reading(platform, (db) => selectRealm(db, realm.id));
    return row!.login_epoch;
  };
  const before = await epoch();
  const context = await workerContextOf(realm);
  const fenced = () => Promise.reject(new Error("the realm has left this place"));
  await rejects(compareRealm({ ...context, step: fenced }, platform), /has left this place/);
  equal(await epoch(), before, "who cannot write there ends no login");
  let first: string | null = null;
  const step = async (work: (tx: Tx) => Promise<unknown>) => {
    if (first === null) {
      await compareRealm(context, platform);
      first = await epoch();
    }
    return await context.step(work);
  };
  await compareRealm({ ...context, step: step as never }, platform);
  context.chains.close();
  notEqual(first, before);
  equal(await epoch(), first, "logins end once, however many workers find it at the same moment");
}

Deno.test("a realm that is restored alone is in quarantine before the first job that a worker takes there", async () => {
  await using funded = await openFundedRamp();
  const { realm, anvil } = funded;
  const { body: { id } } = await funded.withdraw("1");
  await endAt("stored", funded.advance);
  await attest(realm);
  await keepRealm(realm);
  await attest(realm);
  equal((await realm.admin.send("POST", `/v1/withdrawals/${id}/cancel`)).status, 200);
  await restoreRealm(realm);
  await realm.drain();
  await anvil.mine();
  equal(await anvil.rpc("eth_getBalance", OUTSIDE, "latest"), "0x0");
  const [row] = await rowsOf<{ state: string; detail: string }>(
    realm,
    "select state, quarantined ->> 'detail' as detail from chain_orders join ramps on account = ramp",
  );
  equal(row.state, "signed");
  match(row.detail, /restored alone/);
});

Deno.test("in a realm that is restored alone nothing is canceled or handed out before a worker has compared it", async () => {
  await using funded = await openFundedRamp();
  const { realm, account, anvil } = funded;
  const refused = [503, "chain.quarantined"];
  const { body: { id } } = await funded.withdraw("1");
  const { body: other } = await funded.withdraw("1");
  const serving = realm.database.realm(locationOf(realm.made.realm));
  const actor = { ...realm.admin.actor, at: Date.now() };
  await rejects(
    serializable(serving, (tx) => cancelWithdrawal(tx, actor, id), { lockLedger: true }),
    /is the worker's to write/,
    "the schema itself asks whether it was compared",
  );
  await attest(realm);
  await keepRealm(realm);
  await attest(realm);
  equal((await realm.admin.send("POST", `/v1/withdrawals/${other.id}/cancel`)).status, 200);
  equal((await funded.finish(id)).status, "DONE");
  await restoreRealm(realm);
  const cancel = `/v1/withdrawals/${id}/cancel`;
  const asks: [string, unknown][] = [
    [cancel, undefined],
    [`${cancel}?dry_run=true`, undefined],
    [`/v1/accounts/${account}/address`, {}],
    ["/v1/accounts", { type: "ramp", asset: "ETH" }],
    ["/v1/accounts", { type: "deposit", asset: "ETH", ramp: funded.ramp }],
    ["/v1/apps/deposit", { asset: "ETH", destination: { account } }],
  ];
  for (const [path, body] of asks) deepEqual(await codeOf(realm, path, body), refused, path);
  deepEqual([(await funded.read(id)).status, await funded.books().then(({ fees }) => fees)], [
    "PROCESSING",
    "0",
  ]);
  await attest(realm);
  for (const [path, body] of asks.slice(0, 3)) {
    deepEqual(await codeOf(realm, path, body), refused, path);
  }
  equal(BigInt(await anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest")), ETHER);
});

Deno.test("a worker that takes a step at the same moment keeps nobody from canceling", async () => {
  const token = () => Promise.resolve([{ token: "b", noted: "b" }]);
  let reads = 0;
  const platform = {
    settings: "",
    sql: () => Promise.resolve([{ now: ++reads < 2 ? "a" : "b", next: [] }]),
    enter: () => Promise.resolve(() => {}),
    renew() {},
  };
  const where = { platform: platform as unknown as Pool, realm: "" };
  equal(
    await confirmed(where, async (assertKnown) => {
      await assertKnown(token as unknown as Tx);
      return "canceled";
    }),
    "canceled",
  );
});

Deno.test("workers that attest at once, or end between two steps, keep knowing their realm", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  const { id: ramp } = await fixture.ramp();
  for (let round = 0; round < 4; round++) {
    await Promise.all([attest(realm), attest(realm), attest(realm)]);
  }
  // A process that ended before the realm took the step.
  await realm.database.platform.sql`
    update realm_steps set next = next || jsonb_build_array(
      jsonb_build_object('from', now, 'to', gen_random_uuid())) where realm = ${realm.id}`;
  await attest(realm);
  const [{ quarantined }] = await rowsOf<{ quarantined: unknown }>(
    realm,
    "select quarantined from ramps",
  );
  equal(quarantined, null);
  equal((await realm.admin.send("POST", `/v1/account/${ramp}/address`, {})).status, 201);
});

Deno.test("a worker that is delayed while others attest recognises their steps", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  await fixture.ramp();
  await attest(realm);
  const { platform } = realm.database;
  let pauses = 2;
  // The other processes continue between its read of the realm and its read of the platform.
  const sql = new Proxy(platform.sql, {
    get(target, name) {
      if (name !== "begin") return Reflect.get(target, name);
      return async (work: (tx: Tx) => Promise<unknown>) => {
        if (pauses-- > 0) await attest(realm);
        return await target.begin(work as never);
      };
    },
  });
  const context = await workerContextOf(realm);
  try {
    await compareRealm(context, { ...platform, sql });
  } finally {
    context.chains.close();
  }
  equal(pauses < 0, true, "it was held up twice");
  const ramps = await rowsOf<{ quarantined: unknown }>(realm, "select quarantined from ramps");
  deepEqual(ramps, [{ quarantined: null }]);
});

Deno.test("a ramp that was made since the dump is never made again under its number", async () => {
  await using fixture = await openRampFixture();
  const { realm } = fixture;
  await fixture.ramp();
  await fixture.mine();
  await keepRealm(realm);
  const lost = await fixture.ramp();
  await restoreRealm(realm);
  // A ramp requested before the older database is detected; no worker has opened it yet.
  const early = await realm.admin.send("POST", "/v1/accounts", RAMP);
  equal(early.status, 201, early.text);
  await haltRealm(realm);
  const [report] = await reconcile(realm);
  ok(report.lifted, JSON.stringify(report));
  await realm.drain();
  const next = await fixture.ramp();
  const rows = await rowsOf<{ address: string; quarantined: unknown }>(
    realm,
    "select address, quarantined from addresses join ramps on ramps.account = ramp order by number",
  );
  deepEqual([rows.length, new Set(rows.map(({ address }) => address)).size], [3, 3]);
  ok(rows.every(({ address, quarantined }) => address !== lost.address && quarantined === null));
  notEqual(next.address, lost.address);
});
