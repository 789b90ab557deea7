import { deepEqual, equal, match, ok } from "node:assert/strict";
import { until } from "../support/eventually.ts";
import { openFundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { backups } from "../support/installation.ts";
import { rowsOf } from "../support/realm.ts";
import { host } from "../support/reconcile_host.ts";

Deno.test("`reconcile` lists, settles, begins a new epoch, and lets further hosts join", async () => {
  await using own = await backups();
  await using funded = await openFundedRamp({ env: { DATABASE_URL: own.url } });
  const node = { ETHEREUM_RPC_URL: funded.anvil.url, ETHEREUM_CONFIRMATIONS: "2" };
  await using first = await host(own.url, node);
  await using second = await host(own.url, node);
  await funded.anvil.mine();
  equal(await first.fault(), null);
  const { body: { id } } = await funded.withdraw("1");
  const yesterday = await own.copy();
  const { chain } = await funded.finish(id);
  await own.restore(yesterday);
  const { body: { id: late } } = await funded.withdraw("2");
  await funded.anvil.mine(3);
  match((await first.fault())!, /^chain.quarantined: it was restored or copied/);
  await funded.realm.admin.renew();
  const quarantined = "select 1 from ramps where quarantined is not null";

  const listed = await first.run(["--list", "--gap", "20"]);
  equal(listed.code, 2, listed.said);
  const { epoch, realms: [{ places: [place] }] } = JSON.parse(listed.out);
  deepEqual([epoch, place.lifted, place.obstacles], [null, false, []]);
  deepEqual(place.taken.map((one: { hash: string; paid: string[] }) => one.hash), [chain.hash]);
  deepEqual(place.open.map((one: { withdrawal: string }) => one.withdrawal), [late]);
  equal((await rowsOf(funded.realm, quarantined)).length, 1);

  // No question is answered yet, and a host without a record does not join an installation in quarantine.
  equal((await first.call(["--gap", "20"])).code, 2);
  const answered = await second.call(["--join"]);
  deepEqual([answered.code, answered.out], [1, ""]);
  match(answered.said, /to be reconciled, not joined[^]*usage: reconcile/);
  for (const args of [["--gap", "x"], ["--nonsense"]]) {
    const refused = await first.run(args);
    deepEqual([refused.code, refused.out], [1, ""]);
    match(refused.said, /usage: reconcile/);
    ok(!refused.said.includes("    at "), refused.said);
  }

  const settled = await first.call(["--unpaid", late, "--gap", "20"]);
  equal(settled.code, 0, settled.said);
  equal(JSON.parse(settled.out).epoch, 2);
  equal((await rowsOf(funded.realm, quarantined)).length, 0);
  equal(await first.fault(), null);
  deepEqual([(await funded.finish(id)).status, (await funded.finish(late)).status], [
    "DONE",
    "DONE",
  ]);
  const paid = await funded.anvil.rpc<string>("eth_getBalance", OUTSIDE, "latest");
  equal(BigInt(paid), 3n * 10n ** 18n);

  match((await second.fault())!, /no record of the installation/);
  const further = await second.call(["--join"]);
  equal(further.code, 0, further.said);
  equal(JSON.parse(further.out).epoch, 2);
  deepEqual([await second.fault(), await first.fault()], [null, null]);
});

Deno.test("`reconcile --join` refuses a database that no host with a record has lately found", async () => {
  await using own = await backups();
  await using funded = await openFundedRamp({ env: { DATABASE_URL: own.url } });
  await using first = await host(own.url, {});
  await using second = await host(own.url, {});
  equal(await first.fault(), null);
  const { sql } = funded.realm.database.platform;
  // As in a dump of yesterday that was put back in place.
  await sql`update installation_witnesses set seen_at = now() - interval '1 day'`;
  const refused = await second.call(["--join"]);
  equal(refused.code, 1);
  match(refused.said, /no other host has lately found the database as it left it/);
  match((await second.fault())!, /no record of the installation/);
  equal(await first.fault(), null);
  equal((await second.call(["--join"])).code, 0);
});

Deno.test("with INSTALLATION_EPOCH, `reconcile` demands another value and keeps nothing in files", async () => {
  await using own = await backups();
  await using funded = await openFundedRamp({ env: { DATABASE_URL: own.url } });
  const env = { ETHEREUM_RPC_URL: funded.anvil.url, INSTALLATION_EPOCH: "one" };
  await using first = await host(own.url, env);
  equal(await first.fault("one"), null);
  const yesterday = await own.copy();
  await own.restore(yesterday);
  match((await first.fault("one"))!, /restored or copied/);
  const same = await first.call([]);
  equal(same.code, 1);
  match(same.said, /must get another value/);
  const another = await first.call(["--gap", "20"], { INSTALLATION_EPOCH: "two" });
  equal(another.code, 0, another.said);
  equal(JSON.parse(another.out).epoch, 2);
  equal(await first.fault("two"), null);
  match((await first.fault("one"))!, /labelled two/);
  equal(
    (await rowsOf(funded.realm, "select 1 from ramps where quarantined is not null")).length,
    0,
  );
});

Deno.test("`reconcile --list` changes nothing while hosts are waited for after a promotion, nor on a host that is strange to workers that run", async () => {
  await using own = await backups();
  await using funded = await openFundedRamp({ env: { DATABASE_URL: own.url } });
  await using first = await host(own.url, { ETHEREUM_RPC_URL: funded.anvil.url });
  await using second = await host(own.url, {});
  const { sql } = funded.realm.database.platform;
  equal(await first.fault(), null);
  equal((await second.call(["--join"])).code, 0);
  const kept = async () => [
    await sql`select i::text from installation i`,
    await sql`select id, count, token, timeline from installation_witnesses order by id`,
    await rowsOf(funded.realm, "select to_jsonb(r) as row from ramps r order by account"),
    await rowsOf(funded.realm, "select to_jsonb(a) as row from attestations a"),
  ];
  const listed = async (why: RegExp, ...[args, more]: Parameters<typeof first.run>) => {
    const before = await kept();
    const { code, out, said } = await first.call(["--list", ...args], more);
    equal(code, 2, said);
    match(said, /nothing was listed, and nothing has changed/);
    const { unread, realms, epoch } = JSON.parse(out);
    match(unread, why);
    deepEqual([realms, epoch], [[], null]);
    deepEqual(await kept(), before);
  };
  // However long a command takes here.
  await sql`update installation_witnesses set seen_at = now() + interval '1 hour'`;
  await listed(/labelled|without a label.*: end them first/, [], { INSTALLATION_EPOCH: "2" });
  await using strange = await Deno.makeTempDir().then((path) => ({
    path,
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  }));
  await listed(/no record of the installation.*: end them first/, [], { DATA_DIR: strange.path });
  // The server is promoted, and the other host is lost with the primary.
  await sql`update installation set timeline = '00000000'`;
  await sql`update installation_witnesses set timeline = '00000000'`;
  await listed(/records that have not been compared since: 1/, ["--gap", "20"]);
  // It comes back, and all go on.
  match((await second.fault())!, /records that have not been compared since: 1/);
  for (const each of [first, second]) equal(await each.fault(), null);
  // It is given up: that is no listing.
  await sql`update installation set timeline = '00000000'`;
  await sql`update installation_witnesses set timeline = '00000000'`;
  const asked = async () => (await funded.realm.admin.send("GET", "/v1/auth/me")).body.code;
  equal(await asked(), undefined);
  const given = await first.call(["--gap", "20"]);
  equal(given.code, 0, given.said);
  match(given.said, /every login has ended/);
  await until(async () => await asked() === "auth.revoked");
  equal(JSON.parse(given.out).epoch, 2);
});
